// glog's lines in our spans.
#include <telltale/adapters/glog.hpp>

#include "recorded.hpp"

using namespace telltale::literals;
using telltale::testing::recorded;

namespace {

TEST(Glog, LinesJoinTheCurrentSpan) {
  recorded r;
  FLAGS_logtostderr = false;
  FLAGS_stderrthreshold = google::NUM_SEVERITIES;
  for (int severity = 0; severity < google::NUM_SEVERITIES; ++severity) google::SetLogDestination(severity, "");
  {
    const telltale::glog_adapter adapter;
    TELLTALE_SCOPE("job", "job_id"_a = 7);
    LOG(INFO) << "loaded " << 5;
    LOG(WARNING) << "slow";
    LOG(ERROR) << "failed";
  }
  LOG(INFO) << "nobody listens";
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].message, "loaded 5");
  EXPECT_EQ(lines[0].module, "glog");
  EXPECT_EQ(lines[0].span_name, "job");
  EXPECT_EQ(lines[0].level, telltale::level::info);
  EXPECT_EQ(lines[1].level, telltale::level::warn);
  EXPECT_EQ(lines[2].level, telltale::level::error);
  const auto file = std::find_if(lines[0].attributes.begin(), lines[0].attributes.end(),
                                 [](const auto& a) { return a.first == "code.file.path"; });
  ASSERT_NE(file, lines[0].attributes.end());
  EXPECT_TRUE(telltale::to_string(file->second).ends_with("glog_test.cpp"));
}

}  // namespace
