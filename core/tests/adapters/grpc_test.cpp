// gRPC's lines in our spans.
#include <telltale/adapters/grpc.hpp>

#include "recorded.hpp"

using namespace telltale::literals;
using telltale::testing::recorded;

namespace {

TEST(Grpc, LinesJoinTheCurrentSpan) {
  recorded r;
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_INFO);
  telltale::capture_grpc_log();
  {
    TELLTALE_SCOPE("call", "job_id"_a = 7);
    gpr_log("chttp2.cc", 12, GPR_LOG_SEVERITY_ERROR, "connection %s", "reset");
    gpr_log("chttp2.cc", 13, GPR_LOG_SEVERITY_INFO, "connected");
    gpr_log("chttp2.cc", 14, GPR_LOG_SEVERITY_DEBUG, "unheard");
  }
  telltale::release_grpc_log();
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].message, "connection reset");
  EXPECT_EQ(lines[0].module, "grpc");
  EXPECT_EQ(lines[0].level, telltale::level::error);
  EXPECT_EQ(lines[0].span_name, "call");
  EXPECT_EQ(lines[1].level, telltale::level::info);
}

}  // namespace
