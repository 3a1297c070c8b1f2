// What happens to a real daemon: killed, flooded, its files changed under it, its clients gone.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <utility>

#include "prover/daemon/tests/daemon_fixture.hpp"

namespace prover::daemon {
namespace {

using namespace std::chrono_literals;
using testing::Daemon;
using testing::daemon_process;
using testing::long_run;
namespace fs = std::filesystem;

TEST_F(Daemon, ProvesAndSaysWhereTheTimeWent) {
  start();
  const auto c = connect();
  const auto a = c->prove(ask(), 60s, false);
  ASSERT_EQ(how(a), outcome::completed);
  const job_result& r = std::get<remote_result>(a).result;
  ASSERT_EQ(r.proofs.size(), 1u);
  EXPECT_NE(r.proofs[0].proof.find("pi_a"), std::string::npos);
  EXPECT_TRUE(r.cold);
  nanoseconds sum{0};
  for (const phase_time& p : r.times.phases) sum += p.wall;
  EXPECT_NEAR(static_cast<double>(sum.count()), static_cast<double>(r.times.total.count()),
              0.01 * static_cast<double>(r.times.total.count()));
  // A late waiter gets it as well, and the same again under a key.
  EXPECT_EQ(how(c->await(std::get<remote_result>(a).id, 10s)), outcome::completed);
  const auto unknown = c->await({"0000000000000000"}, 10s);
  EXPECT_EQ(code(unknown), "NOT_FOUND");
}

TEST_F(Daemon, AnswersOverHttp) {
  start();
  EXPECT_NE(get("/healthz").find("200 OK"), std::string::npos);
  EXPECT_NE(get("/readyz").find("\r\n\r\nready\n"), std::string::npos);
  EXPECT_NE(get("/status").find("\"sandbox\""), std::string::npos);
  EXPECT_NE(get("/metrics").find("prover_memory_budget_bytes"), std::string::npos);
  const std::string put = http(
      "PUT /debug/filter HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: "
      "22\r\n\r\nlog=info,prover=debug\n");
  EXPECT_NE(put.find("200 OK"), std::string::npos) << put;
  EXPECT_NE(get("/debug/filter").find("log=info,prover=debug\n"), std::string::npos);
}

TEST_F(Daemon, RefusesWhatItCannotUse) {
  start();
  const auto c = connect();
  request unknown = ask();
  unknown.kind = "other";
  EXPECT_EQ(code(c->submit(unknown)), "NOT_FOUND");
  request empty = ask();
  empty.payloads.clear();
  EXPECT_EQ(code(c->submit(empty)), "INVALID_ARGUMENT");
  request junk = ask();
  junk.payloads[0].content = {std::byte{1}, std::byte{2}};
  const auto failed = c->prove(junk, 60s, false);
  ASSERT_EQ(how(failed), outcome::failed);
  EXPECT_EQ(std::get<remote_result>(failed).result.why.what, failure_class::bad_input);
  request spoiled = ask();
  spoiled.payloads[0].content[witness_.size() - 32] ^= std::byte{1};
  const auto no = c->prove(spoiled, 60s, false);
  ASSERT_EQ(how(no), outcome::failed);
  EXPECT_EQ(std::get<remote_result>(no).result.why.what, failure_class::unsatisfied);
  ASSERT_EQ(code(c->submit(ask("k"))), "OK");
  request other = ask("k");
  other.payloads.push_back(other.payloads[0]);
  const auto conflict = c->submit(other);
  ASSERT_EQ(code(conflict), "ALREADY_EXISTS");
  EXPECT_EQ(std::get<call_failure>(conflict).refusal, "key_conflict");
}

TEST_F(Daemon, WantsItsToken) {
  std::ofstream(daemon_.directory + "/token") << "open sesame\n";
  std::ofstream(daemon_.directory + "/wrong") << "open barley\n";
  daemon_.server = "token_file = \"" + daemon_.directory + "/token\"";
  start();
  EXPECT_EQ(code(connect()->status()), "UNAUTHENTICATED");
  client_settings s;
  s.token_file = daemon_.directory + "/wrong";
  EXPECT_EQ(code(connect(s)->submit(ask())), "UNAUTHENTICATED");
  s.token_file = daemon_.directory + "/token";
  EXPECT_EQ(how(connect(s)->prove(ask(), 60s, false)), outcome::completed);
}

// Nothing accepted is lost, and no key is answered twice: a proof is random, so two answers under one key would differ.
TEST_F(Daemon, KilledAtRandomMomentsLosesNothing) {
  std::mt19937 random(20261202);
  std::map<std::string, job_id> accepted_jobs;
  std::vector<job_id> in_order;      // the same, the first of them is the next to be proved
  std::set<std::string> unanswered;  // submitted as the daemon died: accepted or not, nobody was told
  std::mutex mutex;
  std::map<std::string, std::string> proofs;  // those that somebody has, by job
  const auto proof_of = [](const answered<remote_result>& a) {
    const auto* r = std::get_if<remote_result>(&a);
    return r == nullptr || r->result.proofs.empty() ? std::string() : r->result.proofs[0].proof;
  };
  const int times = testing::kills();
  for (int i = 0; i < times; ++i) {
    start();
    std::atomic<bool> stop{false};
    std::jthread killer([&, wait = 20 + random() % 250] {
      std::this_thread::sleep_for(std::chrono::milliseconds(wait));
      daemon_.signal(SIGKILL);
      stop = true;
    });
    const auto c = connect();
    const auto keep_proof = [&](const job_id& id) {
      c->await(id, std::nullopt, [&, id](const answered<remote_result>& r) {
        const std::string proof = proof_of(r);
        if (proof.empty()) return;  // it was killed first
        const std::lock_guard lock(mutex);
        EXPECT_EQ(proofs.emplace(id.value, proof).first->second, proof) << id.value << " was answered twice";
      });
    };
    const auto keep = [&](const std::string& key, const job_id& id) {
      if (accepted_jobs.emplace(key, id).second) in_order.push_back(id);
      keep_proof(id);
    };
    // Those of the time before the kill are waited for again, and asked for again by the key that got no answer.
    std::erase_if(in_order, [&](const job_id& id) {
      const std::lock_guard lock(mutex);
      return proofs.contains(id.value);
    });
    for (std::size_t n = 0; n < std::min<std::size_t>(in_order.size(), 40); ++n) keep_proof(in_order[n]);
    for (const std::string& key : std::exchange(unanswered, {})) {
      const auto a = c->submit(ask(key));
      const auto* yes = std::get_if<accepted>(&a);
      if (yes == nullptr) {
        unanswered.insert(key);
        continue;
      }
      keep(key, yes->id);
    }
    for (int n = 0; n < 50 && !stop; ++n) {
      const std::string key = std::to_string(i) + "-" + std::to_string(n);
      const auto a = c->submit(ask(key));
      if (const auto* yes = std::get_if<accepted>(&a)) {
        keep(key, yes->id);
      } else {
        unanswered.insert(key);
      }
    }
    killer.join();
    daemon_.wait();
  }
  start();
  const auto c = connect();
  std::set<std::string> ids;
  std::size_t lost = 0;
  std::size_t twice = 0;
  const std::size_t known = proofs.size();
  for (const auto& [key, id] : accepted_jobs) {
    const auto a = c->await(id, 120s);
    EXPECT_EQ(how(a), outcome::completed) << key;
    if (how(a) != outcome::completed) ++lost;
    const auto before = proofs.find(id.value);
    if (before != proofs.end() && before->second != proof_of(a)) ++twice;
    const auto again = c->submit(ask(key));
    ASSERT_EQ(code(again), "OK") << message(again);
    EXPECT_TRUE(std::get<accepted>(again).joined);
    EXPECT_EQ(std::get<accepted>(again).id, id);
    EXPECT_TRUE(ids.insert(id.value).second) << "two keys, one job";
  }
  EXPECT_EQ(lost, 0U);
  EXPECT_EQ(twice, 0U);
  EXPECT_GT(accepted_jobs.size(), 0U);
  std::printf("%d kills: %zu jobs accepted, %zu of them answered before a kill; lost %zu, answered twice %zu\n", times,
              accepted_jobs.size(), known, lost, twice);
}

TEST_F(Daemon, ManyWaitAtOnce) {
  start();
  const auto c = connect();
  const auto a = c->submit(ask());
  ASSERT_EQ(code(a), "OK") << message(a);
  const std::size_t waits = 1000;
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t completed = 0;
  std::size_t answers = 0;
  for (std::size_t i = 0; i < waits; ++i) {
    c->await(std::get<accepted>(a).id, std::nullopt, [&](const answered<remote_result>& r) {
      const std::lock_guard lock(mutex);
      ++answers;
      if (std::holds_alternative<remote_result>(r)) ++completed;
      changed.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, 120s, [&] { return answers == waits; })) << answers;
  EXPECT_EQ(completed, waits);
}

TEST_F(Daemon, AClientThatIsGoneStopsNothing) {
  start();
  std::string id;
  {
    const auto gone = connect();
    const auto a = gone->submit(ask("k"));
    ASSERT_EQ(code(a), "OK");
    id = std::get<accepted>(a).id.value;
    // It looks once and goes.
    (void)gone->watch({id}, [](const step&) { return false; });
  }
  EXPECT_EQ(how(connect()->await({id}, 60s)), outcome::completed);
}

TEST_F(Daemon, WatchTellsTheEnd) {
  start();
  const auto c = connect();
  const auto a = c->submit(ask());
  ASSERT_EQ(code(a), "OK");
  bool last = false;
  const auto failed = c->watch(std::get<accepted>(a).id, [&](const step& s) {
    EXPECT_FALSE(last) << "a step behind the last";
    last = s.last;
    return true;
  });
  EXPECT_FALSE(failed) << failed->message;
  EXPECT_TRUE(last);
}

TEST_F(Daemon, AFloodIsRefusedWithATimeToComeAgain) {
  daemon_.sections = "[jobs]\nmax_queued = 3\n" + daemon_.sections;
  start();
  const auto c = connect();
  std::size_t refused = 0;
  std::vector<job_id> jobs;
  for (int i = 0; i < 60; ++i) {
    const auto a = c->submit(ask());
    if (const auto* no = std::get_if<call_failure>(&a)) {
      ++refused;
      EXPECT_EQ(no->code, "RESOURCE_EXHAUSTED") << no->message;
      EXPECT_EQ(no->refusal, "queue_full");
      EXPECT_TRUE(no->retry_after);
    } else {
      jobs.push_back(std::get<accepted>(a).id);
    }
  }
  EXPECT_GT(refused, 0u);
  for (const job_id& id : jobs) EXPECT_EQ(how(c->await(id, 120s)), outcome::completed);
}

TEST_F(Daemon, ARequestThatIsTooLargeIsRefused) {
  daemon_.server = "max_request = \"1MiB\"";
  start();
  const auto c = connect();
  request r = ask();
  r.payloads[0].content.resize(2 << 20);
  EXPECT_EQ(code(c->submit(r)), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(how(c->prove(ask(), 60s, false)), outcome::completed) << "and the next one is served";
}

TEST_F(Daemon, NoticesWhatHappensToItsKeyFile) {
  start();
  const auto c = connect();
  ASSERT_EQ(how(c->prove(ask(), 60s, false)), outcome::completed);
  // Truncated, then gone, while cold.
  ASSERT_EQ(code(c->evict("s")), "OK");
  fs::resize_file(key_, 4096);
  auto a = c->prove(ask(), 60s, false);
  if (std::holds_alternative<remote_result>(a)) {
    EXPECT_EQ(how(a), outcome::failed);
    EXPECT_EQ(std::get<remote_result>(a).result.why.what, failure_class::key);
  } else {
    EXPECT_EQ(code(a), "FAILED_PRECONDITION");
  }
  fs::remove(key_);
  a = c->prove(ask(), 60s, false);
  EXPECT_TRUE(code(a) == "FAILED_PRECONDITION" || how(a) == outcome::failed) << message(a);
  // And back again.
  fs::copy_file(std::string(DATA) + "/semaphore-1.zkey", key_);
  bool good = false;
  for (int i = 0; i < 100 && !good; ++i) {
    a = c->prove(ask(), 60s, false);
    good = code(a) == "OK" && how(a) == outcome::completed;
    if (!good) std::this_thread::sleep_for(100ms);
  }
  EXPECT_TRUE(good) << message(a);
}

TEST_F(Daemon, AFullDiskRefusesAndHarmsNothing) {
  start();
  ASSERT_EQ(how(connect()->prove(ask("before"), 60s, false)), outcome::completed);
  daemon_.end(SIGTERM);
  daemon_.prefix = {"prlimit", "--fsize=40000"};  // less than a payload
  start();
  auto c = connect();
  const auto no = c->submit(ask("during"));
  ASSERT_EQ(code(no), "UNAVAILABLE") << message(no);
  EXPECT_EQ(std::get<call_failure>(no).refusal, "journal");
  EXPECT_NE(message(no).find("Make room"), std::string::npos) << message(no);
  daemon_.end(SIGTERM);
  daemon_.prefix.clear();
  start();
  c = connect();
  const auto again = c->submit(ask("before"));
  ASSERT_EQ(code(again), "OK");
  EXPECT_TRUE(std::get<accepted>(again).joined);
  EXPECT_EQ(how(c->prove(ask("during"), 60s, false)), outcome::completed);
}

TEST_F(Daemon, TwoOnOneSocketOrJournalAreAClearError) {
  start();
  daemon_process other;
  other.sections = daemon_.sections;
  other.server = "";
  // The same journal.
  fs::create_directory_symlink(daemon_.directory + "/journal", other.directory + "/journal");
  other.start(false);
  EXPECT_EQ(other.wait(), 1);
  EXPECT_NE(other.log().find("another prover-daemon runs on it"), std::string::npos) << other.log();
  // The same socket, by another name for its directory.
  fs::remove(other.directory + "/journal");
  fs::remove(other.directory + "/s.lock");
  fs::create_symlink(daemon_.directory + "/s.lock", other.directory + "/s.lock");
  other.start(false);
  EXPECT_EQ(other.wait(), 1);
  EXPECT_NE(other.log().find("listens on it"), std::string::npos) << other.log();
  EXPECT_EQ(how(connect()->prove(ask(), 60s, false)), outcome::completed) << "the first goes on";
}

TEST_F(Daemon, DrainsOnSigtermAndStopsAtOnceOnTheSecond) {
  start();
  auto c = connect();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(code(c->submit(ask("d" + std::to_string(i)))), "OK");
  EXPECT_EQ(daemon_.end(SIGTERM), 0) << daemon_.log();
  EXPECT_FALSE(fs::exists(daemon_.directory + "/s")) << "the socket was left";
  start();
  c = connect();
  for (int i = 0; i < 3; ++i) {
    const auto a = c->submit(ask("d" + std::to_string(i)));
    ASSERT_EQ(code(a), "OK");
    EXPECT_TRUE(std::get<accepted>(a).joined);
    EXPECT_EQ(how(c->await(std::get<accepted>(a).id, 60s)), outcome::completed);
  }
  for (int i = 0; i < 40; ++i) (void)c->submit(ask());
  daemon_.signal(SIGTERM);
  std::this_thread::sleep_for(20ms);
  const int code = daemon_.end(SIGTERM);
  EXPECT_TRUE(code == 0 || code == 128 + SIGTERM) << code;
}

}  // namespace
}  // namespace prover::daemon
