// The spool: what goes in comes out, oldest first, across processes and damage.
#include "spool.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/process.hpp"

using namespace telltale::otlp;
using telltale::testing::temporary_directory;

namespace {

spooled request(const std::string& body) {
  return {signal_kind::logs, protocol::http_json, 3, body};
}
spool opened(const std::string& folder, std::uint64_t cap = 1 << 20) {
  auto s = spool::open(folder, cap);
  EXPECT_TRUE(s) << s.error().message;
  return std::move(*s);
}
void store(spool& s, const std::string& body) {
  const auto stored = s.store(request(body));
  ASSERT_TRUE(stored) << stored.error().message;
  ASSERT_EQ(*stored, spool::outcome::stored);
}

TEST(OtlpSpool, OldestComesFirstAlsoInTheNextProcess) {
  const temporary_directory dir;
  {
    spool s = opened(dir / "a/b");
    store(s, "first");
    store(s, "second");
  }
  spool s = opened(dir / "a/b");
  EXPECT_GT(s.bytes(), 0u);
  auto one = s.take_oldest();
  ASSERT_TRUE(one);
  EXPECT_EQ(one->body, "first");
  EXPECT_EQ(one->records, 3u);
  EXPECT_EQ(one->signal, signal_kind::logs);
  EXPECT_EQ(one->protocol, protocol::http_json);
  s.put_back();
  EXPECT_EQ(s.take_oldest()->body, "first");
  s.done();
  EXPECT_EQ(s.take_oldest()->body, "second");
  s.done();
  EXPECT_TRUE(s.empty());
  EXPECT_EQ(s.bytes(), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(dir / "a/b"));
}

TEST(OtlpSpool, TheCapHolds) {
  const temporary_directory dir;
  spool s = opened(dir / "s", 1000);
  store(s, std::string(800, 'x'));
  const auto more = s.store(request(std::string(300, 'y')));
  ASSERT_TRUE(more);
  EXPECT_EQ(*more, spool::outcome::full);
  ASSERT_TRUE(s.take_oldest());
  s.done();
  store(s, std::string(300, 'y'));
}

TEST(OtlpSpool, WhatAnotherProcessIsSendingIsLeftToIt) {
  const temporary_directory dir;
  spool one = opened(dir / "s");
  store(one, "shared");
  spool two = opened(dir / "s");
  ASSERT_TRUE(one.take_oldest());
  EXPECT_FALSE(two.take_oldest());
  EXPECT_FALSE(two.empty());
  one.done();
  EXPECT_FALSE(two.take_oldest());
  EXPECT_TRUE(two.empty());
}

TEST(OtlpSpool, EveryCutAndEveryFlippedBitIsNoticed) {
  const std::string good = to_file(request("some body"));
  ASSERT_TRUE(from_file(good));
  for (std::size_t i = 0; i < good.size(); ++i) {
    EXPECT_FALSE(from_file(good.substr(0, i))) << i;
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      const auto read = from_file(bad);
      if (i >= 8 && i < 16) continue;  // signal, protocol, records: other values may be valid ones
      EXPECT_FALSE(read) << "byte " << i << " bit " << bit;
    }
  }
}

TEST(OtlpSpool, ADamagedFileIsRemovedAndTheNextOneSent) {
  const temporary_directory dir;
  {
    std::filesystem::create_directories(dir / "s");
    std::ofstream(dir / "s/00000000000000000000000-1-0.otlp") << "TTOTLP\1\nhalf of i";
    std::ofstream(dir / "s/note.txt") << "not ours";
  }
  spool s = opened(dir / "s");
  store(s, "good");
  EXPECT_EQ(s.take_oldest()->body, "good");
  EXPECT_EQ(s.unreadable, 1u);
  s.done();
  EXPECT_TRUE(std::filesystem::exists(dir / "s/note.txt"));
}

TEST(OtlpSpool, AFolderThatCannotBeWrittenIsAnErrorThatNamesIt) {
  const auto s = spool::open("/proc/nowhere", 1000);
  ASSERT_FALSE(s);
  EXPECT_NE(s.error().message.find("/proc/nowhere"), std::string::npos);
  const temporary_directory dir;
  spool gone = opened(dir / "s");
  std::filesystem::remove(dir / "s");
  EXPECT_FALSE(gone.store(request("x")));
}

}  // namespace
