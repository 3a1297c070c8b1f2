// Lines whose module is known only at run time.
#include <telltale/core/foreign_log.hpp>

#include "recorded.hpp"

using namespace telltale::literals;
using telltale::log_source;
using telltale::testing::recorded;

namespace {

TEST(LogSource, RecordsALineUnderTheCurrentSpanWithWhatIsKnownOfIt) {
  recorded r;
  const log_source cuda{"cuda"};
  {
    TELLTALE_SCOPE("job", "job_id"_a = 7);
    TELLTALE_SPAN("launch");
    cuda.write(telltale::level::warn, "{out} of memory\n", {.file = "driver.c", .line = 12, .logger = "alloc"});
  }
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].message, "{out} of memory");
  EXPECT_EQ(lines[0].module, "cuda");
  EXPECT_EQ(lines[0].level, telltale::level::warn);
  EXPECT_EQ(lines[0].span_name, "launch");
  std::string attributes;
  for (const auto& [k, v] : lines[0].attributes) {
    if (k != "message") attributes += k + "=" + telltale::to_string(v) + " ";
  }
  EXPECT_EQ(attributes, "log.logger=alloc code.file.path=driver.c code.line.number=12 job_id=7 ");
}

TEST(LogSource, FollowsTheFilterOfItsModule) {
  recorded r(telltale::options{.log = "info,noisy=error"});
  const log_source noisy{"noisy::part"};
  EXPECT_FALSE(noisy.enabled(telltale::level::warn));
  EXPECT_TRUE(noisy.enabled(telltale::level::error));
  EXPECT_FALSE(noisy.enabled(telltale::level::off));
  noisy.write(telltale::level::warn, "unheard");
  noisy.write(telltale::level::error, "heard");
  ASSERT_TRUE(telltale::set_log_filter("debug"));
  noisy.write(telltale::level::debug, "heard now");
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].message, "heard now");
}

TEST(LogSource, KeepsAContextForALineThatComesLater) {
  recorded r;
  telltale::context kept;
  {
    TELLTALE_SPAN("then");
    kept = telltale::current_context();
  }
  log_source{"late"}.write_under(kept, telltale::level::info, "later");
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].span, kept.span);
  EXPECT_FALSE(telltale::current_context().span);
}

TEST(LogSource, SharesAModuleBeyondTheLimitOfNames) {
  recorded r;
  for (int i = 0; i < 1'100; ++i) log_source{"generated" + std::to_string(i)};
  log_source{"generated5"}.write(telltale::level::info, "early");
  log_source{"one too many"}.write(telltale::level::info, "late");
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].module, "generated5");
  EXPECT_EQ(lines[1].module, "foreign");
}

}  // namespace
