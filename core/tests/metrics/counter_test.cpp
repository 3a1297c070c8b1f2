// Counters: exact over threads that come and go.
#include <telltale/core/counter.hpp>
#include <thread>

#include "snapshot.hpp"

using namespace telltale::testing;

namespace {

constinit telltale::counter things{"test.things", "things that were counted", "{thing}"};

TEST(Counters, AddUpOverThreadsDeadOnesIncluded) {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 1000; ++i) things.add();
        things.add(5);
      });
    }
    for (auto& t : threads) t.join();
  }
  EXPECT_EQ(things.value(), 20u * 4u * 1005u);
  const telltale::metric m = metric_named("test.things");
  EXPECT_EQ(whole(m), 20 * 4 * 1005);
  EXPECT_EQ(m.kind, telltale::metric_kind::counter);
  EXPECT_EQ(m.description, "things that were counted");
  EXPECT_EQ(m.unit, "{thing}");
}

TEST(Counters, ThatWereNeverUsedAreNotListed) {
  static constinit telltale::counter never{"test.never", "stays at nought"};
  EXPECT_EQ(find_metric(telltale::snapshot_metrics(), "test.never"), nullptr);
  EXPECT_EQ(never.value(), 0u);
}

TEST(Counters, AreListedFromTheFirstUseAlsoAtNought) {
  static constinit telltale::counter nought{"test.nought", "begins at nought"};
  nought.add(0);
  EXPECT_EQ(whole(metric_named("test.nought")), 0);
}

TEST(Counters, OfOneNameAreOneCounter) {
  static constinit telltale::counter here{"test.twice", "defined here", "By"};
  static constinit telltale::counter there{"test.twice", "and there", "By"};
  here.add(2);
  there.add(3);
  EXPECT_EQ(here.value(), 5u);
  EXPECT_EQ(there.value(), 5u);
  EXPECT_EQ(whole(metric_named("test.twice")), 5);
}

TEST(Counters, OfOneNameAndTwoUnitsAreAConflictThatIsSaid) {
  static constinit telltale::counter bytes{"test.conflict", "in bytes", "By"};
  static constinit telltale::counter seconds{"test.conflict", "in seconds", "s"};
  bytes.add(7);
  ::testing::internal::CaptureStderr();
  seconds.add(1);
  seconds.add(1);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("\"test.conflict\" is defined twice, with unit \"By\" and with unit \"s\""), std::string::npos)
      << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  EXPECT_EQ(seconds.value(), 2u) << "it counts, but is not exported";
  EXPECT_EQ(whole(metric_named("test.conflict")), 7);
}

TEST(Counters, AreManyAndStayExact) {
  constexpr std::size_t many = 10'000;                         // more than a page of cells
  static std::vector<std::unique_ptr<telltale::counter>> all;  // counters live for ever
  static std::vector<std::string> names;
  names.reserve(many);
  for (std::size_t i = 0; i < many; ++i) {
    names.push_back("test.many." + std::to_string(i));
    all.push_back(std::make_unique<telltale::counter>(names.back(), "one of many"));
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 20; ++i) {
        for (auto& c : all) c->add(2);
      }
    });
  }
  for (auto& t : threads) t.join();
  for (auto& c : all) ASSERT_EQ(c->value(), 160u) << c->name();
}

TEST(Counters, KeepTheSumsOfTenThousandThreadsThatAreGone) {
  static constinit telltale::counter gone{"test.gone", "by threads that are gone"};
  for (int round = 0; round < 625; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 16; ++t) threads.emplace_back([] { gone.add(3); });
    for (auto& t : threads) t.join();
  }
  EXPECT_EQ(gone.value(), 30'000u);
}

TEST(Counters, NeverLookSmallerThanBefore) {
  static constinit telltale::counter grows{"test.grows", "read while it grows"};
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) grows.add();
    });
  }
  std::uint64_t before = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t now = grows.value();
    ASSERT_GE(now, before);
    before = now;
  }
  stop = true;
  for (auto& t : writers) t.join();
}

TEST(UpDownCounters, GoDownOnAnotherThreadThanTheyWentUp) {
  static constinit telltale::up_down_counter in_flight{"test.in_flight", "going on now", "{request}"};
  in_flight.add(5);
  std::thread([] { in_flight.add(-7); }).join();
  EXPECT_EQ(in_flight.value(), -2);
  const telltale::metric m = metric_named("test.in_flight");
  EXPECT_EQ(m.kind, telltale::metric_kind::up_down_counter);
  EXPECT_EQ(whole(m), -2);
}

TEST(Counters, CountInThreadLocalDestructorsToo) {
  static constinit telltale::counter late{"test.late", "counted while a thread ends"};
  struct at_end {
    ~at_end() { late.add(4); }
  };
  for (int i = 0; i < 100; ++i) {
    std::thread([] {
      thread_local const at_end it;
      (void)&it;
      late.add(1);
    }).join();
  }
  EXPECT_EQ(late.value(), 500u);
}

}  // namespace
