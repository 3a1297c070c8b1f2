// Beginnings and endings of a process: whatever a program does, what it recorded is there, once, and it ends.
#include <sys/resource.h>

#include "support/json_lines.hpp"
#include "support/process.hpp"

using namespace telltale::testing;
using namespace std::chrono_literals;

namespace {

const std::string child = std::string(PROGRAMS) + "core_child";

// A child with JSON lines into a file, nothing dropped.
struct recorded_child {
  temporary_directory dir;
  ended end;
  std::vector<json> lines;

  explicit recorded_child(const std::string& scenario, environment extra = {}, const std::string& program = child) {
    extra.emplace("TELLTALE_SINKS", "json:" + (dir / "out.jsonl") + "?overflow=block");
    extra.emplace("TELLTALE_OVERFLOW", "block");
    end = run(program, scenario.empty() ? std::vector<std::string>{} : std::vector<std::string>{scenario}, extra);
    lines = read_lines(dir / "out.jsonl");
  }
};

TEST(Endings, ReturnFromMainWritesEverythingWithTheSpanThatMainHeldOpen) {
  const recorded_child c("returns");
  EXPECT_EQ(c.end.code, 0) << c.end;
  EXPECT_EQ(c.end.err, "");
  EXPECT_EQ(count_message(c.lines, "line"), 1000);
  EXPECT_EQ(count_span(c.lines, "root of main"), 1);
  EXPECT_EQ(c.lines.size(), 1001u);
}

TEST(Endings, ExitWritesEverythingAndKeepsItsCode) {
  const recorded_child c("exits");
  EXPECT_EQ(c.end.code, 3) << c.end;
  EXPECT_EQ(count_message(c.lines, "line"), 1000);
}

TEST(Endings, ExitInsideSpansWritesTheLinesUnderThem) {
  const recorded_child c("exits_in_span");
  EXPECT_EQ(c.end.code, 0) << c.end;
  ASSERT_EQ(count_message(c.lines, "line"), 10);
  const json line = line_with(c.lines, "message", "line");
  EXPECT_EQ(line.at("job_id"), "j1");
  EXPECT_EQ(line.at("span"), "inner");
}

TEST(Endings, ExitRightAfterTheLastRecordLosesNoneOfThem) {
  for (int i = 0; i < 20; ++i) {
    const recorded_child c("returns");
    ASSERT_EQ(c.end.code, 0) << c.end;
    ASSERT_EQ(c.lines.size(), 1001u) << "run " << i;
  }
}

TEST(Endings, TextOnStderrIsTheDefaultAndCompleteToo) {
  const ended e = run(child, {"returns"}, {{"TELLTALE_OVERFLOW", "block"}});
  EXPECT_EQ(e.code, 0) << e;
  EXPECT_EQ(count_of(e.err, "\n"), 1001u);
  EXPECT_EQ(count_of(e.err, "INFO  child] line i="), 1000u);
}

TEST(Endings, AProgramThatRecordsNothingWritesNothing) {
  const ended e = run(child, {"nothing"});
  EXPECT_EQ(e.code, 0);
  EXPECT_EQ(e.out + e.err, "");
}

TEST(Endings, AbortAndTerminationDoNotHang) {
  const recorded_child aborted("aborts");
  EXPECT_FALSE(aborted.end.hung);
  EXPECT_EQ(aborted.end.signal, SIGABRT);
  const recorded_child terminated("terminates");
  EXPECT_FALSE(terminated.end.hung);
  EXPECT_EQ(terminated.end.signal, SIGTERM);
}

TEST(Endings, AtExitHandlersRecordInEitherOrder) {
  const recorded_child c("at_exit");
  EXPECT_EQ(c.end.code, 0) << c.end;
  EXPECT_EQ(count_message(c.lines, "handler registered before the first record"), 1);
  EXPECT_EQ(count_message(c.lines, "handler registered after the first record"), 1);
}

TEST(Endings, ThreadLocalDestructorsRecordInEitherOrder) {
  const recorded_child c("thread_locals");
  EXPECT_EQ(c.end.code, 0) << c.end;
  EXPECT_EQ(count_message(c.lines, "last words"), 4);
  EXPECT_EQ(count_span(c.lines, "destroyed"), 4);
  for (const int number : {10, 11, 20, 21}) {
    EXPECT_EQ(
        std::count_if(c.lines.begin(), c.lines.end(),
                      [&](const json& l) { return l.value(json::json_pointer("/attributes/number"), 0) == number; }),
        2)
        << number;
  }
}

TEST(Endings, ARecordingThatAThreadOwnsEndsWithTheThread) {
  const recorded_child c("owned_by_thread");
  EXPECT_EQ(c.end.code, 0) << c.end;
  EXPECT_EQ(count_message(c.lines, "owned"), 1);
}

TEST(Endings, StaticObjectsRecordInBothLinkOrders) {
  for (const char* program : {"core_statics_forwards", "core_statics_backwards"}) {
    const recorded_child c("", {}, std::string(PROGRAMS) + program);
    EXPECT_EQ(c.end.code, 0) << c.end;
    EXPECT_EQ(c.end.err, "");
    EXPECT_EQ(count_message(c.lines, "hello"), 4) << program;
    EXPECT_EQ(count_message(c.lines, "goodbye"), 4) << program;
    EXPECT_EQ(count_span(c.lines, "constructed"), 4) << program;
    EXPECT_EQ(count_span(c.lines, "destroyed"), 4) << program;
  }
}

TEST(Endings, DetachedThreadsMayRecordThroughExit) {
  for (int i = 0; i < 3; ++i) {
    const temporary_directory dir;
    const ended e = run(child, {"detached_threads"},
                        {{"TELLTALE_SINKS", "json:" + (dir / "out.jsonl")},
                         {"TELLTALE_EXIT_TIMEOUT", "5s"},
                         {"TELLTALE_OVERHEAD", i == 0 ? "off" : "1%"},
                         {"TELLTALE_MEMORY", "1MiB"}});  // less to write, and the same race
    ASSERT_FALSE(e.hung);
    ASSERT_EQ(e.code, 0) << e;
    // The last line may be torn where the process ended in the middle of a write; all others are whole.
    std::string text = contents(dir / "out.jsonl");
    text.resize(text.rfind('\n') + 1);
    EXPECT_FALSE(parse_lines(text).empty());
  }
}

TEST(Shutdown, FromEightThreadsInAnyOrderWithRecordsAndRestartsInBetween) {
  const recorded_child c("shutdown_from_everywhere", {{"TELLTALE_OVERFLOW", "drop"}});
  EXPECT_FALSE(c.end.hung);
  EXPECT_EQ(c.end.code, 0) << c.end;
  EXPECT_EQ(count_message(c.lines, "at last"), 1);
}

TEST(Shutdown, TwiceIsHarmlessAndRecordsAfterwardsAreCounted) {
  const recorded_child c("records_after_shutdown");
  EXPECT_EQ(c.end.code, 0) << c.end;
  EXPECT_EQ(c.end.out, "1 1 written=10 shut_down=500 total=500\n");
  EXPECT_EQ(c.lines.size(), 10u);
}

TEST(Shutdown, FlushesThatRaceWithRecordsAllComeBack) {
  const recorded_child c("flush_races");
  EXPECT_FALSE(c.end.hung);
  EXPECT_EQ(c.end.code, 0) << c.end;
  EXPECT_EQ(count_message(c.lines, "mine"), 2000);
}

TEST(Shutdown, OfASinkThatHangsComesBackAndSaysSo) {
  const ended e = run(child, {"sink_hangs"}, {{"TELLTALE_SINKS", "none"}, {"TELLTALE_EXIT_TIMEOUT", "200ms"}});
  EXPECT_FALSE(e.hung);
  EXPECT_EQ(e.code, 0);
  EXPECT_EQ(e.out, "flushed=0 after at least 200 ms: 1\ncomplete=0\n");
}

TEST(Shutdown, OfAHangingSinkAtExitIsBoundedAndSaidOnce) {
  const ended e =
      run(child, {"sink_hangs_until_exit"}, {{"TELLTALE_SINKS", "none"}, {"TELLTALE_EXIT_TIMEOUT", "200ms"}});
  EXPECT_FALSE(e.hung);
  EXPECT_EQ(e.code, 0);
  EXPECT_EQ(count_of(e.err, "exit did not wait any longer for a sink"), 1u) << e;
}

TEST(Shutdown, WithAPipeThatNobodyReadsNeitherHangsNorStallsAnotherSink) {
  const temporary_directory dir;
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const ended e = run(child, {"pipe_is_full"},
                      {{"TELLTALE_SINKS", "text:stderr; json:" + (dir / "out.jsonl")},
                       {"TELLTALE_OVERFLOW", "block"},
                       {"TELLTALE_EXIT_TIMEOUT", "500ms"},
                       // The drain may be left behind at exit; a report of that would wait at the full pipe for ever.
                       {"TSAN_OPTIONS", "report_thread_leaks=0"}},
                      {.err = ends[1]});
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_FALSE(e.hung);
  EXPECT_EQ(e.code, 0);
  EXPECT_EQ(read_lines(dir / "out.jsonl").size(), 2000u);
}

TEST(Signals, InterruptNothingAndAreTheProgramsOwn) {
  const recorded_child c("is_interrupted", {{"TELLTALE_RING", "64KiB"}});
  EXPECT_FALSE(c.end.hung);
  EXPECT_EQ(c.end.code, 0) << c.end;
  EXPECT_EQ(c.end.err, "");
  EXPECT_EQ(c.end.out, "taken=0 produced=" + std::to_string(c.lines.size()) + "\n");
  EXPECT_GE(count_message(c.lines, "line"), 20'000);
}

TEST(FirstUse, FromSixtyFourThreadsStartsOneDrain) {
  const recorded_child c("first_use_from_many_threads");
  EXPECT_EQ(c.end.code, 0) << c.end;
  EXPECT_EQ(c.end.out, "drains=1\n");
  EXPECT_EQ(count_message(c.lines, "first"), 64);
}

TEST(FirstUse, OfASiteWhileAFilterChangesLeavesNoStaleAnswer) {
  for (int i = 0; i < 5; ++i) {
    const recorded_child c("first_hit_races_with_filter");
    ASSERT_EQ(c.end.code, 0) << c.end;
    std::set<int> seen;
    bool on = false;
    for (const json& l : c.lines) {
      on = on || l.at("message") == "switched on";
      if (l.at("message") != "switched on") seen.insert(l.at("attributes").at("n").get<int>());
    }
    EXPECT_TRUE(on);
    EXPECT_EQ(seen.size(), 200u);
  }
}

TEST(FirstUse, RacesWithStart) {
  const ended e = run(child, {"start_races_with_records"}, {{"TELLTALE_SINKS", "none"}});
  EXPECT_FALSE(e.hung);
  EXPECT_EQ(e.code, 0) << e;
}

// --- bad environment ----------------------------------------------------------------------------------------------

struct bad_variable {
  const char* name;
  const char* value;
  std::vector<std::string> said;
};
std::vector<bad_variable> bad_variables() {
  return {
      {"TELLTALE_LOG", "inof", {"TELLTALE_LOG", "\"inof\"", "off, error, warn, info, debug, trace"}},
      {"TELLTALE_TRACE", "x=y", {"TELLTALE_TRACE", "\"y\"", "off, error, warn, info, debug, trace"}},
      {"RUST_LOG", "a=b", {"RUST_LOG", "\"b\"", "off, error, warn, info, debug, trace"}},
      {"TELLTALE_SINKS", "nonsense:x", {"TELLTALE_SINKS", "nonsense", "text, json, rolling"}},
      {"TELLTALE_SINKS", "json:/no/such/dir/x", {"TELLTALE_SINKS", "/no/such/dir/x", "directory exists"}},
      {"TELLTALE_SINKS", "text:stderr?colour=on", {"TELLTALE_SINKS", "colour", "color, ids, spans, overflow, pending"}},
      {"TELLTALE_SINKS", "text:stderr?color=on", {"TELLTALE_SINKS", "\"on\"", "auto, always, never"}},
      {"TELLTALE_SINKS", "json", {"TELLTALE_SINKS", "json", "needs a target"}},
      {"TELLTALE_RING", "3x", {"TELLTALE_RING", "\"3x\"", "KiB"}},
      {"TELLTALE_RING", "100000", {"TELLTALE_RING", "100000", "power of two from 64KiB to 1GiB"}},
      {"TELLTALE_MEMORY", "-1", {"TELLTALE_MEMORY", "\"-1\"", "KiB"}},
      {"TELLTALE_MEMORY", "64KiB", {"TELLTALE_MEMORY", "65536", "at least one must fit"}},
      {"TELLTALE_OVERFLOW", "maybe", {"TELLTALE_OVERFLOW", "\"maybe\"", "drop", "block"}},
      {"TELLTALE_EXIT_TIMEOUT", "2", {"TELLTALE_EXIT_TIMEOUT", "\"2\"", "ms, s, m or h"}},
      {"TELLTALE_BAGGAGE", "job id", {"TELLTALE_BAGGAGE", "\"job id\"", "is no key"}},
      {"TELLTALE_OVERHEAD", "lots", {"TELLTALE_OVERHEAD", "\"lots\"", "%", "off"}},
      {"TELLTALE_MAX_SERIES", "1", {"TELLTALE_MAX_SERIES", "1", "2 to 1048576"}},
      {"TELLTALE_FLIGHT", "?keep=2", {"TELLTALE_FLIGHT", "\"?keep=2\"", "names no directory"}},
      {"OTEL_TRACES_SAMPLER", "often", {"OTEL_TRACES_SAMPLER", "\"often\"", "always_on"}},
      {"TRACING_ENABLED", "yes", {"TRACING_ENABLED", "\"yes\"", "true"}},
      {"TELLTALE_CLOCK", "sundial", {"TELLTALE_CLOCK", "\"sundial\"", "tsc", "monotonic"}},
  };
}

TEST(BadEnvironment, IsAnErrorOfStartThatNamesVariableValueAndWhatMayStandThere) {
  for (const bad_variable& v : bad_variables()) {
    const ended e = run(child, {"says_error"}, {{v.name, v.value}});
    EXPECT_EQ(e.code, 3) << v.name << "=" << v.value << ": " << e;
    EXPECT_EQ(count_of(e.out, "\n"), 1u) << e.out;
    for (const std::string& part : v.said) EXPECT_NE(e.out.find(part), std::string::npos) << part << " in " << e.out;
  }
}

TEST(BadEnvironment, IsOneLineOnStderrAndTheDefaultWhereNobodyCallsStart) {
  for (const bad_variable& v : bad_variables()) {
    const ended e = run(child, {"exits_in_span"}, {{v.name, v.value}});
    EXPECT_EQ(e.code, 0) << v.name << "=" << v.value << ": " << e;
    EXPECT_EQ(count_of(e.err, "telltale: " + std::string(v.name)), 1u) << e.err;
    EXPECT_EQ(count_of(e.err, "telltale: "), 1u) << e.err;
    EXPECT_EQ(count_of(e.err, "INFO  child] inner{job_id=\"j1\"}: line i="), 10u) << e.err;
  }
}

TEST(BadEnvironment, NamesTheVariableThatASlipMeant) {
  const std::pair<const char*, const char*> slips[] = {
      {"TELLTALE_LOGS", "TELLTALE_LOG"},          {"TELLTALE_TRCAE", "TELLTALE_TRACE"},
      {"TELLTALE_LOG_LEVEL", "TELLTALE_LOG"},     {"TELLTALE_SINK", "TELLTALE_SINKS"},
      {"TELLTALE_OVERHAED", "TELLTALE_OVERHEAD"}, {"TELLTALE_EXITTIMEOUT", "TELLTALE_EXIT_TIMEOUT"}};
  for (const char* scenario : {"exits_in_span", "says_error"}) {  // without and with start()
    for (const auto& [slip, meant] : slips) {
      const ended e = run(child, {scenario}, {{slip, "off"}});
      EXPECT_EQ(e.code, 0) << e;
      const std::string said =
          "telltale: " + std::string(slip) + " is no variable that anything reads. Did you mean " + meant + "?\n";
      EXPECT_EQ(count_of(e.err, said), 1U) << e;
    }
  }
}

TEST(BadEnvironment, LeavesOtherProgramsVariablesAlone) {
  const ended e = run(child, {"exits_in_span"},
                      {{"TELLTALE_LOG", "off"},
                       {"TELLTALE_HUB", "http://localhost:4318"},
                       {"TELLTALE_TOKEN", "x"},
                       {"TELLTALE_CLICKHOUSE_PASSWORD", "x"},
                       {"TELLTALE_PROVER_KERNELS", "portable"},
                       {"TELLTALE_LIBRARY", "x"},
                       {"TELLTALE_LIB_DIR", "x"},
                       {"TELLTALE_TEST_LONG", "1"},
                       {"TELLTALE_KILLS", "5"}});
  EXPECT_EQ(e.err, "") << e;
}

TEST(BadEnvironment, LeavesWhatWasGoodInForce) {
  // Given a sink that is nonsense beside a filter and a size that are not
  const ended e = run(child, {"exits_in_span"}, {{"TELLTALE_SINKS", "nonsense:x"}, {"TELLTALE_LOG", "off"}});
  EXPECT_EQ(count_of(e.err, "\n"), 1u) << e;
  EXPECT_EQ(count_of(e.err, "telltale: TELLTALE_SINKS"), 1u) << e;
}

TEST(BadEnvironment, DoesNotMindEmptyVariablesAndSpaces) {
  const temporary_directory dir;
  const ended e = run(child, {"says_error"},
                      {{"TELLTALE_LOG", ""},
                       {"TELLTALE_TRACE", " info , x::y = debug "},
                       {"TELLTALE_SINKS", " json:" + (dir / "o.jsonl") + " ; none "},
                       {"TELLTALE_RING", "128 KiB"}});
  EXPECT_EQ(e.code, 0) << e;
  EXPECT_EQ(read_lines(dir / "o.jsonl").size(), 1u);
}

}  // namespace
