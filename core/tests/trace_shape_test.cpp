// The shape of a trace never depends on the log filter, and a span that is off passes its parent on.
#include <map>
#include <thread>

#include "recorded.hpp"

TELLTALE_MODULE("shape");

using namespace telltale::literals;
using telltale::testing::named;
using telltale::testing::recorded;

namespace below {
TELLTALE_MODULE("shape::below");
void work() {
  TELLTALE_DEBUG_SPAN("middle");
  TELLTALE_DEBUG("in the middle");
  TELLTALE_SPAN("leaf");
  TELLTALE_INFO("at the leaf");
}
}  // namespace below

namespace {

// "name<parent's name", in order of name: ids differ from run to run, the shape doesn't.
std::vector<std::string> shape(const std::vector<telltale::trace_span>& spans) {
  std::map<std::uint64_t, std::string> names;
  for (const auto& s : spans) names[s.id.value] = s.name;
  std::vector<std::string> out;
  for (const auto& s : spans) {
    out.push_back(s.name + "<" + (s.parent ? names.contains(s.parent.value) ? names[s.parent.value] : "?" : ""));
  }
  std::sort(out.begin(), out.end());
  return out;
}

void program() {
  TELLTALE_SCOPE("job", "job_id"_a = "j");
  TELLTALE_SPAN("top");
  TELLTALE_TRACE("a line of each level");
  TELLTALE_DEBUG("d");
  TELLTALE_INFO("i");
  TELLTALE_WARN("w");
  TELLTALE_ERROR("e");
  std::thread(telltale::bind([] { below::work(); })).join();
}

std::vector<std::string> shape_under(const char* trace, const char* log) {
  recorded r(telltale::options{.log = log, .trace = trace});
  program();
  return shape(r.spans());
}

TEST(TraceShape, IsTheSameUnderEveryLogLevel) {
  for (const char* trace : {"info", "debug", "trace"}) {
    const auto expected = shape_under(trace, "info");
    EXPECT_EQ(expected.size(), trace == std::string("info") ? 3u : 4u);
    for (const char* log : {"off", "error", "warn", "info", "debug", "trace", "shape::below=off,trace"}) {
      EXPECT_EQ(shape_under(trace, log), expected) << "log filter " << log;
    }
  }
}

TEST(TraceShape, ASpanThatIsOffPassesItsParentOn) {
  EXPECT_EQ(shape_under("info", "info"), (std::vector<std::string>{"job<", "leaf<top", "top<job"}));
  EXPECT_EQ(shape_under("debug", "info"), (std::vector<std::string>{"job<", "leaf<middle", "middle<top", "top<job"}));
  EXPECT_EQ(shape_under("info,shape=off,shape::below=debug", "info"),
            (std::vector<std::string>{"leaf<middle", "middle<"}));
}

TEST(TraceShape, FiltersOfARunningProcessTakeEffectAtOnce) {
  recorded r(telltale::options{.log = "off", .trace = "off"});
  const auto once = [] {
    TELLTALE_SPAN("toggled");
    TELLTALE_INFO("toggled");
  };
  once();
  ASSERT_TRUE(telltale::set_trace_filter("shape=info"));
  once();
  ASSERT_TRUE(telltale::set_log_filter("shape=info"));
  once();
  ASSERT_TRUE(telltale::set_trace_filter("off"));
  once();
  EXPECT_EQ(r.spans().size(), 2u);
  EXPECT_EQ(r.lines().size(), 2u);
  EXPECT_EQ(telltale::log_filter(), "shape=info");
  EXPECT_EQ(telltale::trace_filter(), "off");
}

TEST(TraceShape, ABadDirectiveChangesNothing) {
  recorded r(telltale::options{.log = "warn"});
  const auto refused = telltale::set_log_filter("shape=loud");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("loud"), std::string::npos);
  EXPECT_EQ(telltale::log_filter(), "warn");
}

TEST(TraceShape, NoSiteKeepsAStaleAnswerWhenItsFirstHitRacesWithTheFilter) {
  for (int round = 0; round < 30; ++round) {
    recorded r(telltale::options{.trace = "off"});
    std::thread enable([] { (void)telltale::set_trace_filter("info"); });
    std::thread hit([] { TELLTALE_SPAN("racing"); });
    enable.join();
    hit.join();
    (void)r.spans();
    {
      TELLTALE_SPAN("racing");  // the filter is in force: every site must record now
    }
    EXPECT_EQ(r.spans().size(), 1u);
  }
}

}  // namespace
