// A program whose flight recorder is on: `child SCENARIO`, what flight_test.cpp expects of it.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <telltale/core/telltale.hpp>
#include <thread>
#include <vector>

#include "steps.hpp"

TELLTALE_MODULE("flight");
using namespace telltale::literals;
using namespace telltale::testing;

namespace {

// What this thread has finished, for whoever looks after the process is gone. Every step is one operation, told when
// it is over.
struct teller {
  std::atomic<std::uint64_t>* steps;
  void done() const { steps->store(steps->load(std::memory_order_relaxed) + 1, std::memory_order_release); }
};

void cycle(const teller& t, std::uint64_t thread, std::uint64_t n) {
  TELLTALE_SPAN_AS(outer, info, "outer", "thread"_a = thread, "n"_a = n);
  t.done();
  TELLTALE_INFO("line", "thread"_a = thread, "n"_a = n);
  t.done();
  {
    TELLTALE_SPAN_AS(inner, info, "inner", "thread"_a = thread, "n"_a = n,
                     "text"_a = "some text that takes a few words");
    t.done();
    outer.set("late"_a = n);
    t.done();
  }
  t.done();
}

[[noreturn]] void work(const teller& t, std::uint64_t thread, int pause_us) {
  telltale::name_thread("worker " + std::to_string(thread));
  TELLTALE_SCOPE("job", "job_id"_a = thread);
  t.done();
  for (std::uint64_t n = 0;; ++n) {
    cycle(t, thread, n);
    t.done();
    if (pause_us != 0) ::usleep(static_cast<useconds_t>(pause_us));
  }
}

// `works FILE PAUSE`: until it is killed.
int works(const std::vector<std::string>& words) {
  const int fd = ::open(words[0].c_str(), O_RDWR | O_CLOEXEC);
  void* p = ::mmap(nullptr, sizeof(shared_steps), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) return 1;
  auto* steps = static_cast<shared_steps*>(p);
  const int pause_us = std::atoi(words[1].c_str());
  for (std::uint64_t i = 0; i < working_threads; ++i) {
    std::thread(work, teller{&steps->of[i].finished}, i, pause_us).detach();
  }
  for (;;) ::pause();
}

int starts(const std::vector<std::string>&) {
  const auto started = telltale::start();
  if (!started) {
    std::fprintf(stderr, "%s\n", started.error().message.c_str());
    return 3;
  }
  return telltale::flush(std::chrono::seconds(30)) ? 0 : 4;
}

// Open spans with what a span can have, then an end without an exit.
int aborts(const std::vector<std::string>&) {
  TELLTALE_SPAN("main");
  TELLTALE_SCOPE("prove", "job_id"_a = "j7");
  TELLTALE_SPAN_AS(s, info, "phase", "points"_a = 12);
  TELLTALE_EVENT(s, "retried", "attempt"_a = 2);
  telltale::context other;
  other.span = {7};
  other.trace = {1, 2};
  s.link(other, telltale::link_kind::input_of);
  s.set("device"_a = "cpu");
  TELLTALE_WARN("about to end");
  {
    TELLTALE_SPAN("done", "points"_a = 3);
  }
  std::abort();
}
int hangs(const std::vector<std::string>&) {
  TELLTALE_SPAN("main");
  TELLTALE_SPAN("stuck", "points"_a = 12);
  TELLTALE_WARN("about to hang");
  telltale::flush();
  std::fputs("ready\n", stdout);
  std::fflush(stdout);
  for (;;) ::pause();
}
int returns(const std::vector<std::string>&) {
  TELLTALE_SPAN("main");
  TELLTALE_INFO("line");
  return 0;
}

// The child of a fork has a record of its own and dies; the parent's doesn't know of it.
int forks(const std::vector<std::string>&) {
  TELLTALE_SCOPE("job", "job_id"_a = "j9");
  TELLTALE_SPAN("of the parent");
  TELLTALE_INFO("line of the parent");
  telltale::flush();
  const pid_t quiet = ::fork();
  if (quiet == 0) ::_exit(0);
  const pid_t child = ::fork();
  if (child == 0) {
    TELLTALE_SPAN("of the child");
    TELLTALE_INFO("line of the child");
    telltale::flush();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(quiet, &status, 0);
  ::waitpid(child, &status, 0);
  TELLTALE_INFO("another line of the parent");
  telltale::flush();
  ::kill(::getpid(), SIGKILL);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  using scenario = int (*)(const std::vector<std::string>&);
  const std::map<std::string, scenario> scenarios = {{"works", works}, {"starts", starts},   {"aborts", aborts},
                                                     {"hangs", hangs}, {"returns", returns}, {"forks", forks}};
  const std::vector<std::string> words(argv + 1, argv + argc);
  return scenarios.at(words.at(0))({words.begin() + 1, words.end()});
}
