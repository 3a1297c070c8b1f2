// Witness generators that do what programs do: end well, fail, hang, crash, flood.
#include "prover/daemon/witness_process.hpp"

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace prover::daemon {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// A directory with a shell script as generator; runs it with and without bubblewrap.
class Generator : public testing::TestWithParam<sandbox_choice> {
 protected:
  void SetUp() override {
    // Not below /tmp, of which the sandbox has one of its own.
    root_ = fs::current_path() / ("generator-" + std::to_string(::getpid()));
    fs::create_directories(root_ / "runs");
    kind_.name = "k";
    kind_.max_payload = 1 << 20;
    kind_.witness_source_memory = std::size_t{1} << 30;
  }
  void TearDown() override {
    EXPECT_TRUE(fs::is_empty(root_ / "runs")) << "a run's directory was left";
    fs::remove_all(root_);
  }

  std::variant<std::vector<std::byte>, failure> run(const std::string& script, const std::string& inputs = "{}") {
    std::ofstream(root_ / "g.sh") << script << "\n";
    program_.command = {"sh", (root_ / "g.sh").string()};
    auto made = witness_process::create({GetParam(), (root_ / "runs").string()}, {{"k", program_}});
    if (!made) {
      refused_ = made.error().message;
      return failure{failure_class::internal, refused_};
    }
    sandbox_ = (*made)->sandbox();
    return (*made)->generate(kind_, inputs, stop_.get_token(), deadline_);
  }
  std::string problem(const std::string& script) {
    const auto made = run(script);
    const auto* why = std::get_if<failure>(&made);
    if (why == nullptr) return "(a witness)";
    EXPECT_EQ(why->what, failure_class::generator) << why->message;
    return why->message;
  }
  static std::string text(const std::vector<std::byte>& b) {
    return {reinterpret_cast<const char*>(b.data()), b.size()};
  }
  static bool has(const std::string& all, const std::string& part) { return all.find(part) != std::string::npos; }
  // Whether a process that wrote its number into `file` is gone, soon.
  static bool gone(const fs::path& file) {
    int pid = 0;
    std::ifstream(file) >> pid;
    for (int i = 0; i < 500; ++i) {
      if (pid != 0 && ::kill(pid, 0) != 0) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }

  fs::path root_;
  generator_program program_{{}, 20s};
  kind kind_;
  std::stop_source stop_;
  std::optional<steady_time> deadline_;
  std::string sandbox_;
  std::string refused_;
};

TEST_P(Generator, IsCalledWithItsInputsAndWhereToWrite) {
  const auto made = run("cat $1 $1 > $2; echo chatter; echo more >&2", "{\"a\": 1}");
  ASSERT_TRUE(std::holds_alternative<std::vector<std::byte>>(made)) << std::get<failure>(made).message;
  EXPECT_EQ(text(std::get<std::vector<std::byte>>(made)), "{\"a\": 1}{\"a\": 1}");
}

TEST_P(Generator, SeesNothingOfTheDaemonsEnvironment) {
  ::setenv("SECRET_OF_THE_DAEMON", "x", 1);
  const auto made = run("echo \"[$SECRET_OF_THE_DAEMON]\" > $2");
  ASSERT_TRUE(std::holds_alternative<std::vector<std::byte>>(made)) << std::get<failure>(made).message;
  EXPECT_EQ(text(std::get<std::vector<std::byte>>(made)), "[]\n");
}

TEST_P(Generator, SaysWhatItPrintedWhenItFails) {
  const std::string why = problem("echo 'Error: Assert Failed. Template T line 7' >&2; exit 3");
  EXPECT_TRUE(has(why, "ended with exit code 3")) << why;
  EXPECT_TRUE(has(why, "Assert Failed. Template T line 7")) << why;
}

TEST_P(Generator, SaysItsErrorAndNotTheTraceOfItsStack) {
  const std::string why = problem(
      "echo 'Error: Assert Failed. Error in template T line: 6' >&2; for i in $(seq 60); do echo '    at deep.js:1:2' "
      ">&2; done; exit 1");
  EXPECT_TRUE(has(why, "It printed: Error: Assert Failed. Error in template T line: 6     at deep.js")) << why;
}

TEST_P(Generator, ThatHangsIsKilledWithWhatItStarted) {
  program_.time = 300ms;
  const std::string script = GetParam() == sandbox_choice::none
                                 ? "sleep 600 & echo $! > " + (root_ / "pid").string() + "; wait"
                                 : "sleep 600 & wait";
  EXPECT_TRUE(has(problem(script), "had not ended after 300 ms"));
  if (GetParam() == sandbox_choice::none) {
    EXPECT_TRUE(gone(root_ / "pid"));
  }
}

TEST_P(Generator, ThatIgnoresSignalsIsKilled) {
  program_.time = 300ms;
  EXPECT_TRUE(has(problem("trap '' TERM INT HUP; while :; do sleep 1; done"), "had not ended"));
}

TEST_P(Generator, EndsAtTheJobsDeadline) {
  deadline_ = std::chrono::steady_clock::now() + 300ms;
  EXPECT_TRUE(has(problem("sleep 600"), "at the job's deadline"));
}

TEST_P(Generator, IsStoppedWhenTheJobIsCancelled) {
  std::jthread canceller([this] {
    std::this_thread::sleep_for(200ms);
    stop_.request_stop();
  });
  EXPECT_TRUE(has(problem("sleep 600"), "was stopped"));
  EXPECT_TRUE(has(problem("sleep 600"), "was not started"));
}

TEST_P(Generator, ThatCrashesIsNamedWithItsSignal) {
  EXPECT_TRUE(has(problem("kill -SEGV $$"), "ended by signal 11"));
}

TEST_P(Generator, ThatPrintsAGigabyteIsStoppedAtOneMebibyte) {
  EXPECT_TRUE(has(problem("head -c 1073741824 /dev/zero"), "printed more than 1 MiB"));
}

TEST_P(Generator, CannotWriteMoreThanThePayloadMayHave) {
  EXPECT_TRUE(has(problem("head -c 1073741824 /dev/zero > $2"), "max_payload (1048576 bytes)"));
}

TEST_P(Generator, CannotTakeMoreMemoryThanItMay) {
  kind_.witness_source_memory = 32 << 20;
  const std::string why = problem("x=$(head -c 67108864 /dev/zero | tr '\\0' 'a'); echo ${#x} > $2");
  EXPECT_FALSE(has(why, "(a witness)")) << why;
}

TEST_P(Generator, ThatWritesNothingIsAnError) {
  EXPECT_TRUE(has(problem("exit 0"), "wrote no witness"));
  EXPECT_TRUE(has(problem("ln -s /etc/passwd $2"), "wrote no witness"));
}

TEST_P(Generator, WhatItLeavesBehindKeepsNobodyWaiting) {
  const auto begin = std::chrono::steady_clock::now();
  const auto made = run("sleep 600 & echo 1 > $2");
  EXPECT_TRUE(std::holds_alternative<std::vector<std::byte>>(made));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s);
}

TEST_P(Generator, OfAnotherKindIsNotRun) {
  kind_.name = "other";
  const auto made = run("echo 1 > $2");
  ASSERT_TRUE(std::holds_alternative<failure>(made));
  EXPECT_EQ(std::get<failure>(made).what, failure_class::bad_input);
  EXPECT_TRUE(has(std::get<failure>(made).message, "has no witness generator"));
}

TEST_P(Generator, DirectoryThatCannotBeWrittenIsNamed) {
  auto made = witness_process::create({GetParam(), "/nonexistent"}, {{"k", {{"true"}, 1s}}});
  ASSERT_TRUE(made) << made.error().message;
  const auto none = (*made)->generate(kind_, "{}", {}, {});
  EXPECT_TRUE(has(std::get<failure>(none).message, "\"/nonexistent\": No such file"));
}

INSTANTIATE_TEST_SUITE_P(, Generator, testing::Values(sandbox_choice::bubblewrap, sandbox_choice::none),
                         [](const auto& p) {
                           return p.param == sandbox_choice::none ? "WithoutSandbox" : "UnderBubblewrap";
                         });

using Sandbox = Generator;

TEST_P(Sandbox, HasNoNetworkAndWritesNowhereElse) {
  const auto made = run("{ echo x > " + (root_ / "stolen").string() +
                        "; } 2>/dev/null; echo x > /usr/x 2>/dev/null;"
                        "wc -l < /proc/net/dev > $2; ls /etc 2>/dev/null | wc -l >> $2");
  ASSERT_TRUE(std::holds_alternative<std::vector<std::byte>>(made)) << std::get<failure>(made).message;
  EXPECT_FALSE(fs::exists(root_ / "stolen"));
  EXPECT_EQ(text(std::get<std::vector<std::byte>>(made)), "3\n0\n") << "the loopback device alone, and no /etc";
  EXPECT_TRUE(has(sandbox_, "bubblewrap")) << sandbox_;
}

INSTANTIATE_TEST_SUITE_P(Only, Sandbox, testing::Values(sandbox_choice::bubblewrap),
                         [](const auto&) { return "UnderBubblewrap"; });

}  // namespace
}  // namespace prover::daemon
