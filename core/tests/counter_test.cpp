// Counters: exact over threads that come and go.
#include <telltale/core/metric_snapshot.hpp>
#include <thread>

#include "recorded.hpp"

using telltale::testing::recorded;

namespace {

constinit telltale::counter things{"test.things", "things that were counted"};

std::uint64_t listed(std::string_view name) {
  for (const auto& c : telltale::counters()) {
    if (c.name == name) return c.value;
  }
  return UINT64_MAX;
}

TEST(Counters, AddUpOverThreadsDeadOnesIncluded) {
  recorded r;
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
  EXPECT_EQ(listed("test.things"), things.value());
}

TEST(Counters, ThatWereNeverIncrementedAreNotListed) {
  static constinit telltale::counter never{"test.never", "stays at nought"};
  EXPECT_EQ(listed("test.never"), UINT64_MAX);
  EXPECT_EQ(never.value(), 0u);
}

TEST(Counters, BeyondTheCellsShareOneAndStayExact) {
  constexpr std::size_t many = telltale::detail::max_counters + 50;
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
      for (int i = 0; i < 100; ++i) {
        for (auto& c : all) c->add(2);
      }
    });
  }
  for (auto& t : threads) t.join();
  for (auto& c : all) EXPECT_EQ(c->value(), 800u) << c->name();
}

TEST(Counters, StandInTheSnapshot) {
  static constinit telltale::counter seen{"test.seen", "seen in the snapshot"};
  seen.add(7);
  const telltale::metric_snapshot all = telltale::snapshot_metrics();
  const auto found = std::find_if(all.metrics.begin(), all.metrics.end(),
                                  [](const telltale::metric& m) { return m.name == "test.seen"; });
  ASSERT_NE(found, all.metrics.end());
  EXPECT_EQ(found->kind, telltale::metric_kind::counter);
  EXPECT_EQ(found->description, "seen in the snapshot");
  ASSERT_EQ(found->numbers.size(), 1u);
  EXPECT_EQ(std::get<std::int64_t>(found->numbers[0].value), 7);
  EXPECT_TRUE(found->numbers[0].labels->labels.empty());
  EXPECT_LT(all.start_ns, all.time_ns);
}

}  // namespace
