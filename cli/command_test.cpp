// The command as a program: against a small server that answers like a hub, and in a pseudo-terminal.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "access.hpp"

namespace telltale::cli {
namespace {

// Answers by path, one connection after the other; remembers what it was asked.
class fake_hub {
 public:
  explicit fake_hub(std::map<std::string, std::string> answers) : answers_(std::move(answers)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(at.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~fake_hub() {
    stop_ = true;
    thread_.join();
    ::close(listener_);
  }
  const std::string& url() const { return url_; }
  std::string last_request() {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  void serve() {
    while (!stop_) {
      pollfd ready{listener_, POLLIN, 0};
      if (::poll(&ready, 1, 20) <= 0) continue;
      const int c = ::accept(listener_, nullptr, nullptr);
      std::string request;
      char buffer[4096];
      std::size_t needed = 0;
      for (;;) {
        const ssize_t n = ::read(c, buffer, sizeof buffer);
        if (n <= 0) break;
        request.append(buffer, static_cast<std::size_t>(n));
        const std::size_t head = request.find("\r\n\r\n");
        if (head == std::string::npos) continue;
        const std::size_t length = request.find("Content-Length: ");
        needed = head + 4 + (length < head ? std::stoul(request.substr(length + 16)) : 0);
        if (request.size() >= needed) break;
      }
      {
        const std::lock_guard lock(mutex_);
        last_ = request;
      }
      const std::size_t begin = request.find(' ') + 1;
      const std::string path = request.substr(begin, request.find_first_of(" ?", begin) - begin);
      const auto found = answers_.find(path);
      const std::string body = found != answers_.end() ? found->second : R"({"error":"there is no such thing"})";
      const std::string answer = std::string("HTTP/1.1 ") + (found != answers_.end() ? "200 OK" : "404 Not Found") +
                                 "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
                                 "\r\n\r\n" + body;
      EXPECT_EQ(::write(c, answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
      ::close(c);
    }
  }
  std::map<std::string, std::string> answers_;
  int listener_ = -1;
  std::string url_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::string last_;
  std::thread thread_;
};

constexpr const char* one_trace = R"({"trace_id":"00000000000000010000000000000001","root_name":"prove",
  "start_ns":1778273112000000000,"duration_ns":100000000,"spans":2,"errors":0,"rows":[
  {"trace_id":"t","span_id":"1","name":"prove","start_ns":1778273112000000000,"duration_ns":100000000},
  {"trace_id":"t","span_id":"2","parent_id":"1","name":"multiply","start_ns":1778273112000000000,
   "duration_ns":25000000,"attributes":{"points":4179}}]})";
constexpr const char* one_breakdown = R"({"name":"prove","total_ns":100000000,"phases":[
  {"name":"multiply","count":1,"total_ns":25000000,"busy_ns":25000000,"wall_ns":25000000,"share":0.25}]})";
constexpr const char* traces = R"({"traces":[{"trace_id":"00000000000000010000000000000001","root_name":"prove",
  "start_ns":1778273112000000000,"duration_ns":100000000,"spans":2,"errors":0,"matched":2}],"cut":false})";

std::map<std::string, std::string> answers() {
  return {{"/api/v1/traces", traces},
          {"/api/v1/traces/00000000000000010000000000000001", one_trace},
          {"/api/v1/breakdown", one_breakdown},
          {"/api/v1/sql", R"({"columns":["n"],"rows":[[3]],"cut":false})"},
          {"/api/v1/tail", "data: {\"name\":\"a\"}\n\n: \n\ndata: {\"name\":\"b\"}\n\ndata: {\"name\":\"c\"}\n\n"}};
}

struct outcome {
  int rc;
  std::string out;
};
outcome run(const std::string& words) {
  const std::string command = std::string(TELLTALE_COMMAND) + " " + words + " 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string out;
  char buffer[4096];
  std::size_t n = 0;
  while ((n = ::fread(buffer, 1, sizeof buffer, pipe)) != 0) out.append(buffer, n);
  const int status = ::pclose(pipe);
  return {WEXITSTATUS(status), out};
}

TEST(Access, EscapesWhatItAsks) {
  fake_hub hub(answers());
  const auto access = over_http(hub.url() + "/", "secret");
  const auto answer = access->ask({"GET", "traces", {{"q", "{ name = \"a b\" && .x > 1 }"}}, {}});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  const std::string asked = hub.last_request();
  EXPECT_TRUE(asked.starts_with("GET /api/v1/traces?q=%7B%20name%20%3D%20%22a%20b%22%20%26%26%20.x%20%3E%201%20%7D "))
      << asked;
  EXPECT_NE(asked.find("Authorization: Bearer secret"), std::string::npos);
  EXPECT_EQ(access->ask({"GET", "nothing", {}, {}})->status, 404);
}

TEST(Access, FollowsEventsUntilItIsEnough) {
  fake_hub hub(answers());
  const auto access = over_http(hub.url(), "");
  std::string seen;
  const auto done = access->follow({"GET", "tail", {}, {}}, [&](std::string_view data) {
    seen += data;
    return seen.find('b') == std::string::npos;
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(seen, "{\"name\":\"a\"}{\"name\":\"b\"}");
}

TEST(Command, PrintsWhatTheHubAnswers) {
  fake_hub hub(answers());
  const outcome list = run("--hub " + hub.url() + " traces '{ .x = 1 }' --limit 5");
  EXPECT_EQ(list.rc, 0) << list.out;
  EXPECT_NE(list.out.find("00000000000000010000000000000001"), std::string::npos);
  EXPECT_NE(hub.last_request().find("limit=5"), std::string::npos);
  const outcome sql = run("sql 'SELECT 3 AS n' --hub " + hub.url());
  EXPECT_EQ(sql.out, "n\n3\n");
  EXPECT_TRUE(hub.last_request().ends_with("\r\n\r\nSELECT 3 AS n"));
  const outcome raw = run("breakdown j1 --json --hub " + hub.url());
  EXPECT_EQ(raw.out, one_breakdown);
  const outcome live = run("tail --limit 2 --json --hub " + hub.url());
  EXPECT_EQ(live.rc, 0);
  EXPECT_EQ(live.out, "{\"name\":\"a\"}\n{\"name\":\"b\"}\n");
}

TEST(Command, SaysWhatIsWrong) {
  fake_hub hub(answers());
  const outcome missing = run("critical-path j9 --hub " + hub.url());
  EXPECT_EQ(missing.rc, 1);
  EXPECT_EQ(missing.out, "telltale: there is no such thing\n");
  const outcome nobody = run("store --hub http://127.0.0.1:1");
  EXPECT_EQ(nobody.rc, 1);
  EXPECT_TRUE(nobody.out.starts_with("telltale: no hub answers at http://127.0.0.1:1 (")) << nobody.out;
  const outcome unknown = run("frobnicate");
  EXPECT_NE(unknown.rc, 0);
  EXPECT_TRUE(unknown.out.starts_with("telltale: there is no command \"frobnicate\"\n")) << unknown.out;
  EXPECT_NE(run("").rc, 0);
  const outcome incomplete = run("show");
  EXPECT_TRUE(incomplete.out.starts_with("telltale: OF is required\n")) << incomplete.out;
  // Whatever answers there is no hub.
  fake_hub stranger(std::map<std::string, std::string>{{"/api/v1/traces", "<html>"}});
  const outcome strange = run("traces --hub " + stranger.url());
  EXPECT_EQ(strange.rc, 1);
  EXPECT_TRUE(strange.out.starts_with("telltale: what answered can't be understood: is it a hub")) << strange.out;
  EXPECT_EQ(run("ui --hub " + hub.url() + " </dev/null").out,
            "telltale: ui needs a terminal; `telltale traces` and `telltale show` print\n");
  EXPECT_EQ(run("traces --since yesterday --hub " + hub.url()).rc, 1);
}

TEST(Command, InitsAStoreThatNeedsIt) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / ("init-" + std::to_string(::getpid()));
  std::ofstream(file) << "[store]\ndirectory = \"x\"\n";
  const outcome embedded = run("store init --config " + file.string());
  EXPECT_EQ(embedded.rc, 1);
  EXPECT_NE(embedded.out.find("`store init` is for ClickHouse"), std::string::npos) << embedded.out;
  std::ofstream(file) << "[clickhouse]\nurl = \"http://127.0.0.1:1\"\n";
  const outcome away = run("store init --config " + file.string());
  EXPECT_EQ(away.rc, 1);
  EXPECT_TRUE(away.out.starts_with("telltale: ClickHouse gives no answer (http://127.0.0.1:1: ")) << away.out;
  EXPECT_NE(run("serve --config " + file.string()).out.find("gives no answer"), std::string::npos);
  EXPECT_NE(run("store init").rc, 0);
  std::filesystem::remove(file);
}

TEST(Command, HelpsWithEveryCommand) {
  const outcome help = run("--help");
  EXPECT_EQ(help.rc, 0);
  for (const std::string name :
       {"traces", "show", "breakdown", "critical-path", "diff", "top", "metrics", "outliers", "logs", "open", "follow",
        "tail", "sql", "export", "import", "store", "ui", "recover"}) {
    EXPECT_NE(help.out.find("\n  " + name + " "), std::string::npos) << name;
    EXPECT_EQ(run(name + " --help").rc, 0) << name;
  }
}

// `telltale serve` on ports of its own, with a store that goes with the test.
class real_hub {
 public:
  explicit real_hub(const std::string& directory) {
    int out[2];
    EXPECT_EQ(::pipe2(out, O_CLOEXEC), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(out[1], STDOUT_FILENO);
      ::execl(TELLTALE_COMMAND, TELLTALE_COMMAND, "serve", "--store", directory.c_str(), "--listen", "127.0.0.1:0",
              "--grpc", "127.0.0.1:0", nullptr);
      ::_exit(127);
    }
    ::close(out[1]);
    std::string line;
    for (char c = 0; ::read(out[0], &c, 1) == 1 && c != '\n';) line += c;
    ::close(out[0]);
    const std::size_t port = line.find("http:");
    EXPECT_NE(port, std::string::npos) << line;
    url_ = "http://127.0.0.1:" + line.substr(port + 5, line.find(' ', port) - port - 5);
  }
  ~real_hub() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  const std::string& url() const { return url_; }

 private:
  pid_t child_ = -1;
  std::string url_;
};

class StoreInADirectory : public ::testing::Test {
 protected:
  StoreInADirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "telltale-command-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    there_ = pattern;
    std::ofstream(there_ + "/in.json") << R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"prove",
      "traceId":"00000000000000010000000000000001","spanId":"0000000000000001",
      "startTimeUnixNano":"1778273112000000000","endTimeUnixNano":"1778273112100000000",
      "attributes":[{"key":"job_id","value":{"stringValue":"j1"}}]}]}]}]})";
  }
  ~StoreInADirectory() override { std::filesystem::remove_all(there_); }
  std::map<std::string, std::uintmax_t> files() const {
    std::map<std::string, std::uintmax_t> out;
    for (const auto& e : std::filesystem::recursive_directory_iterator(there_)) {
      out[e.path().string()] = e.is_regular_file() ? e.file_size() : 0;
    }
    return out;
  }
  std::string there_;
};

TEST_F(StoreInADirectory, IsAskedWhereNoHubRuns) {
  const std::string with = "--store " + there_ + "/store ";
  const outcome none = run(with + "traces");
  EXPECT_EQ(none.rc, 1);
  EXPECT_NE(none.out.find("there is no store in " + there_ + "/store"), std::string::npos) << none.out;
  {
    const real_hub hub(there_ + "/store");
    EXPECT_EQ(run("import " + there_ + "/in.json --hub " + hub.url()).out, "imported 1 span\n");
    const outcome taken = run(with + "traces");
    EXPECT_EQ(taken.rc, 1);
    EXPECT_NE(taken.out.find("open: ask it, with --hub URL in place of --store"), std::string::npos) << taken.out;
  }
  const auto before = files();
  const outcome list = run(with + "traces");
  EXPECT_EQ(list.rc, 0);
  EXPECT_NE(list.out.find("00000000000000010000000000000001  j1   prove"), std::string::npos) << list.out;
  EXPECT_NE(run("breakdown j1 " + with).out.find("100.0 %"), std::string::npos);
  EXPECT_EQ(run(with + "sql 'SELECT count(*) AS n FROM spans'").out, "n\n1\n");
  EXPECT_NE(run(with + "import " + there_ + "/in.json").out.find("open for questions only"), std::string::npos);
  EXPECT_NE(run(with + "tail").out.find("nothing comes into a store"), std::string::npos);
  EXPECT_NE(run(with + "--hub http://127.0.0.1:1 traces").out.find("excludes"), std::string::npos);
  EXPECT_EQ(files(), before);
}

TEST_F(StoreInADirectory, AnswersAsTheHubDoes) {
  std::string answered;
  {
    const real_hub hub(there_ + "/store");
    run("import " + there_ + "/in.json --hub " + hub.url());
    for (int i = 0; i < 200 && run("sql 'SELECT count(*) AS n FROM spans' --hub " + hub.url()).out != "n\n1\n"; ++i) {
      ::usleep(20'000);
    }
    answered = run("show j1 --json --hub " + hub.url()).out;
  }
  EXPECT_EQ(run("show j1 --json --store " + there_ + "/store").out, answered);
}

// The viewer in a terminal of 100 × 24: types, and waits until the screen says what it should.
class terminal {
 public:
  explicit terminal(const std::string& hub) {
    winsize size{24, 100, 0, 0};
    child_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (child_ == 0) {
      ::setenv("TERM", "xterm", 1);
      ::execl(TELLTALE_COMMAND, TELLTALE_COMMAND, "ui", "--hub", hub.c_str(), nullptr);
      ::_exit(127);
    }
  }
  ~terminal() {
    ::close(terminal_);
    if (!ended_) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
  }
  void type(std::string_view keys) {
    seen_.clear();
    EXPECT_EQ(::write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  bool shows(std::string_view text) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (seen_.find(text) == std::string::npos) {
      if (std::chrono::steady_clock::now() > until || !read_some()) return false;
    }
    return true;
  }
  int exit_code() {
    while (read_some()) {
    }
    int status = 0;
    ::waitpid(child_, &status, 0);
    ended_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void resize(unsigned short rows, unsigned short columns) {
    seen_.clear();
    const winsize size{rows, columns, 0, 0};
    EXPECT_EQ(::ioctl(terminal_, TIOCSWINSZ, &size), 0);
  }
  const std::string& seen() const { return seen_; }

 private:
  bool read_some() {
    pollfd ready{terminal_, POLLIN, 0};
    if (::poll(&ready, 1, 20'000) <= 0) return false;
    char buffer[4096];
    const ssize_t n = ::read(terminal_, buffer, sizeof buffer);
    if (n <= 0) return false;
    seen_.append(buffer, static_cast<std::size_t>(n));
    return true;
  }
  int terminal_ = -1;
  pid_t child_ = -1;
  bool ended_ = false;
  std::string seen_;
};

TEST(Viewer, GoesFromTheListToTheWaterfallToDetailAndBreakdown) {
  fake_hub hub(answers());
  terminal t(hub.url());
  ASSERT_TRUE(t.shows("Enter waterfall")) << t.seen();
  EXPECT_NE(t.seen().find("prove"), std::string::npos);
  t.type("\r");
  ASSERT_TRUE(t.shows("fold all")) << t.seen();
  EXPECT_NE(t.seen().find("multiply"), std::string::npos);
  t.type(" ");  // folds the root
  ASSERT_TRUE(t.shows("(1)")) << t.seen();
  t.type("ej");
  ASSERT_TRUE(t.shows("multiply")) << t.seen();
  t.type("d");
  ASSERT_TRUE(t.shows("points = 4179")) << t.seen();
  t.type("b");
  ASSERT_TRUE(t.shows("25.0 %")) << t.seen();
  t.type("q");
  EXPECT_EQ(t.exit_code(), 0);
}

TEST(Viewer, SearchesAndStaysWhereItIsWhenTheHubGoes) {
  auto hub = std::make_unique<fake_hub>(answers());
  terminal t(hub->url());
  ASSERT_TRUE(t.shows("/ search")) << t.seen();
  t.type("/");
  ASSERT_TRUE(t.shows("TraceQL, such as")) << t.seen();
  t.type("{ .x = 12\x7f }\r");
  ASSERT_TRUE(t.shows("Enter waterfall")) << t.seen();
  EXPECT_NE(hub->last_request().find("q=%7B%20.x%20%3D%201%20%7D"), std::string::npos) << hub->last_request();
  hub.reset();
  t.type("r");
  ASSERT_TRUE(t.shows("no hub answers")) << t.seen();
  t.type("\r");  // of the same message, only the line that was overwritten is drawn again
  ASSERT_TRUE(t.shows("or name another with --hub URL")) << t.seen();
  t.type("q");
  EXPECT_EQ(t.exit_code(), 0);
}

TEST(Viewer, FitsWhateverTheTerminalIs) {
  fake_hub hub(answers());
  terminal t(hub.url());
  ASSERT_TRUE(t.shows("Enter waterfall")) << t.seen();
  t.type("\r");
  ASSERT_TRUE(t.shows("q quit")) << t.seen();
  t.resize(3, 9);
  ASSERT_TRUE(t.shows("prove")) << t.seen();
  t.type("djJKbk");
  t.resize(40, 150);
  // The first screen of the new size may still be the one before the last keys.
  ASSERT_TRUE(t.shows("multiply")) << t.seen();
  ASSERT_TRUE(t.shows("q quit")) << t.seen();
  t.type("q");
  EXPECT_EQ(t.exit_code(), 0);
}

// A size that changes again while the screen is still being drawn is not lost: no key comes to wake the viewer.
TEST(Viewer, TakesEverySizeOfATerminalThatIsBeingResized) {
  fake_hub hub(answers());
  terminal t(hub.url());
  ASSERT_TRUE(t.shows("q quit")) << t.seen();
  for (int i = 0; i < 300; ++i) {
    const bool wide = i % 2 == 0;
    t.resize(24, wide ? 140 : 100);
    // Only a wide list writes the year of its dates; a narrow one is drawn again from its first line.
    ASSERT_TRUE(t.shows(wide ? "2026-" : "started (UTC)")) << "resize " << i << ": " << t.seen();
  }
  t.type("q");
  EXPECT_EQ(t.exit_code(), 0);
}

}  // namespace
}  // namespace telltale::cli
