// spdlog's lines in our spans.
#include <spdlog/spdlog.h>

#include <telltale/adapters/spdlog.hpp>

#include "recorded.hpp"

using namespace telltale::literals;
using telltale::testing::recorded;

namespace {

TEST(Spdlog, LinesJoinTheCurrentSpan) {
  recorded r;
  spdlog::logger logger("network", std::make_shared<telltale::spdlog_sink>());
  logger.set_level(spdlog::level::trace);
  {
    TELLTALE_SCOPE("job", "job_id"_a = 7);
    logger.warn("slow: {} ms", 17);
  }
  logger.log(spdlog::source_loc{"peer.cpp", 12, "connect"}, spdlog::level::critical, "gone");
  logger.debug("unheard");
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].message, "slow: 17 ms");
  EXPECT_EQ(lines[0].module, "spdlog");
  EXPECT_EQ(lines[0].level, telltale::level::warn);
  EXPECT_EQ(lines[0].span_name, "job");
  EXPECT_EQ(lines[1].level, telltale::level::error);
  std::string attributes;
  for (const auto& [k, v] : lines[1].attributes) {
    if (k != "message") attributes += k + "=" + telltale::to_string(v) + " ";
  }
  EXPECT_EQ(attributes, "log.logger=network code.file.path=peer.cpp code.line.number=12 ");
}

}  // namespace
