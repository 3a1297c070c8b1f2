// The flight recorder: what a process had recorded is there after it was killed, aborted, or while it hangs.
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <random>

#include "steps.hpp"
#include "support/json_lines.hpp"
#include "support/process.hpp"

using namespace telltale::testing;
using namespace std::chrono_literals;

namespace {

const std::string child = std::string(PROGRAMS) + "core_flight_child";
const std::string command = std::string(PROGRAMS) + "telltale";

std::vector<std::string> files_of(const std::string& directory, const std::string& ending) {
  std::vector<std::string> found;
  for (const auto& at : std::filesystem::directory_iterator(directory)) {
    if (at.path().string().ends_with(ending)) found.push_back(at.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Spans of that name that the process left open.
std::ptrdiff_t count_event(const std::vector<json>& lines, std::string_view event, std::string_view name) {
  return std::count_if(lines.begin(), lines.end(),
                       [&](const json& l) { return l.value("event", "") == event && l.value("span", "") == name; });
}

json lost_span(const std::vector<json>& lines, std::string_view name) {
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const json& l) {
    return l.value("event", "") == "lost" && l.value("span", "") == name;
  });
  return found != lines.end() ? *found : json{};
}

class Flight : public ::testing::Test {
 protected:
  environment settings(const std::string& file, const std::string& options = "") const {
    return {{"TELLTALE_SINKS", "json:" + (dir / file) + "?overflow=block"},
            {"TELLTALE_OVERFLOW", "block"},
            {"TELLTALE_MEMORY", "8MiB"},
            {"TELLTALE_FLIGHT", flights + options}};
  }
  std::vector<json> recover(const std::string& file, std::vector<std::string> more = {"--last", "0"}) const {
    std::vector<std::string> words{"recover", file, "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const ended e = run(command, words);
    EXPECT_EQ(e.code, 0) << e;
    EXPECT_EQ(e.err, "");
    return parse_lines(e.out);
  }
  temporary_directory dir;
  std::string flights = dir / "flights";
};

TEST_F(Flight, AProcessThatEndsProperlyLeavesNoFile) {
  const ended e = run(child, {"returns"}, settings("out.jsonl"));
  EXPECT_EQ(e.code, 0) << e;
  EXPECT_EQ(e.err, "");
  EXPECT_EQ(read_lines(dir / "out.jsonl").size(), 2u);
  EXPECT_TRUE(files_of(flights, "").empty());
}

TEST_F(Flight, AfterAnAbortTheCommandShowsTheLastRecordsAndTheOpenSpans) {
  const ended e = run(child, {"aborts"}, settings("out.jsonl"));
  EXPECT_EQ(e.signal, SIGABRT) << e;
  const auto files = files_of(flights, ".flight");
  ASSERT_EQ(files.size(), 1u);
  struct stat s{};
  ASSERT_EQ(::stat(files[0].c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0600u);

  const auto lines = recover(files[0]);
  EXPECT_EQ(count_message(lines, "about to end"), 1);
  EXPECT_EQ(count_span(lines, "done"), 1);
  EXPECT_EQ(count_event(lines, "lost", "main"), 1);
  EXPECT_EQ(count_event(lines, "lost", "prove"), 1);
  EXPECT_EQ(count_event(lines, "lost", "phase"), 1);
  EXPECT_EQ(lines.size(), 5u);
  const json phase = lost_span(lines, "phase");
  EXPECT_EQ(phase.at("job_id"), "j7");
  EXPECT_EQ(phase.at("status"), "error");
  EXPECT_EQ(phase.at("attributes"), (json{{"points", 12}, {"device", "cpu"}, {"error.type", "lost"}}));
  ASSERT_EQ(phase.at("events").size(), 1u);
  EXPECT_EQ(phase.at("events")[0].at("name"), "retried");
  EXPECT_EQ(phase.at("events")[0].at("attributes").at("attempt"), 2);
  ASSERT_EQ(phase.at("links").size(), 1u);
  EXPECT_EQ(phase.at("links")[0].at("span_id"), "0000000000000007");
  EXPECT_FALSE(phase.contains("incomplete"));
  EXPECT_EQ(phase.at("parent_id"), lost_span(lines, "prove").at("span_id"));
  EXPECT_EQ(phase.at("thread"), "core_flight_chi");

  const ended text = run(command, {"recover", files[0]});
  EXPECT_EQ(text.code, 0) << text;
  EXPECT_EQ(count_of(text.out, "core_flight_child, process "), 1u) << text.out;
  EXPECT_EQ(count_of(text.out, ", is dead"), 1u);
  EXPECT_EQ(count_of(text.out, "3 open spans:\n"), 1u);
  EXPECT_EQ(count_of(text.out, "about to end\n"), 1u);
  EXPECT_EQ(count_of(text.out, " was lost, when its process died, after "), 3u);
  const ended open = run(command, {"recover", files[0], "--open"});
  EXPECT_EQ(count_of(open.out, "about to end\n"), 0u);
  EXPECT_EQ(recover(files[0], {"--last", "1"}).size(), 4u);
}

TEST_F(Flight, TheNextStartExportsWhatIsThereOnceAndKeepsTheFile) {
  run(child, {"aborts"}, settings("first.jsonl"));
  const ended e = run(child, {"starts"}, settings("second.jsonl"));
  EXPECT_EQ(e.code, 0) << e;
  EXPECT_EQ(e.err, "");
  const auto first = read_lines(dir / "first.jsonl");
  const auto second = read_lines(dir / "second.jsonl");
  EXPECT_EQ(count_event(second, "lost", "main"), 1);
  EXPECT_EQ(count_event(second, "lost", "prove"), 1);
  EXPECT_EQ(count_event(second, "lost", "phase"), 1);
  EXPECT_EQ(lost_span(second, "phase").at("job_id"), "j7");
  EXPECT_GE(count_message(first, "about to end") + count_message(second, "about to end"), 1);
  ASSERT_FALSE(second.empty());
  EXPECT_EQ(second[0].at("target"), "telltale");
  EXPECT_EQ(second[0].at("attributes").at("recovered.open_spans"), 3);
  EXPECT_TRUE(files_of(flights, ".flight").empty());
  EXPECT_EQ(files_of(flights, ".kept").size(), 1u);
  EXPECT_EQ(count_event(recover(files_of(flights, ".kept")[0]), "lost", "phase"), 1);

  run(child, {"starts"}, settings("third.jsonl"));
  EXPECT_EQ(contents(dir / "third.jsonl"), "") << "once";
}

TEST_F(Flight, AnotherServicesFilesAreLeftAlone) {
  run(child, {"aborts"}, settings("first.jsonl", "?service=a"));
  run(child, {"starts"}, settings("second.jsonl", "?service=a.b"));
  EXPECT_EQ(contents(dir / "second.jsonl"), "");
  EXPECT_EQ(files_of(flights, ".flight").size(), 1u);
}

TEST_F(Flight, NoMoreThanTheAgreedNumberOfFilesIsKept) {
  for (int i = 0; i < 4; ++i) run(child, {"aborts"}, settings("out.jsonl", "?keep=2"));
  run(child, {"starts"}, settings("out.jsonl", "?keep=2"));
  EXPECT_EQ(files_of(flights, ".kept").size(), 2u);
  EXPECT_EQ(files_of(flights, "").size(), 2u);
  run(child, {"aborts"}, settings("out.jsonl", "?keep=0"));
  run(child, {"starts"}, settings("out.jsonl", "?keep=0"));
  EXPECT_TRUE(files_of(flights, "").empty());
}

TEST_F(Flight, TheChildOfAForkHasARecordOfItsOwnAndOneThatRecordsNothingHasNone) {
  const ended e = run(std::string(PROGRAMS) + "core_flight_fork_child", {"forks"}, settings("out.jsonl"));
  EXPECT_EQ(e.signal, SIGKILL) << e;
  const auto files = files_of(flights, ".flight");
  ASSERT_EQ(files.size(), 2u);
  std::vector<json> all[2] = {recover(files[0]), recover(files[1])};
  std::vector<json>& of_child = count_message(all[0], "line of the child") != 0 ? all[0] : all[1];
  std::vector<json>& of_parent = &of_child == all ? all[1] : all[0];
  EXPECT_EQ(count_message(of_child, "line of the child"), 1);
  EXPECT_EQ(count_message(of_child, "line of the parent"), 0);
  EXPECT_EQ(count_event(of_child, "lost", "of the child"), 1);
  EXPECT_EQ(count_event(of_child, "lost", "of the parent"), 0);
  EXPECT_EQ(of_child.size(), 2u);
  EXPECT_EQ(lost_span(of_child, "of the child").at("job_id"), "j9");
  EXPECT_EQ(count_message(of_parent, "line of the parent"), 1);
  EXPECT_EQ(count_message(of_parent, "another line of the parent"), 1);
  EXPECT_EQ(count_event(of_parent, "lost", "of the parent"), 1);
  EXPECT_EQ(count_event(of_parent, "lost", "job"), 1);
  EXPECT_EQ(of_parent.size(), 4u);
}

TEST_F(Flight, WhereNoFileCanBeMadeItIsSaidAndTheProgramRecordsInPlainMemory) {
  std::ofstream(dir / "a file") << "not a directory";
  environment e = settings("out.jsonl");
  e["TELLTALE_FLIGHT"] = dir / "a file";
  const ended plain = run(child, {"returns"}, e);
  EXPECT_EQ(plain.code, 0) << plain;
  EXPECT_EQ(count_of(plain.err, "TELLTALE_FLIGHT: cannot make"), 1u) << plain.err;
  EXPECT_EQ(read_lines(dir / "out.jsonl").size(), 2u);
  EXPECT_EQ(run(child, {"starts"}, e).code, 3);
  for (const char* bad : {"?keep=2", "DIR?keep=many", "DIR?size=3", "DIR?keep"}) {
    e["TELLTALE_FLIGHT"] = bad;
    const ended started = run(child, {"starts"}, e);
    EXPECT_EQ(started.code, 3) << bad;
    EXPECT_EQ(count_of(started.err, "TELLTALE_FLIGHT: cannot use"), 1u) << started;
  }
}

// A file system of `size`, for one command: exit code 99 where this user may not make one.
std::vector<std::string> on_a_disk_of(const std::string& size, const std::string& directory) {
  return {"-rm", "/bin/sh", "-c",
          "mkdir -p '" + directory + "' && mount -t tmpfs -o size=" + size + " none '" + directory + "' || exit 99; " +
              child + " returns"};
}

TEST_F(Flight, WhereTheDiskIsFullItIsSaidAndTheProgramRecordsInPlainMemory) {
  const ended e = run("/usr/bin/unshare", on_a_disk_of("1m", flights), settings("out.jsonl"));
  if (e.code == 99 || e.err.starts_with("unshare:")) GTEST_SKIP() << "no file system of one's own here: " << e.err;
  EXPECT_EQ(e.code, 0) << e;
  EXPECT_EQ(count_of(e.err, "\n"), 1u) << e.err;
  EXPECT_EQ(count_of(e.err, "No space left on device. Free some space"), 1u) << e.err;
  EXPECT_EQ(read_lines(dir / "out.jsonl").size(), 2u);
}

TEST_F(Flight, WhatIsNoFlightRecordIsRefusedWithTheReason) {
  run(child, {"aborts"}, settings("out.jsonl"));
  const auto files = files_of(flights, ".flight");
  ASSERT_EQ(files.size(), 1u);
  const auto refused = [&](const std::string& file) {
    const ended e = run(command, {"recover", file});
    EXPECT_EQ(e.code, 1) << e;
    return e.err;
  };
  EXPECT_EQ(count_of(refused(dir / "none"), "No such file"), 1u);
  EXPECT_EQ(count_of(refused(dir.path()), "it is no file"), 1u);
  std::ofstream(dir / "short") << "TELLTALE";
  EXPECT_EQ(count_of(refused(dir / "short"), "it has only 8 bytes"), 1u);
  std::ofstream(dir / "other") << std::string(100'000, 'x');
  EXPECT_EQ(count_of(refused(dir / "other"), "it is no flight record"), 1u);
  const auto size = std::filesystem::file_size(files[0]);
  std::filesystem::resize_file(files[0], size - 1);
  EXPECT_EQ(count_of(refused(files[0]), "(truncated?)"), 1u);
  std::filesystem::resize_file(files[0], size);
  {
    std::fstream file(files[0], std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(16);
    file.write("12345678", 8);  // the layout's hash
  }
  EXPECT_EQ(count_of(refused(files[0]), "another version of Telltale"), 1u);

  const ended e = run(child, {"starts"}, settings("second.jsonl"));
  EXPECT_EQ(e.code, 0);
  EXPECT_EQ(count_of(e.err, "another version of Telltale"), 1u) << e.err;
  EXPECT_EQ(files_of(flights, ".kept").size(), 1u) << "left for the version that can read it";
}

// --- processes that run on ----------------------------------------------------------------------------------------

class running_child {
 public:
  running_child(const std::vector<std::string>& words, const environment& extra) {
    std::vector<std::string> variables = child_environment(extra);
    std::vector<char*> argv{const_cast<char*>(child.c_str())};
    std::vector<std::string> copies = words;
    for (std::string& w : copies) argv.push_back(w.data());
    argv.push_back(nullptr);
    std::vector<char*> envp;
    for (std::string& v : variables) envp.push_back(v.data());
    envp.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, ends[1], 1);
    const int failed = ::posix_spawn(&pid_, child.c_str(), &files, nullptr, argv.data(), envp.data());
    ::posix_spawn_file_actions_destroy(&files);
    ::close(ends[1]);
    out_ = ends[0];
    if (failed != 0) throw std::runtime_error("cannot run " + child);
  }
  ~running_child() {
    kill();
    ::close(out_);
  }
  running_child(const running_child&) = delete;
  running_child& operator=(const running_child&) = delete;

  void wait_until_ready() const {
    char c = 0;
    while (::read(out_, &c, 1) == 1 && c != '\n') {
    }
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
  }
  void stop() const { ::kill(pid_, SIGSTOP); }

 private:
  pid_t pid_ = 0;
  int out_ = -1;
};

TEST_F(Flight, AProcessThatHangsIsReadWhileItHangs) {
  running_child c({"hangs"}, settings("out.jsonl"));
  c.wait_until_ready();
  const auto files = files_of(flights, ".flight");
  ASSERT_EQ(files.size(), 1u);
  const auto lines = recover(files[0]);
  EXPECT_EQ(count_event(lines, "open", "stuck"), 1);
  EXPECT_EQ(count_event(lines, "open", "main"), 1);
  EXPECT_EQ(count_message(lines, "about to hang"), 1);
  EXPECT_EQ(line_with(lines, "message", "about to hang").at("recovered"), "drained");
  EXPECT_EQ(lines.size(), 3u);
  EXPECT_EQ(count_of(run(command, {"recover", files[0]}).out, ", is alive"), 1u);
  run(child, {"starts"}, settings("second.jsonl"));
  EXPECT_EQ(contents(dir / "second.jsonl"), "") << "it lives: nothing of it is exported";
}

// --- kill -9 at random moments ------------------------------------------------------------------------------------

class Killed : public Flight {
 protected:
  void SetUp() override {
    const int fd = ::open((dir / "steps").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(::ftruncate(fd, sizeof(shared_steps)), 0);
    void* p = ::mmap(nullptr, sizeof(shared_steps), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    ASSERT_NE(p, MAP_FAILED);
    steps = static_cast<shared_steps*>(p);
  }
  void TearDown() override { ::munmap(steps, sizeof(shared_steps)); }
  shared_steps* steps = nullptr;
};

// Everything one thread left, from its sink's file and from the recovery.
struct left_by_thread {
  std::map<std::uint64_t, int> lines;
  std::map<std::uint64_t, int> inners;
  std::map<std::uint64_t, int> outers;
  std::set<std::uint64_t> open_outers;
  std::set<std::uint64_t> open_inners;
  bool open_late = false;
  int open_jobs = 0;
};

// The lines that are whole; the last write may have been cut by the kill.
std::vector<json> whole_lines(const std::string& path) {
  std::string all = contents(path);
  all.resize(all.rfind('\n') == std::string::npos ? 0 : all.rfind('\n') + 1);
  return parse_lines(all);
}

void check_record(const json& l) {
  EXPECT_TRUE(l.contains("trace_id")) << l;
  EXPECT_EQ(l.at("thread"), "worker " + l.at("attributes").at("thread").dump()) << l;
  EXPECT_EQ(l.at("job_id"), l.at("attributes").at("thread")) << l;
  if (l.value("span", "") == "inner") {
    EXPECT_EQ(l.at("attributes").at("text"), "some text that takes a few words") << l;
  }
  if (l.value("span", "") == "outer" && l.value("event", "") == "complete") {
    EXPECT_EQ(l.at("attributes").at("late"), l.at("attributes").at("n")) << l;
  }
}

TEST_F(Killed, AtAnyMomentNothingFinishedIsMissingNothingIsTornAndOpenSpansAreExact) {
  const char* is_long = std::getenv("TELLTALE_TEST_LONG");
  const int kills = is_long != nullptr ? 200 : 5;
  std::mt19937 random(std::random_device{}());
  std::uint64_t recovered_records = 0;
  for (int k = 0; k < kills; ++k) {
    for (auto& c : steps->of) c.finished = 0;
    const std::string out = "out" + std::to_string(k) + ".jsonl";
    const std::string next = "next" + std::to_string(k) + ".jsonl";
    {
      running_child c({"works", dir / "steps", k % 2 == 0 ? "0" : "50"}, settings(out));
      while (std::any_of(std::begin(steps->of), std::end(steps->of), [](auto& t) { return t.finished == 0; }))
        ::usleep(200);
      ::usleep(std::uniform_int_distribution<useconds_t>(0, k % 2 == 0 ? 8'000 : 40'000)(random));
      c.kill();
    }
    const ended e = run(child, {"starts"}, settings(next));
    ASSERT_EQ(e.code, 0) << e;
    ASSERT_EQ(e.err, "");

    left_by_thread left[working_threads];
    const auto take = [&](const json& l, bool recovered) {
      if (l.value("target", "") == "telltale") return;
      const std::string event = l.value("event", "");
      if (event == "open") return;
      const std::uint64_t thread = l.contains("attributes") && l.at("attributes").contains("thread")
                                       ? l.at("attributes").at("thread").get<std::uint64_t>()
                                       : l.at("job_id").get<std::uint64_t>();
      left_by_thread& t = left[thread];
      const std::string name = l.value("span", "");
      if (event == "lost" && name == "job") {
        ++t.open_jobs;
        return;
      }
      check_record(l);
      const std::uint64_t n = l.at("attributes").at("n");
      if (event == "lost") {
        (name == "outer" ? t.open_outers : t.open_inners).insert(n);
        if (name == "outer") t.open_late = l.at("attributes").contains("late");
        return;
      }
      auto& kind = event.empty() ? t.lines : name == "outer" ? t.outers : t.inners;
      // The sinks' file may have what was handed to them moments before the end; that is said of it.
      if (recovered && kind.contains(n)) {
        EXPECT_EQ(l.at("recovered"), "handed") << l;
        return;
      }
      ++kind[n];
      if (recovered) ++recovered_records;
    };
    for (const json& l : whole_lines(dir / out)) take(l, false);
    for (const json& l : read_lines(dir / next)) take(l, true);

    for (std::uint64_t i = 0; i < working_threads; ++i) {
      // The step after the last one told may have finished too.
      const std::uint64_t told = steps->of[i].finished;
      const state_after least(told);
      const state_after most(told + 1);
      const left_by_thread& t = left[i];
      SCOPED_TRACE("kill " + std::to_string(k) + ", thread " + std::to_string(i) + ", steps " + std::to_string(told));
      const auto all_there = [](const std::map<std::uint64_t, int>& found, std::uint64_t at_least,
                                std::uint64_t at_most) {
        EXPECT_GE(found.size(), at_least);
        EXPECT_LE(found.size(), at_most);
        for (std::uint64_t n = 0; n < at_least; ++n) {
          if (!found.contains(n)) ADD_FAILURE() << n << " is missing";
        }
        for (const auto& [n, times] : found) EXPECT_EQ(times, 1) << n;
      };
      all_there(t.lines, least.lines, most.lines);
      all_there(t.inners, least.inners, most.inners);
      all_there(t.outers, least.outers, most.outers);
      const auto is = [&](const state_after& s) {
        const std::uint64_t n = s.outers;
        return t.open_jobs == (s.job_open ? 1 : 0) &&
               t.open_outers == (s.outer_open ? std::set{n} : std::set<std::uint64_t>{}) &&
               t.open_inners == (s.inner_open ? std::set{n} : std::set<std::uint64_t>{}) &&
               (!s.outer_open || t.open_late == s.late_set);
      };
      EXPECT_TRUE(is(least) || is(most)) << "open: " << t.open_jobs << " jobs, " << t.open_outers.size() << " outers, "
                                         << t.open_inners.size() << " inners";
    }
    if (HasFailure()) break;
    std::filesystem::remove(dir / out);
    std::filesystem::remove(dir / next);
  }
  EXPECT_GT(recovered_records, 0u) << "the kills came too late to find anything";
}

// A reader that looks while the rings are written: never a torn record, whatever it sees.
TEST_F(Killed, WhileItRecordsAReaderSeesNothingTorn) {
  running_child c({"works", dir / "steps", "0"}, settings("out.jsonl"));
  while (steps->of[0].finished < 1000) ::usleep(200);
  const auto files = files_of(flights, ".flight");
  ASSERT_EQ(files.size(), 1u);
  for (int i = 0; i < 5; ++i) {
    std::size_t records = 0;
    for (const json& l : recover(files[0])) {
      if (l.value("span", "") == "job") continue;
      check_record(l);
      ++records;
    }
    EXPECT_GT(records, 0u);
  }
}

}  // namespace
