// Where a job's time went sums up to how long it took.
#include "prover/daemon/timeline.hpp"

#include <gtest/gtest.h>

namespace prover::daemon {
namespace {

using namespace std::chrono_literals;

const steady_time start{1000h};

nanoseconds wall_of(const timing& t, std::string_view name) {
  for (const auto& p : t.phases) {
    if (p.name == name) return p.wall;
  }
  return nanoseconds{-1};
}

TEST(timeline, splits_the_time_of_phases_that_run_at_once) {
  timeline t(start);
  t.worked({"msm", start + 10ms, start + 30ms});
  t.worked({"witness", start + 20ms, start + 40ms});
  const timing got = t.up_to(start + 50ms);
  EXPECT_EQ(got.total, 50ms);
  EXPECT_EQ(wall_of(got, "msm"), 15ms);
  EXPECT_EQ(wall_of(got, "witness"), 15ms);
  EXPECT_EQ(wall_of(got, "other"), 20ms);
  EXPECT_EQ(got.phases[0].name, "msm");
  EXPECT_EQ(got.phases[0].busy, 20ms);
  EXPECT_EQ(got.phases[1].busy, 20ms);
  EXPECT_EQ(got.phases.back().name, "other");
  EXPECT_EQ(got.phases.back().busy, 0ms);
}

TEST(timeline, counts_no_wait_while_the_job_is_worked_on) {
  timeline t(start);
  t.waited({"queue", start, start + 10ms});
  t.worked({"witness", start + 10ms, start + 20ms});
  // Another piece of it waits all the while.
  t.waited({"wait_device", start + 12ms, start + 35ms});
  t.worked({"msm", start + 25ms, start + 30ms});
  const timing got = t.up_to(start + 40ms);
  EXPECT_EQ(wall_of(got, "queue"), 10ms);
  EXPECT_EQ(wall_of(got, "witness"), 10ms);
  EXPECT_EQ(wall_of(got, "msm"), 5ms);
  EXPECT_EQ(wall_of(got, "wait_device"), 10ms);
  EXPECT_EQ(wall_of(got, "other"), 5ms);
}

TEST(timeline, of_a_job_that_did_nothing_is_its_wait) {
  timeline t(start);
  t.waited({"queue", start, start + 3ms});
  const timing got = t.up_to(start + 3ms);
  ASSERT_EQ(got.phases.size(), 1U);
  EXPECT_EQ(got.phases[0].name, "queue");
  EXPECT_EQ(got.phases[0].wall, 3ms);
}

}  // namespace
}  // namespace prover::daemon
