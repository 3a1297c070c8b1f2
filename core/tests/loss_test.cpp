// What doesn't fit is counted exactly: written + dropped = produced, per reason, and the sinks say so.
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <thread>

#include "recorded.hpp"

TELLTALE_MODULE("test::loss");

using namespace telltale::literals;
using telltale::testing::recorded;

namespace {

constexpr std::size_t tiny = 65536;  // the smallest ring: about 512 spans

// Set before anything is recorded in this program: sizes can't change later.
class TinyRings : public ::testing::Test {
 protected:
  static telltale::options sized(telltale::overflow_policy p = telltale::overflow_policy::drop) {
    telltale::options o;
    o.ring_bytes = tiny;
    o.memory_bytes = 16 * tiny;
    o.overflow = p;
    o.overhead = 0;  // each record, or its loss
    return o;
  }
};

std::uint64_t dropped(telltale::drop_reason r) {
  return telltale::stats().dropped[static_cast<std::size_t>(r)];
}

// Flood from 8 threads; returns how many records each produced.
constexpr int threads = 8;
constexpr int per_thread = 20'000;
void flood() {
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([] {
      for (int i = 0; i < per_thread; ++i) {
        TELLTALE_SPAN("flood", "i"_a = i);
        if (i % 10 == 0) TELLTALE_INFO("line {i}", "i"_a = i);
      }
    });
  }
  for (auto& t : all) t.join();
}
constexpr std::uint64_t produced = threads * (per_thread + per_thread / 10);

TEST_F(TinyRings, AFloodIsAccountedForExactly) {
  recorded r(sized());
  const auto before = telltale::stats();
  flood();
  const auto spans = r.spans();
  const auto lines = r.lines();
  const auto after = telltale::stats();
  const std::uint64_t written = after.written - before.written;
  const std::uint64_t lost = after.dropped_total() - before.dropped_total();
  EXPECT_EQ(written + lost, produced);
  EXPECT_EQ(spans.size() + lines.size(), written);
  EXPECT_EQ(r.lost(), lost) << "what loss records told the sinks";
  EXPECT_EQ(lost, after.dropped[0] - before.dropped[0]) << "all of it because rings were full";
  EXPECT_GT(lost, 0u) << "this machine drains faster than eight threads write: make the flood larger";
}

TEST_F(TinyRings, TheOutputSaysWhatIsMissing) {
  const std::string path = ::testing::TempDir() + "telltale_loss.jsonl";
  std::remove(path.c_str());
  telltale::options o = sized();
  o.sinks = "json:" + path + "?overflow=block";
  ASSERT_TRUE(telltale::start(o));
  telltale::flush();
  const auto before = telltale::stats();
  flood();
  ASSERT_TRUE(telltale::flush(std::chrono::seconds(20)));
  const auto after = telltale::stats();
  ASSERT_TRUE(telltale::start(sized()));  // closes the file
  std::ifstream file(path);
  std::uint64_t records = 0;
  std::uint64_t told = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string key = "\"reason\":\"ring_full\",\"count\":";
    const auto at = line.find(key);
    if (at == std::string::npos) {
      ++records;
    } else {
      told += std::stoull(line.substr(at + key.size()));
    }
  }
  EXPECT_EQ(records, after.written - before.written);
  EXPECT_EQ(records + told, produced);
  std::remove(path.c_str());
}

TEST_F(TinyRings, BlockLosesNothing) {
  recorded r(sized(telltale::overflow_policy::block));
  const auto before = telltale::stats();
  flood();
  EXPECT_EQ(r.spans().size() + r.lines().size(), produced);
  EXPECT_EQ(telltale::stats().dropped_total(), before.dropped_total());
}

TEST_F(TinyRings, ALossStandsWhereTheGapIs) {
  // Given a drain that stands still while a thread overflows its ring, then goes on
  struct gate final : telltale::sink {
    void on_log(const telltale::log_view& l) override {
      seen.push_back(std::string(l.site.name));
      if (l.site.name != "stop") return;
      std::unique_lock lock(mutex);
      stopped = true;
      changed.notify_all();
      changed.wait(lock, [&] { return go; });
    }
    void on_loss(const telltale::loss_view& l) override {
      seen.push_back("lost " + std::to_string(l.count) + " on " + l.thread->name);
      EXPECT_EQ(l.reason, telltale::drop_reason::ring_full);
      EXPECT_GT(l.since_ns, 0);
    }
    std::mutex mutex;
    std::condition_variable changed;
    bool stopped = false;
    bool go = false;
    std::vector<std::string> seen;
  };
  recorded r(sized());
  const auto sink = std::make_shared<gate>();
  telltale::add_sink(sink);
  telltale::name_thread("overflowing");
  TELLTALE_INFO("stop");
  {
    std::unique_lock lock(sink->mutex);
    sink->changed.wait(lock, [&] { return sink->stopped; });
  }
  const auto before = dropped(telltale::drop_reason::ring_full);
  for (int i = 0; i < 3000; ++i) TELLTALE_INFO("before");
  const auto lost = dropped(telltale::drop_reason::ring_full) - before;
  ASSERT_GT(lost, 0u);
  {
    const std::lock_guard lock(sink->mutex);
    sink->go = true;
    sink->changed.notify_all();
  }
  telltale::flush();
  TELLTALE_INFO("after");
  telltale::remove_sink(sink);
  // Then the loss is told once, after what was kept and before what came next.
  const auto& seen = sink->seen;
  const auto told = std::find(seen.begin(), seen.end(), "lost " + std::to_string(lost) + " on overflowing");
  ASSERT_NE(told, seen.end());
  EXPECT_EQ(*(told - 1), "before");
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), [](const auto& s) { return s.starts_with("lost"); }), 1);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "before") + static_cast<std::int64_t>(lost), 3000);
  EXPECT_EQ(seen.back(), "after");
}

TEST_F(TinyRings, ThreadsBeyondTheMemoryAreCounted) {
  recorded r(sized());
  const auto before = dropped(telltale::drop_reason::no_memory);
  // 16 rings: this thread's (and the drain's tests before) hold some; 40 threads at once can't all have one.
  std::atomic<int> waiting{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> all;
  for (int t = 0; t < 40; ++t) {
    all.emplace_back([&] {
      {
        TELLTALE_SPAN("held");
        EXPECT_TRUE(telltale::current_context() == telltale::context{} || telltale::current_context().span);
        ++waiting;
        while (!go) std::this_thread::yield();
      }
    });
  }
  while (waiting < 40) std::this_thread::yield();
  go = true;
  for (auto& t : all) t.join();
  const auto got = r.spans().size();
  const auto lost = dropped(telltale::drop_reason::no_memory) - before;
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(got + lost, 40u);
  EXPECT_EQ(r.lost(), lost);
  // And a ring that comes back is used again.
  std::thread([] { TELLTALE_SPAN("later"); }).join();
  EXPECT_EQ(r.spans().size(), 1u);
}

TEST_F(TinyRings, TenThousandShortThreadsLeaveNothingBehind) {
  recorded r(sized(telltale::overflow_policy::block));
  for (int i = 0; i < 10'000; ++i) {
    std::thread([] { TELLTALE_SPAN("short"); }).join();
  }
  EXPECT_EQ(r.spans().size(), 10'000u);
  EXPECT_LE(telltale::stats().threads, 2u);
}

TEST_F(TinyRings, SizesCannotChangeOnceSomethingWasRecorded) {
  recorded r(sized());
  TELLTALE_INFO("something");
  telltale::options other = sized();
  other.ring_bytes = 2 * tiny;
  other.memory_bytes = 32 * tiny;
  const auto refused = telltale::start(other);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("TELLTALE_RING"), std::string::npos);
}

}  // namespace
