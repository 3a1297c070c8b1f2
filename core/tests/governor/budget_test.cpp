// Which call sites are counted, and which are spared.
#include "governor/budget.hpp"

#include <gtest/gtest.h>

namespace telltale::detail {
namespace {

using sites = std::vector<std::uint32_t>;

// A second of a program that used one core; a span costs 100 ns.
period_cost second_with(double calls) {
  return {1.0, 1e9, calls * 100, 100};
}

TEST(Budget, WithinItNothingIsCounted) {
  const auto v = weigh(second_with(90'000), {{1, 80'000, false}, {2, 10'000, false}}, 0.01);
  EXPECT_EQ(v.count, sites{});
  EXPECT_DOUBLE_EQ(v.allowed_ns, 1e7);
}

TEST(Budget, TheMostFrequentGoFirstUntilTheRestFits) {
  const auto v =
      weigh(second_with(3'050'000), {{1, 50'000, false}, {2, 2'000'000, false}, {3, 1'000'000, false}}, 0.01);
  EXPECT_EQ(v.count, (sites{2, 3}));
}

TEST(Budget, SitesOfAnOrdinaryRateStayWholeWhateverTheyCost) {
  const auto v = weigh({1.0, 1e9, 9e8, 100'000}, {{1, 9'000, false}}, 0.01);
  EXPECT_EQ(v.count, sites{});
}

TEST(Budget, IsAShareOfAllCoresThatAreUsedAndOfOneAtLeast) {
  EXPECT_DOUBLE_EQ(weigh({1.0, 8e9, 0, 100}, {}, 0.01).allowed_ns, 8e7);
  EXPECT_DOUBLE_EQ(weigh({1.0, 1e7, 0, 100}, {}, 0.01).allowed_ns, 1e7);
  EXPECT_DOUBLE_EQ(weigh({0.05, 1e6, 0, 100}, {}, 0.02).allowed_ns, 1e6);
}

TEST(Budget, WhatIsCountedIsSparedOnlyWhereThereIsRoomForItTwice) {
  // 10 ms are allowed; recorded it would take 4 ms, then 6 ms.
  EXPECT_EQ(weigh(second_with(0), {{1, 40'000, true}}, 0.01).spare, (sites{1}));
  EXPECT_EQ(weigh(second_with(0), {{1, 60'000, true}}, 0.01).spare, sites{});
  // Two of 3 ms: the first one takes the room.
  EXPECT_EQ(weigh(second_with(0), {{1, 31'000, true}, {2, 30'000, true}}, 0.01).spare, (sites{2}));
}

TEST(Budget, WhatHasBecomeRareIsSparedHoweverFullTheRestIs) {
  EXPECT_EQ(weigh(second_with(99'000), {{1, 4'000, true}, {2, 99'000, false}}, 0.01).spare, (sites{1}));
  EXPECT_EQ(weigh(second_with(0), {{1, 0, true}}, 0.01).spare, (sites{1}));
}

TEST(Budget, NothingIsSparedWhileSomethingIsBeingCounted) {
  const auto v = weigh(second_with(500'000), {{1, 500'000, false}, {2, 10, true}}, 0.01);
  EXPECT_EQ(v.count, (sites{1}));
  EXPECT_EQ(v.spare, sites{});
}

TEST(Budget, ASiteThatIsCountedAlreadyIsNotCountedAgain) {
  const auto v = weigh(second_with(2'000'000), {{1, 9'000'000, true}, {2, 2'000'000, false}}, 0.01);
  EXPECT_EQ(v.count, (sites{2}));
}

}  // namespace
}  // namespace telltale::detail
