// Two jobs side by side through a C library that prints: every line under its own job. And what else can come through a
// descriptor.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <iostream>
#include <map>
#include <telltale/adapters/capture.hpp>
#include <thread>

#include "recorded.hpp"
#include "support/process.hpp"

extern "C" {
void chatty_work(int job, int step);
void chatty_raw(const char* text);
void chatty_print(const char* text);
void chatty_out(const char* text);
void chatty_error(void);
}

TELLTALE_MODULE("test::capture");

using namespace telltale::literals;
using telltale::capture;
using telltale::standard_stream;
using telltale::testing::recorded;

namespace {

using lines = std::vector<telltale::recording::line>;

std::string value(const telltale::recording::line& l, std::string_view key) {
  for (const auto& [k, v] : l.attributes) {
    if (k == key) return telltale::to_string(v);
  }
  return "(none)";
}
std::vector<std::string> messages(const lines& all) {
  std::vector<std::string> out;
  for (const auto& l : all) out.push_back(l.message);
  return out;
}
capture captured(standard_stream s = standard_stream::error, telltale::capture_options o = {.module = "chatty"}) {
  auto c = capture::start(s, std::move(o));
  if (!c) throw std::runtime_error(c.error().message);
  return std::move(*c);
}

TEST(Capture, PutsEveryLineOfTwoJobsUnderTheRightOne) {
  recorded r(telltale::options{.overflow = telltale::overflow_policy::block});
  constexpr int steps = 200;
  {
    const capture c = captured();
    std::barrier together(2);
    std::array<std::thread, 2> jobs;
    for (int job = 0; job < 2; ++job) {
      jobs[static_cast<std::size_t>(job)] = std::thread([&, job] {
        TELLTALE_SCOPE("prove", "job_id"_a = job);
        TELLTALE_SPAN("work");
        together.arrive_and_wait();
        for (int step = 0; step < steps; ++step) chatty_work(job, step);
      });
    }
    for (std::thread& t : jobs) t.join();
  }
  std::map<std::string, std::string> text;  // what each job printed, put together again
  for (const auto& l : r.lines()) {
    const std::string job = value(l, "job_id");
    ASSERT_TRUE(job == "0" || job == "1") << l.message;
    EXPECT_EQ(l.module, "chatty");
    EXPECT_EQ(l.span_name, "work");
    EXPECT_EQ(value(l, "log.iostream"), "stderr");
    EXPECT_EQ(value(l, "log.shared"), "(none)");
    text[job] += l.message + (value(l, "log.continued") == "true" ? "" : "\n");
  }
  for (int job = 0; job < 2; ++job) {
    const std::string head = "job " + std::to_string(job) + " step ";
    std::string expected;
    for (int step = 0; step < steps; ++step) {
      const std::string start = head + std::to_string(step);
      if (step % 4 == 0) expected += start + ": started\n";
      if (step % 4 == 1) expected += start + ": pieces\n";
      if (step % 4 == 2) expected += start + ": one\n" + start + ": two\n";
      if (step % 4 == 3) expected += start + ": " + std::string(7999, static_cast<char>('a' + job)) + "\n";
    }
    EXPECT_EQ(text[std::to_string(job)], expected);
  }
}

TEST(Capture, SaysOfRawWritesThatNobodyKnowsWhoseTheyAre) {
  recorded r;
  {
    TELLTALE_SCOPE("daemon", "module_id"_a = 7);
    const capture c = captured();
    std::thread([] {
      TELLTALE_SCOPE("job", "job_id"_a = 1);
      chatty_raw("raw line\npart");
      chatty_raw("ial\r\nno end");
    }).join();
  }
  const lines all = r.lines();
  EXPECT_EQ(messages(all), (std::vector<std::string>{"raw line", "partial", "no end"}));
  for (const auto& l : all) {
    EXPECT_EQ(value(l, "log.shared"), "true");
    EXPECT_EQ(value(l, "module_id"), "7");
    EXPECT_EQ(value(l, "job_id"), "(none)");
  }
}

TEST(Capture, TakesPerrorAndTheStreamsOfCpp) {
  recorded r;
  {
    const capture c = captured();
    TELLTALE_SCOPE("job", "job_id"_a = 3);
    chatty_error();
    std::cerr << "cerr " << 42 << std::endl;
    std::clog << "clog\n" << std::flush;
  }
  const lines all = r.lines();
  EXPECT_EQ(messages(all), (std::vector<std::string>{"chatty: No such file or directory", "cerr 42", "clog"}));
  for (const auto& l : all) EXPECT_EQ(value(l, "job_id"), "3") << l.message;
}

TEST(Capture, TakesStdoutBesideStderr) {
  recorded r;
  {
    const capture err = captured();
    const capture out = captured(standard_stream::output, {.module = "printer", .level = telltale::level::warn});
    chatty_out("to stdout\n");
    std::cout << "to cout\n";
    chatty_print("to stderr\n");
  }
  const lines all = r.lines();
  EXPECT_EQ(messages(all), (std::vector<std::string>{"to stdout", "to cout", "to stderr"}));
  EXPECT_EQ(all[0].module, "printer");
  EXPECT_EQ(all[0].level, telltale::level::warn);
  EXPECT_EQ(value(all[1], "log.iostream"), "stdout");
  EXPECT_EQ(value(all[2], "log.iostream"), "stderr");
}

TEST(Capture, RecordsBytesAndEmptyLinesAsTheyAre) {
  recorded r;
  {
    const capture c = captured();
    std::fwrite("a\0b\xff\n\n\x1b[31mred\n", 1, 15, stderr);
  }
  EXPECT_EQ(messages(r.lines()), (std::vector<std::string>{std::string("a\0b\xff", 4), "", "\x1b[31mred"}));
}

TEST(Capture, EndsAnUnfinishedLineWithItsThreadOrItself) {
  recorded r;
  {
    const capture c = captured();
    std::thread([] {
      TELLTALE_SCOPE("job", "job_id"_a = 1);
      chatty_print("of a thread");
    }).join();
    chatty_print("of the last");
  }
  const lines all = r.lines();
  ASSERT_EQ(all.size(), 2u);
  const std::size_t of_thread = all[0].message == "of a thread" ? 0 : 1;  // order is per thread
  EXPECT_EQ(all[of_thread].message, "of a thread");
  EXPECT_EQ(value(all[of_thread], "job_id"), "1");
  EXPECT_EQ(all[1 - of_thread].message, "of the last");
  EXPECT_EQ(value(all[1 - of_thread], "job_id"), "(none)");
}

TEST(Capture, EndsAnUnfinishedLineWhereAnotherJobGoesOn) {
  recorded r;
  {
    const capture c = captured();
    for (int job = 0; job < 2; ++job) {
      TELLTALE_SCOPE("job", "job_id"_a = job);
      chatty_print(job == 0 ? "first" : "second\n");
    }
  }
  const lines all = r.lines();
  EXPECT_EQ(messages(all), (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(value(all[0], "job_id"), "0");
  EXPECT_EQ(value(all[1], "job_id"), "1");
}

TEST(Capture, IsOneAtATime) {
  recorded r;
  const capture c = captured();
  const auto second = capture::start(standard_stream::error);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another capture of it is open"), std::string::npos);
}

// --- the descriptor itself ------------------------------------------------------------------------------------------

// stderr in a file for the length of a test.
class redirected {
 public:
  redirected() : former_(::dup(2)) {
    const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    ::dup2(fd, 2);
    ::close(fd);
  }
  ~redirected() {
    ::dup2(former_, 2);
    ::close(former_);
  }
  std::string text() const { return telltale::testing::contents(path_); }

 private:
  telltale::testing::temporary_directory dir_;
  std::string path_ = dir_ / "stderr";
  int former_;
};

TEST(Capture, PutsEverythingBack) {
  recorded r;
  const redirected file;
  std::FILE* const before = stderr;
  std::streambuf* const buffer = std::cerr.rdbuf();
  for (int round = 0; round < 3; ++round) {
    {
      const capture c = captured();
      chatty_print("inside\n");
      chatty_raw("inside\n");
    }
    chatty_print("outside\n");
    chatty_raw("raw\n");
    std::cerr << "cerr\n";
  }
  EXPECT_EQ(stderr, before);
  EXPECT_EQ(std::cerr.rdbuf(), buffer);
  EXPECT_EQ(file.text(), "outside\nraw\ncerr\noutside\nraw\ncerr\noutside\nraw\ncerr\n");
  EXPECT_EQ(r.lines().size(), 6u);
}

TEST(Capture, LetsTheTextSinkThroughAndDoesNotLoop) {
  recorded r;
  const redirected file;
  {
    const capture c = captured();
    ASSERT_TRUE(telltale::start(telltale::options{.sinks = "text:stderr?color=never"}));
    chatty_print("said once\n");
    ASSERT_TRUE(telltale::flush());
  }
  ASSERT_TRUE(telltale::flush());
  ASSERT_TRUE(telltale::start(telltale::options{.sinks = "none"}));
  EXPECT_EQ(telltale::testing::count_of(file.text(), "said once"), 1u) << file.text();
  EXPECT_NE(file.text().find(" chatty] said once"), std::string::npos) << file.text();
  EXPECT_EQ(r.lines().size(), 1u);
}

TEST(Capture, EchoesWhereItIsAskedTo) {
  recorded r;
  const redirected file;
  {
    const capture c = captured(standard_stream::error, {.module = "chatty", .echo = true});
    chatty_print("stdio\n");
    chatty_raw("raw\n");
  }
  const std::string text = file.text();
  EXPECT_NE(text.find("stdio\n"), std::string::npos);
  EXPECT_NE(text.find("raw\n"), std::string::npos);
  EXPECT_EQ(r.lines().size(), 2u);
}

TEST(Capture, TakesWhatAProgramStartedMeanwhilePrints) {
  recorded r;
  {
    const capture c = captured();
    char shell[] = "sh";
    char flag[] = "-c";
    char script[] = "echo from the child >&2";
    char* const arguments[] = {shell, flag, script, nullptr};
    pid_t pid = 0;
    ASSERT_EQ(::posix_spawn(&pid, "/bin/sh", nullptr, nullptr, arguments, environ), 0);
    ::waitpid(pid, nullptr, 0);
  }
  const lines all = r.lines();
  EXPECT_EQ(messages(all), (std::vector<std::string>{"from the child"}));
  EXPECT_EQ(value(all[0], "log.shared"), "true");
}

TEST(Capture, GivesAForkedChildTheRealDescriptorBack) {
  recorded r;
  const redirected file;
  {
    capture c = captured();
    const pid_t pid = ::fork();
    if (pid == 0) {
      chatty_raw("child\n");
      {
        const capture ended = std::move(c);
      }
      chatty_print("after\n");
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    chatty_print("parent\n");
  }
  EXPECT_EQ(file.text(), "child\nafter\n");
  EXPECT_EQ(messages(r.lines()), std::vector<std::string>{"parent"});
}

}  // namespace
