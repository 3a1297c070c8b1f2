// What operators rely on: figures, warnings, clocks, generators that end with the daemon, and keys that change on disk.
#include <dirent.h>
#include <sys/mman.h>

#include <regex>
#include <set>

#include "prover/daemon/tests/daemon_fixture.hpp"

namespace prover::daemon {
namespace {

using namespace std::chrono_literals;
using testing::content_of;
using testing::Daemon;
using testing::file_text;
namespace fs = std::filesystem;

class Operation : public Daemon {
 protected:
  static bool has(const std::string& all, const std::string& part) { return all.find(part) != std::string::npos; }
  // Waits for what must come.
  template <class F>
  static bool soon(F f) {
    for (int i = 0; i < 600; ++i) {
      if (f()) return true;
      std::this_thread::sleep_for(50ms);
    }
    return false;
  }
  // A kind "g" whose witnesses a shell script makes: it is called with the inputs and where to write.
  void use_generator(const std::string& script, const std::string& sandbox = "none") {
    std::ofstream(daemon_.directory + "/g.sh") << script << "\n";
    fs::copy_file(std::string(DATA) + "/semaphore-1.wtns", daemon_.directory + "/w.wtns",
                  fs::copy_options::overwrite_existing);
    budget_ = std::size_t{4} << 30;  // two generators at once may take one each
    daemon_.sections = "[jobs]\nslow_stage = \"300ms\"\n[generators]\nsandbox = \"" + sandbox + "\"\n" +
                       kind("g", key_) + "generator = [\"sh\", \"" + daemon_.directory + "/g.sh\", \"" +
                       daemon_.directory + "/w.wtns\"]\n" + kind("s", key_);
  }
  request inputs(const std::string& key = {}) const {
    request r;
    r.kind = "g";
    r.idempotency_key = key;
    r.payloads.push_back({payload_form::inputs, {std::byte{'{'}, std::byte{'}'}}});
    return r;
  }
  // Processes whose command line has these words.
  static int processes(const std::string& words) {
    int n = 0;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::string line = file_text(entry.path().string() + "/cmdline");
      std::replace(line.begin(), line.end(), '\0', ' ');
      if (line.starts_with(words)) ++n;
    }
    return n;
  }
};

TEST_F(Operation, AGeneratorDiesWithTheDaemonAndItsJobRunsAgain) {
  // Its own number makes the sleep one that nobody else's is.
  const std::string sleep = "sleep 600." + std::to_string(::getpid());
  const fs::path first = daemon_.directory + "/first";
  for (const char* sandbox : {"none", "bubblewrap"}) {
    SCOPED_TRACE(sandbox);
    const bool confined = std::string(sandbox) == "bubblewrap";
    use_generator(confined ? sleep + " & wait" : "exec " + sleep, sandbox);
    start();
    const std::string key = std::string("again-") + sandbox;
    const auto a = connect()->submit(inputs(key));
    ASSERT_EQ(code(a), "OK") << message(a);
    ASSERT_TRUE(soon([&] { return processes(sleep) == 1; }));
    daemon_.end(SIGKILL);
    EXPECT_TRUE(soon([&] { return processes(sleep) == 0; })) << "an orphan was left";
    use_generator("cp $1 $3", sandbox);
    start();
    const auto c = connect();
    const auto again = c->submit(inputs(key));
    ASSERT_EQ(code(again), "OK") << message(again);
    EXPECT_TRUE(std::get<accepted>(again).joined);
    EXPECT_EQ(std::get<accepted>(again).id, std::get<accepted>(a).id);
    EXPECT_EQ(how(c->await(std::get<accepted>(a).id, 60s)), outcome::completed);
    daemon_.end(SIGTERM);
  }
}

TEST_F(Operation, AStageThatHangsIsSaidInLogStatusAndMetrics) {
  use_generator("sleep 600");
  start();
  const auto c = connect();
  const auto a = c->submit(inputs());
  ASSERT_EQ(code(a), "OK") << message(a);
  const std::string id = std::get<accepted>(a).id.value;
  // However many hang, those who bring their witness go on.
  for (int i = 0; i < 5; ++i) ASSERT_EQ(code(c->submit(inputs())), "OK");
  EXPECT_EQ(how(c->prove(ask(), 60s, false)), outcome::completed);
  EXPECT_TRUE(soon([&] { return has(daemon_.log(), "witness has lasted 0.3"); })) << daemon_.log();
  const std::string log = daemon_.log();
  const std::string line = log.substr(0, log.find('\n', log.find("witness has lasted")));
  EXPECT_TRUE(has(line.substr(line.rfind('\n') + 1), "job_id=\"" + id + "\"")) << line;
  EXPECT_TRUE(has(get("/status"), "\"slow\": true"));
  EXPECT_TRUE(soon([&] { return has(get("/metrics"), "prover_stages_slow 2\n"); }));
  const auto jobs = c->list("g", false, 100);
  ASSERT_TRUE(std::holds_alternative<std::vector<job_view>>(jobs));
  for (const job_view& v : std::get<std::vector<job_view>>(jobs)) {
    ASSERT_EQ(code(c->cancel(v.id)), "OK");
    EXPECT_EQ(how(c->await(v.id, 60s)), outcome::cancelled);
  }
  EXPECT_TRUE(soon([&] { return has(get("/metrics"), "prover_stages_slow 0\n"); }));
}

// A library that shifts the wall clock as a file says stands before libc's.
TEST_F(Operation, AStepOfTheClockMovesNoDeadline) {
  const std::string file = daemon_.directory + "/offset";
  std::ofstream(file) << std::string(8, '\0');
  const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  auto* offset = static_cast<volatile std::int64_t*>(::mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  ::close(fd);
  ASSERT_NE(offset, MAP_FAILED);
  daemon_.environment = {"LD_PRELOAD=" CLOCK_STEP, "CLOCK_STEP_FILE=" + file};
  use_generator("sleep 1; cp $1 $3");
  start();
  const auto c = connect();
  request patient = inputs();
  patient.deadline = 60s;
  const auto a = c->submit(patient);
  ASSERT_EQ(code(a), "OK");
  *offset = 3600;
  EXPECT_EQ(how(c->await(std::get<accepted>(a).id, 60s)), outcome::completed) << "an hour ahead ended it";
  const auto jobs = c->list("g", true, 1);
  ASSERT_TRUE(std::holds_alternative<std::vector<job_view>>(jobs));
  const auto begin = std::chrono::steady_clock::now();
  request hasty = inputs();
  hasty.deadline = 500ms;
  const auto b = c->submit(hasty);
  ASSERT_EQ(code(b), "OK");
  *offset = -3600;
  EXPECT_EQ(how(c->await(std::get<accepted>(b).id, 60s)), outcome::expired) << "an hour back kept it";
  const auto d = c->submit(inputs());
  ASSERT_EQ(code(d), "OK");
  EXPECT_EQ(code(c->await(std::get<accepted>(d).id, 100ms)), "DEADLINE_EXCEEDED");
  EXPECT_EQ(how(c->await(std::get<accepted>(d).id, 60s)), outcome::completed);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 60s);
  ::munmap(const_cast<std::int64_t*>(offset), 8);
}

TEST_F(Operation, ALoadedKeyOutlivesItsFileAndTheFileIsLoadedOnceItIsEvicted) {
  start();
  const auto c = connect();
  ASSERT_EQ(how(c->prove(ask(), 60s, false)), outcome::completed);
  const auto proves_and_says = [&](const char* what) {
    EXPECT_EQ(how(c->prove(ask(), 60s, false)), outcome::completed) << what;
    EXPECT_TRUE(soon([&] { return has(get("/status"), what); })) << what << get("/status");
  };
  fs::resize_file(key_, 100'000);
  proves_and_says("was truncated or replaced since it was loaded");
  fs::remove(key_);
  EXPECT_EQ(how(c->prove(ask(), 60s, false)), outcome::completed);
  // Another circuit's key under its name: ours stays, until it is let go.
  fs::copy_file(std::string(DATA) + "/semaphore-10.zkey", key_);
  EXPECT_EQ(how(c->prove(ask(), 60s, false)), outcome::completed);
  ASSERT_TRUE(soon([&] { return code(c->evict("s")) == "OK"; }));
  const auto other = c->prove(ask(), 60s, false);
  ASSERT_EQ(how(other), outcome::failed);
  EXPECT_EQ(std::get<remote_result>(other).result.why.what, failure_class::bad_input);
  request ten = ask();
  ten.payloads[0].content = content_of(std::string(DATA) + "/semaphore-10.wtns");
  EXPECT_EQ(how(c->prove(ten, 60s, false)), outcome::completed);
}

// After one of everything each figure that is promised is there, and the shipped dashboard asks for no other.
TEST_F(Operation, MetricsHaveWhatIsPromisedAndWhatTheDashboardAsksFor) {
  const std::string broken = daemon_.directory + "/broken.zkey";
  fs::copy_file(key_, broken);
  daemon_.sections += kind("broken", broken);
  start();
  const auto c = connect();
  ASSERT_EQ(how(c->prove(ask(), 60s, false)), outcome::completed);
  request spoiled = ask();
  spoiled.payloads[0].content[witness_.size() - 32] ^= std::byte{1};
  ASSERT_EQ(how(c->prove(spoiled, 60s, false)), outcome::failed);
  request unknown = ask();
  unknown.kind = "nobody's";
  ASSERT_EQ(code(c->submit(unknown)), "NOT_FOUND");
  fs::resize_file(broken, 100'000);
  request no_key = ask();
  no_key.kind = "broken";
  ASSERT_EQ(how(c->prove(no_key, 60s, false)), outcome::failed);

  const std::string text = http(
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text\r\nConnection: close\r\n\r\n");
  for (const char* line : {
           "prover_jobs_accepted_total{kind=\"s\"} 2",
           "prover_jobs_ended_total{kind=\"s\",outcome=\"completed\"} 1",
           "prover_jobs_ended_total{kind=\"s\",outcome=\"failed\"} 1",
           "prover_jobs_failed_total{kind=\"s\",reason=\"unsatisfied\"} 1",
           "prover_jobs_refused_total{kind=\"unknown\",reason=\"unknown_kind\"} 1",
           "prover_job_duration_seconds_count{cold=\"true\",kind=\"s\",outcome=\"completed\"} 1",
           "prover_key_load_duration_seconds_count{device=\"cpu\",kind=\"s\"} 1",
           "prover_key_load_failures_total{device=\"cpu\",kind=\"broken\"} 1",
           "prover_queue_length 0",
           "prover_queue_size_bytes 0",
           "prover_queue_oldest_seconds 0",
           "prover_stages_slow 0",
           "prover_jobs{state=\"queued\"} 0",
           "prover_waits{reason=\"memory\"} 0",
           "prover_device_quarantined_ratio{device=\"cpu\"} 0",
           "prover_device_faults_total{device=\"cpu\"} 0",
       }) {
    EXPECT_TRUE(has(text, std::string("\n") + line)) << line;
  }
  for (const char* begin : {
           "prover_phase_duration_seconds_bucket{cold=\"true\",kind=\"s\",phase=\"msm_h\",le=",
           "prover_phase_duration_seconds_bucket{cold=\"true\",kind=\"s\",phase=\"queue\",le=",
           "prover_keys_resident_bytes{device=\"cpu\",kind=\"s\",tier=\"warm\"} ",
           "prover_memory_budget_bytes ",
           "prover_memory_high_water_bytes ",
           "prover_memory_reserved_bytes{owner=\"key s\"} ",
           "prover_memory_reserved_bytes{owner=\"requests\"} ",
           "prover_memory_reserved_bytes{owner=\"process\"} ",
       }) {
    EXPECT_TRUE(has(text, std::string("\n") + begin)) << begin;
  }
  std::smatch busy;
  ASSERT_TRUE(
      std::regex_search(text, busy, std::regex("\nprover_device_busy_seconds_total\\{device=\"cpu\"\\} ([^ \n]+)")));
  EXPECT_GT(std::stod(busy[1]), 0.0);
  // A slow bucket leads to the trace that filled it.
  const std::regex exemplar(
      "prover_job_duration_seconds_bucket\\{cold=\"true\",kind=\"s\"[^\n]* # \\{trace_id=\"[0-9a-f]{32}\"");
  EXPECT_TRUE(std::regex_search(text, exemplar)) << text;

  const std::regex name("prover_[a-z_]+");
  const std::string shipped = file_text(DEPLOY "/grafana/prover-daemon.json") + file_text(DEPLOY "/prover-alerts.yaml");
  std::set<std::string> asked;
  for (std::sregex_iterator i(shipped.begin(), shipped.end(), name), end; i != end; ++i) asked.insert(i->str());
  EXPECT_GT(asked.size(), 10U);
  for (const std::string& metric : asked) {
    EXPECT_TRUE(has(text, "\n" + metric + "{") || has(text, "\n" + metric + " ")) << metric << " is nowhere measured";
  }
}

}  // namespace
}  // namespace prover::daemon
