// Abseil's lines in our spans; built where the installed Abseil has absl/log.
#include <absl/log/log.h>

#include <telltale/adapters/absl.hpp>

#include "recorded.hpp"

using namespace telltale::literals;
using telltale::testing::recorded;

namespace {

TEST(Absl, LinesJoinTheCurrentSpan) {
  recorded r;
  {
    const telltale::absl_adapter adapter;
    TELLTALE_SCOPE("job", "job_id"_a = 7);
    LOG(INFO) << "loaded " << 5;
    LOG(WARNING) << "slow";
  }
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].message, "loaded 5");
  EXPECT_EQ(lines[0].module, "absl");
  EXPECT_EQ(lines[0].span_name, "job");
  EXPECT_EQ(lines[1].level, telltale::level::warn);
}

}  // namespace
