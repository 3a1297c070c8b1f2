// Spans of other processes while they run, and after these were killed.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <thread>

#include "hub/server.hpp"
#include "hub/store/testing.hpp"

namespace telltale::hub {
namespace {

using testing::temporary_directory;

// What runs until it is killed; its records go to the hub.
class process {
 public:
  process(std::uint16_t port, const std::string& flight) {
    std::vector<std::string> words = {
        "TELLTALE_SINKS=otlp:http://127.0.0.1:" + std::to_string(port) + "?protocol=http/protobuf",
        "OTEL_SERVICE_NAME=prover"};
    if (!flight.empty()) words.push_back("TELLTALE_FLIGHT=" + flight);
    std::vector<char*> environment;
    for (std::string& w : words) environment.push_back(w.data());
    environment.push_back(nullptr);
    std::string path = TELLTALE_OPEN_SPAN;
    char* arguments[] = {path.data(), nullptr};
    EXPECT_EQ(::posix_spawn(&id_, path.c_str(), nullptr, nullptr, arguments, environment.data()), 0);
  }
  ~process() { kill(); }
  void kill() {
    if (id_ == 0) return;
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
    id_ = 0;
  }

 private:
  pid_t id_ = 0;
};

class OpenSpans : public ::testing::Test {
 protected:
  void start(std::int64_t patience_seconds) {
    configuration c;
    c.store.directory = directory_.path();
    c.store.heartbeat_timeout_seconds = patience_seconds;
    c.http.listen = {"127.0.0.1:0"};
    c.grpc.listen = {};
    auto s = server::start(std::move(c));
    ASSERT_TRUE(s) << s.error().message;
    hub_ = std::move(*s);
  }
  std::uint16_t port() { return hub_->http().ports().at(0); }
  template <class F>
  bool comes_true(F what) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!what()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  std::size_t open() { return hub_->kept()->open_spans().size(); }
  std::vector<span_row> kept() {
    hub_->kept()->settle();
    return hub_->kept()->spans("TRUE", "start_ns", 10).value();
  }
  void expect_lost(const span_row& s) {
    EXPECT_EQ(s.state, span_state::lost);
    EXPECT_EQ(s.status, status_code::error);
    EXPECT_EQ(s.service, "prover");
    EXPECT_EQ(s.job_id, "j1");
  }

  temporary_directory directory_;
  std::unique_ptr<server> hub_;
};

TEST_F(OpenSpans, AreSeenWhileTheyRunAndLostWhenTheirHeartbeatsStop) {
  start(2);
  process p(port(), "");
  ASSERT_TRUE(comes_true([&] { return open() == 2; }));
  const auto running = hub_->kept()->open_spans();
  EXPECT_EQ(running[0].name, "outer");
  EXPECT_EQ(running[1].name, "endless");
  EXPECT_EQ(running[1].parent, running[0].id);
  EXPECT_EQ(running[1].job_id, "j1");
  EXPECT_EQ(hub_->kept()->trace(running[0].trace).value().size(), 2u);
  EXPECT_TRUE(kept().empty());
  p.kill();
  ASSERT_TRUE(comes_true([&] { return open() == 0; }));
  ASSERT_TRUE(comes_true([&] { return kept().size() == 2; }));
  const auto lost = kept();
  for (const span_row& s : lost) expect_lost(s);
  EXPECT_EQ(lost[1].id, running[1].id);
  EXPECT_EQ(lost[1].parent, running[0].id);
  EXPECT_GE(lost[1].duration_ns, 1'000'000'000);  // it was told of after a second
}

// The next process of that name finds the recording of the killed one, long before the hub loses patience.
TEST_F(OpenSpans, AreLostAtOnceWhenTheirProcessIsKnownToBeGone) {
  start(3600);
  const temporary_directory flight;
  process first(port(), flight.path());
  ASSERT_TRUE(comes_true([&] { return open() == 2; }));
  const auto running = hub_->kept()->open_spans();
  first.kill();
  const process second(port(), flight.path());
  ASSERT_TRUE(comes_true([&] { return kept().size() == 2; }));
  const auto lost = kept();
  for (const span_row& s : lost) expect_lost(s);
  EXPECT_EQ(lost[1].id, running[1].id);
  for (const span_row& s : hub_->kept()->open_spans()) EXPECT_NE(s.trace, running[0].trace);
}

}  // namespace
}  // namespace telltale::hub
