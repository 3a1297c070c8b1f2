// dlopen: however many libraries bring Telltale along, there is one instance.
#include "support/json_lines.hpp"
#include "support/process.hpp"

using namespace telltale::testing;

namespace {

const std::string plugin_a = std::string(PLUGINS) + "libcore_plugin_a.so";
const std::string plugin_b = std::string(PLUGINS) + "libcore_plugin_b.so";

std::vector<json> run_host(const std::string& host) {
  const temporary_directory dir;
  const std::string file = dir / "out.jsonl";
  const ended e = run(std::string(PROGRAMS) + host, {plugin_a, plugin_b}, {{"TELLTALE_SINKS", "json:" + file}});
  EXPECT_FALSE(e.hung);
  EXPECT_EQ(e.code, 0) << e;
  EXPECT_EQ(e.err, "");
  return read_lines(file);
}

// Both libraries in one output, one inside the other's span, three times over.
void expect_one_instance(const std::vector<json>& lines) {
  EXPECT_EQ(count_message(lines, "spoken"), 6);
  EXPECT_EQ(count_message(lines, "from a thread of it"), 6);
  EXPECT_EQ(count_span(lines, "speak"), 6);
  int nested = 0;
  for (const json& inner : lines) {
    if (inner.value("event", "") != "complete" || inner.value("plugin", "") != "plugin_b") continue;
    const json outer = line_with(lines, "span_id", inner.value("parent_id", ""));
    ASSERT_FALSE(outer.is_null()) << inner;
    const json ended = [&] {
      for (const json& l : lines) {
        if (l.value("event", "") == "complete" && l.at("span_id") == inner.at("parent_id")) return l;
      }
      return json{};
    }();
    EXPECT_EQ(ended.value("plugin", ""), "plugin_a");
    ++nested;
  }
  EXPECT_EQ(nested, 3);
}

TEST(Dlopen, TwoLibrariesInAProgramThatUsesItShareOneInstance) {
  const auto lines = run_host("core_host_linked");
  expect_one_instance(lines);
  EXPECT_EQ(count_message(lines, "after dlclose"), 3);
  EXPECT_EQ(count_span(lines, "host"), 3);
}

TEST(Dlopen, TwoLibrariesInAProgramThatDoesNotShareOneInstanceToo) {
  expect_one_instance(run_host("core_host_plain"));
}

TEST(Dlopen, ALibraryThatWasClosedAndRecordedStaysMappedUntilExit) {
  // Its descriptions are still named by records; its static objects therefore end at exit, and are heard.
  for (const char* host : {"core_host_linked", "core_host_plain"}) {
    const auto lines = run_host(host);
    EXPECT_EQ(count_message(lines, "unloaded"), 2) << host;
  }
}

TEST(Dlopen, AConstructorThatRecordsDoesNotLockUpWithAFirstRecordElsewhere) {
  const temporary_directory dir;
  const std::string file = dir / "out.jsonl";
  const ended e = run(std::string(PROGRAMS) + "core_slow_host", {std::string(PLUGINS) + "libcore_slow_plugin.so"},
                      {{"TELLTALE_SINKS", "json:" + file}}, {.limit = std::chrono::seconds(20)});
  EXPECT_FALSE(e.hung);
  EXPECT_EQ(e.code, 0) << e;
  const auto lines = read_lines(file);
  EXPECT_EQ(count_message(lines, "from a constructor under the loader's lock"), 1);
  EXPECT_EQ(count_message(lines, "first record of the program"), 1);
}

}  // namespace
