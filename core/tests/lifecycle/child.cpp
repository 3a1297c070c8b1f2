// One program with many endings: `child SCENARIO` does what lifecycle_test.cpp expects of it. Where records go is
// said by TELLTALE_SINKS.
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <telltale/core/metric_snapshot.hpp>
#include <telltale/core/sink.hpp>
#include <telltale/core/telltale.hpp>
#include <thread>
#include <utility>
#include <vector>

TELLTALE_MODULE("child");
using namespace telltale::literals;
using namespace std::chrono_literals;

namespace {

void record(int lines) {
  for (int i = 0; i < lines; ++i) TELLTALE_INFO("line", "i"_a = i);
}

int wait_for_child(pid_t pid) {
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid) return -1;
  if (WIFSIGNALED(status)) std::fprintf(stderr, "the forked child died of signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

// --- endings ------------------------------------------------------------------------------------------------------

int returns() {
  TELLTALE_SPAN("root of main");
  record(1000);
  return 0;
}

int exits() {
  record(1000);
  std::exit(3);
}

int exits_in_span() {
  TELLTALE_SPAN("outer");
  {
    TELLTALE_SCOPE("inner", "job_id"_a = "j1");
    record(10);
    std::exit(0);
  }
}

int aborts() {
  record(10);
  std::abort();
}

int terminates() {
  record(10);
  ::raise(SIGTERM);
  return 1;
}

void say_early() {
  TELLTALE_INFO("handler registered before the first record");
}
void say_late() {
  TELLTALE_INFO("handler registered after the first record");
}
int at_exit() {
  std::atexit(say_early);
  TELLTALE_INFO("first");
  std::atexit(say_late);
  return 0;
}

struct speaks_when_destroyed {
  int number = 0;
  ~speaks_when_destroyed() {
    TELLTALE_SPAN("destroyed", "number"_a = number);
    TELLTALE_INFO("last words", "number"_a = number);
  }
};
thread_local speaks_when_destroyed before_record;
thread_local speaks_when_destroyed after_record;
int thread_locals() {
  const auto body = [](int first) {
    before_record.number = first;  // constructed before this thread's first record …
    TELLTALE_INFO("in between");
    after_record.number = first + 1;  // … and after it
  };
  std::thread([&] { body(10); }).join();
  body(20);
  return 0;
}

// A thread_local object that owns the recording: its end must not hang the thread's.
struct owner {
  bool used = false;
  ~owner() {
    if (used) telltale::shutdown();  // all thread_locals of a file are made together
  }
};
thread_local owner owning;
int owned_by_thread() {
  std::thread([] {
    owning.used = true;
    TELLTALE_INFO("owned");
  }).join();
  return 0;
}

int detached_threads() {
  static std::atomic<int>& count = *new std::atomic<int>{0};
  for (int t = 0; t < 3; ++t) {
    std::thread([] {
      for (std::uint64_t i = 0;; ++i) {
        if (i == 1) ++count;  // the first one is recorded
        TELLTALE_SPAN("endless", "i"_a = i);
        TELLTALE_SCOPE("endless scope", "i"_a = i);
        if (i % 64 == 0) TELLTALE_INFO("still here");
      }
    }).detach();
  }
  while (count < 3) std::this_thread::yield();
  std::this_thread::sleep_for(2ms);
  return 0;
}

int nothing() {
  return 0;
}

int says_error() {
  if (const auto started = telltale::start(); !started) {
    std::printf("%s\n", started.error().message.c_str());
    return 3;
  }
  record(1);
  return 0;
}

// --- shutdown and flush -------------------------------------------------------------------------------------------

int shutdown_from_everywhere() {
  std::vector<std::thread> all;
  for (unsigned t = 0; t < 8; ++t) {
    all.emplace_back([t] {
      std::minstd_rand random(t + 1);
      for (int i = 0; i < 300; ++i) {
        TELLTALE_INFO("busy");
        const auto what = random() % 4;
        if (what == 0) telltale::shutdown(100ms);
        if (what == 1) telltale::flush(100ms);
        if (what == 2) (void)telltale::start();
      }
    });
  }
  for (auto& t : all) t.join();
  if (!telltale::start()) return 1;
  TELLTALE_INFO("at last");
  return telltale::shutdown().complete ? 0 : 2;
}

int records_after_shutdown() {
  record(10);
  const bool first = telltale::shutdown().complete;
  const bool again = telltale::shutdown().complete;
  record(500);
  const auto s = telltale::stats();
  std::printf("%d %d written=%llu shut_down=%llu total=%llu\n", first ? 1 : 0, again ? 1 : 0,
              static_cast<unsigned long long>(s.written),
              static_cast<unsigned long long>(s.dropped[static_cast<int>(telltale::drop_reason::shut_down)]),
              static_cast<unsigned long long>(s.dropped_total()));
  return 0;
}

int flush_races() {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      TELLTALE_INFO("noise");
      std::this_thread::sleep_for(50us);  // every flush writes what was made meanwhile
    }
  });
  int late = 0;
  for (int i = 0; i < 2000; ++i) {
    TELLTALE_INFO("mine");
    if (!telltale::flush(20s)) ++late;
  }
  stop = true;
  other.join();
  return late == 0 ? 0 : 1;
}

// A sink of the program's own that never comes back.
struct hanging final : telltale::sink {
  void on_log(const telltale::log_view&) override {
    for (;;) std::this_thread::sleep_for(1h);
  }
};
int sink_hangs() {
  telltale::add_sink(std::make_shared<hanging>());
  record(10);
  const auto from = std::chrono::steady_clock::now();
  const bool flushed = telltale::flush(200ms);
  const auto took = std::chrono::steady_clock::now() - from;
  std::printf("flushed=%d after at least 200 ms: %d\n", flushed ? 1 : 0, took >= 200ms ? 1 : 0);
  const auto report = telltale::shutdown(200ms);
  std::printf("complete=%d\n", report.complete ? 1 : 0);
  return 0;
}
int sink_hangs_until_exit() {
  telltale::add_sink(std::make_shared<hanging>());
  record(10);
  return 0;
}

// Text to a pipe that nobody reads, much more than it holds.
int pipe_is_full() {
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 100; ++i) TELLTALE_INFO("a line that fills the pipe little by little, and nobody reads it");
    telltale::flush(20ms);
  }
  return 0;
}

// --- signals ------------------------------------------------------------------------------------------------------

// A timer interrupts this thread all the time, also where it waits for room in its ring; and no thread of the library
// takes a signal that the program keeps for itself.
int is_interrupted() {
  static std::atomic<int> ticks{0};
  static std::atomic<int> taken{0};
  ::signal(SIGALRM, [](int) { ++ticks; });
  ::signal(SIGUSR1, [](int) { ++taken; });
  const itimerval often{{0, 500}, {0, 500}};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  record(20'000);
  while (ticks < 20) record(1000);
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);

  sigset_t mine;
  ::sigemptyset(&mine);
  ::sigaddset(&mine, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &mine, nullptr);
  for (int i = 0; i < 50; ++i) {
    ::kill(::getpid(), SIGUSR1);
    telltale::flush();
    const timespec at_once{};
    if (::sigtimedwait(&mine, nullptr, &at_once) != SIGUSR1) return 1;
  }
  std::printf("taken=%d produced=%llu\n", taken.load(), static_cast<unsigned long long>(telltale::stats().written));
  return 0;
}

// --- fork ---------------------------------------------------------------------------------------------------------

int forks(bool plain_exit) {
  for (int i = 0; i < 10; ++i) TELLTALE_INFO("of the parent");
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (int i = 0; i < 5; ++i) TELLTALE_INFO("of the child");
    if (plain_exit) std::exit(0);
    const bool flushed = telltale::flush();
    ::_exit(flushed ? 0 : 9);
  }
  TELLTALE_INFO("of the parent");
  return wait_for_child(pid);
}

int forks_under_spans() {
  pid_t pid = 0;
  {
    TELLTALE_SCOPE("job", "job_id"_a = "j7");
    TELLTALE_SPAN("open at fork");
    pid = ::fork();
    if (pid == 0) TELLTALE_SPAN("child's own");
  }
  {
    TELLTALE_SPAN_AS(s, info, "after");
    s.set("who"_a = telltale::text{pid == 0 ? "child" : "parent"});
  }
  if (pid == 0) std::exit(0);
  return wait_for_child(pid);
}

int forks_again() {
  TELLTALE_INFO("of the parent");
  const pid_t pid = ::fork();
  if (pid == 0) {
    TELLTALE_INFO("of the child");
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      TELLTALE_INFO("of the grandchild");
      std::exit(0);
    }
    TELLTALE_INFO("of the child");
    std::exit(wait_for_child(grandchild));
  }
  return wait_for_child(pid);
}

// Other threads hold whatever locks there are while this one forks.
int forks_amid_threads() {
  std::atomic<bool> stop{false};
  std::vector<std::thread> all;
  all.emplace_back([&] {
    while (!stop) {
      TELLTALE_SCOPE("busy", "n"_a = 1);
      TELLTALE_INFO("busy");
      std::this_thread::sleep_for(500us);  // a mutex is not fair: without rests the fork would wait for ever
    }
  });
  all.emplace_back([&] {
    while (!stop) {
      telltale::flush();
      (void)telltale::stats();
      std::this_thread::sleep_for(500us);
    }
  });
  all.emplace_back([&] {
    while (!stop) {
      (void)telltale::set_log_filter("info");
      std::thread([] { TELLTALE_INFO("short-lived"); }).join();
      std::this_thread::sleep_for(500us);
    }
  });
  int failed = 0;
  for (int i = 0; i < 20; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      TELLTALE_SCOPE("work", "number"_a = i);
      TELLTALE_INFO("of a child");
      std::exit(0);
    }
    if (wait_for_child(pid) != 0) ++failed;
  }
  stop = true;
  for (auto& t : all) t.join();
  return failed;
}

// What the child counts is its own, whatever other threads were doing to the metrics when it was forked.
int forks_amid_metrics() {
  static constinit telltale::counter counted{"child.counted", "in this process"};
  static constinit telltale::gauge set{"child.set", "in this process"};
  static constinit telltale::exponential_histogram sizes{"child.sizes", "in this process"};
  std::atomic<bool> stop{false};
  std::vector<std::thread> all;
  for (int t = 0; t < 2; ++t) {
    all.emplace_back([&, t] {
      for (int i = 0; !stop; ++i) {
        counted.add(1, "thread"_a = t, "i"_a = i % 1000);  // makes series
        counted.add();
        sizes.record(i % 2 == 0 ? i : 1.0 / (i + 1));
        if (i % 64 == 0) std::this_thread::sleep_for(50us);
      }
    });
  }
  all.emplace_back([&] {
    while (!stop) {
      (void)telltale::snapshot_metrics();
      std::thread([] { counted.add(); }).join();
      std::this_thread::sleep_for(50us);
    }
  });
  set.set(7);
  counted.add(3);
  int failed = 0;
  for (int i = 0; i < 60; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const bool clean = counted.value() == 0 && set.with().value() == 0;
      counted.add(5);
      counted.add(2, "thread"_a = 0, "i"_a = 1);
      std::thread([] { sizes.record(4); }).join();
      std::int64_t sum = 0;
      std::uint64_t recorded = 0;
      for (const telltale::metric& m : telltale::snapshot_metrics().metrics) {
        if (m.name == "child.counted") {
          for (const auto& p : m.numbers) sum += std::get<std::int64_t>(p.value);
        }
        for (const auto& p : m.exponentials) recorded += p.count;
      }
      std::exit(clean && sum == 7 && recorded == 1 ? 0 : 1);
    }
    if (wait_for_child(pid) != 0) ++failed;
  }
  stop = true;
  for (auto& t : all) t.join();
  return failed + (counted.value() >= 3 && set.with().value() == 7 ? 0 : 100);
}

// A child that only becomes another program: no thread of ours in it, nothing recorded twice.
int forks_and_execs() {
  TELLTALE_INFO("of the parent");
  telltale::flush();
  const pid_t pid = ::fork();
  if (pid == 0) {
    std::size_t threads = 0;
    for ([[maybe_unused]] const auto& t : std::filesystem::directory_iterator("/proc/self/task")) ++threads;
    if (threads != 1) ::_exit(7);
    ::execl("/proc/self/exe", "child", "returns", static_cast<char*>(nullptr));
    ::_exit(8);
  }
  return wait_for_child(pid);
}

// --- first use ----------------------------------------------------------------------------------------------------

std::size_t threads_named(std::string_view name) {
  std::size_t n = 0;
  for (const auto& t : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(t.path() / "comm");
    std::string comm;
    std::getline(file, comm);
    if (comm == name) ++n;
  }
  return n;
}

int first_use_from_many_threads() {
  std::atomic<bool> go{false};
  std::vector<std::thread> all;
  for (int t = 0; t < 64; ++t) {
    all.emplace_back([&] {
      while (!go) std::this_thread::yield();
      TELLTALE_INFO("first");
    });
  }
  go = true;
  for (auto& t : all) t.join();
  telltale::flush();
  const std::size_t drains = threads_named("telltale");
  std::printf("drains=%zu\n", drains);
  return drains == 1 ? 0 : 1;
}

template <int N>
void site_number() {
  TELLTALE_INFO("site {n}", "n"_a = N);
}
template <int... N>
constexpr auto sites_of(std::integer_sequence<int, N...>) {
  return std::array<void (*)(), sizeof...(N)>{&site_number<N>...};
}
// Sites are hit for the first time while the filter goes on: none may keep a stale "off".
int first_hit_races_with_filter() {
  constexpr auto sites = sites_of(std::make_integer_sequence<int, 200>{});
  if (!telltale::set_log_filter("off")) return 1;
  std::atomic<std::size_t> at{0};
  std::thread hits([&] {
    for (const auto& s : sites) {
      s();
      ++at;
    }
  });
  while (at < 50) std::this_thread::yield();
  if (!telltale::set_log_filter("info")) return 2;
  TELLTALE_INFO("switched on");
  hits.join();
  for (const auto& s : sites) s();
  return 0;
}

// start() with other options while threads record for the first time.
int start_races_with_records() {
  std::atomic<bool> stop{false};
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t) {
    all.emplace_back([&] {
      while (!stop) {
        std::thread([] { TELLTALE_INFO("short-lived"); }).join();
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    if (!telltale::start()) return 1;
  }
  stop = true;
  for (auto& t : all) t.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<int()>> scenarios{
      {"returns", returns},
      {"exits", exits},
      {"exits_in_span", exits_in_span},
      {"aborts", aborts},
      {"terminates", terminates},
      {"at_exit", at_exit},
      {"thread_locals", thread_locals},
      {"owned_by_thread", owned_by_thread},
      {"detached_threads", detached_threads},
      {"nothing", nothing},
      {"says_error", says_error},
      {"shutdown_from_everywhere", shutdown_from_everywhere},
      {"records_after_shutdown", records_after_shutdown},
      {"flush_races", flush_races},
      {"sink_hangs", sink_hangs},
      {"sink_hangs_until_exit", sink_hangs_until_exit},
      {"pipe_is_full", pipe_is_full},
      {"is_interrupted", is_interrupted},
      {"forks_exit", [] { return forks(true); }},
      {"forks_flush", [] { return forks(false); }},
      {"forks_under_spans", forks_under_spans},
      {"forks_again", forks_again},
      {"forks_amid_threads", forks_amid_threads},
      {"forks_amid_metrics", forks_amid_metrics},
      {"forks_and_execs", forks_and_execs},
      {"first_use_from_many_threads", first_use_from_many_threads},
      {"first_hit_races_with_filter", first_hit_races_with_filter},
      {"start_races_with_records", start_races_with_records},
  };
  const auto found = argc == 2 ? scenarios.find(argv[1]) : scenarios.end();
  if (found == scenarios.end()) {
    std::fprintf(stderr, "usage: child SCENARIO\n");
    return 64;
  }
  return found->second();
}
