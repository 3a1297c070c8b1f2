// The ledger, the sizes it goes by, and the budget it has.
#include "prover/daemon/ledger.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "prover/daemon/memory_budget.hpp"
#include "prover/daemon/sizes.hpp"
#include "prover/daemon/testing/fake_device.hpp"

namespace prover::daemon {
namespace {

namespace fs = std::filesystem;

TEST(ledger, gives_no_more_than_it_has_and_takes_everything_back) {
  ledger l(100);
  auto a = l.reserve("a", 60);
  ASSERT_TRUE(a);
  EXPECT_FALSE(l.reserve("b", 41));
  auto b = l.reserve("b", 40);
  ASSERT_TRUE(b);
  EXPECT_EQ(l.free(), 0U);
  EXPECT_FALSE(b->resize(41));
  EXPECT_EQ(b->size(), 40U);
  EXPECT_TRUE(a->resize(10));
  EXPECT_TRUE(b->resize(90));
  EXPECT_EQ(l.by_owner().at("a"), 10U);
  EXPECT_EQ(l.by_owner().at("b"), 90U);
  *a = std::move(*b);  // gives its own back first
  EXPECT_EQ(l.reserved(), 90U);
  a.reset();
  EXPECT_EQ(l.reserved(), 0U);
  EXPECT_TRUE(l.by_owner().empty());
  EXPECT_EQ(l.high_water(), 100U);
}

TEST(sizes, are_estimates_until_they_are_measured_and_then_the_most_that_was_seen) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  size_book book;
  kind k;
  k.name = "k";
  k.witness_source_memory = 7;
  book.estimated("k", {100 * mib, 50 * mib, 2 * mib, 30 * mib});
  EXPECT_EQ(book.to_load(k, 0), 150 * mib);
  EXPECT_EQ(book.of_piece(k, 3), 32 * mib + 10);
  book.measured_proof("k", 16 * mib);
  EXPECT_EQ(book.of_piece(k, 0), 2 * mib + 19 * mib + 7);
  book.measured_proof("k", 8 * mib);
  EXPECT_EQ(book.of_piece(k, 0), 2 * mib + 19 * mib + 7);
  book.measured_proof("k", 24 * mib);
  EXPECT_EQ(book.of_piece(k, 0), 2 * mib + 28 * mib + 7);
  EXPECT_FALSE(book.wants_proof("k"));

  std::atomic<int> alive{0};
  book.measured_load("k", testing::fake_key(80 * mib, false, alive), 88 * mib);
  EXPECT_EQ(book.resident(k, 0), 80 * mib);
  EXPECT_EQ(book.to_load(k, 0), 80 * mib + 10 * mib);
  EXPECT_EQ(book.resident(k, 40 * mib), 120 * mib);
  book.measured_load("k", testing::fake_key(100 * mib, true, alive), {});
  EXPECT_EQ(book.resident(k, 40 * mib), 100 * mib);
  EXPECT_EQ(book.resident(k, 0), 80 * mib);
}

// A root with the files that a machine would have.
class machine : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(root_); }
  void TearDown() override { fs::remove_all(root_); }
  void file(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  fs::path root_ = fs::path(::testing::TempDir()) / ("telltale_machine_" + std::to_string(::getpid()));
};

TEST_F(machine, without_groups_has_its_memory) {
  file("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 5 kB\n");
  EXPECT_EQ(memory_limit(root_), std::size_t{16} << 30);
  EXPECT_EQ(detect_memory(root_), std::size_t{14} << 30);
}

TEST_F(machine, has_the_least_of_a_group_of_version_2_and_those_above_it) {
  file("proc/meminfo", "MemTotal:       16777216 kB\n");
  file("proc/self/cgroup", "0::/outer/inner\n");
  file("sys/fs/cgroup/outer/memory.max", "2147483648\n");
  file("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  EXPECT_EQ(memory_limit(root_), std::size_t{2} << 30);
  EXPECT_EQ(detect_memory(root_), (std::size_t{2} << 30) / 8 * 7);
}

TEST_F(machine, has_the_limit_of_a_group_of_version_1) {
  file("proc/meminfo", "MemTotal:       16777216 kB\n");
  file("proc/self/cgroup", "12:cpu,cpuacct:/x\n5:memory:/docker/abc\n1:name=systemd:/x\n");
  file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  file("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "1073741824\n");
  EXPECT_EQ(memory_limit(root_), std::size_t{1} << 30);
}

TEST_F(machine, in_a_container_has_the_limit_that_is_mounted_at_the_top) {
  file("proc/meminfo", "MemTotal:       16777216 kB\n");
  file("proc/self/cgroup", "0::/\n");
  file("sys/fs/cgroup/memory.max", "536870912\n");
  EXPECT_EQ(memory_limit(root_), std::size_t{512} << 20);
}

TEST_F(machine, that_says_nothing_gets_a_gibibyte) {
  EXPECT_EQ(detect_memory(root_), std::size_t{1} << 30);
}

TEST(peak, is_what_was_allocated_and_touched_in_between) {
  constexpr std::size_t size = std::size_t{64} << 20;
  const peak_probe probe;
  {
    std::vector<char> block(size, 1);
    ASSERT_EQ(block[size / 2], 1);
  }
  const auto growth = probe.growth();
  if (!growth) GTEST_SKIP() << "SKIPPED: this kernel has no high-water mark";
  EXPECT_GE(*growth, size / 10 * 9);  // the kernel counts in batches
  EXPECT_LT(*growth, 2 * size);
  EXPECT_GT(resident_memory(), 0U);
}

}  // namespace
}  // namespace prover::daemon
