// What the recording is measured against: the same data written by hand, with nothing else around it.
#pragma once

#include <x86intrin.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>

namespace telltale::bench {

inline constexpr std::size_t floor_records = 8192;  // of 128 bytes: the size of a default ring

// A ring of 128-byte records, written with two clock reads (a span) or one (a line). As a drain would, another core
// reads what was written before the lines come round again: read_back().
class floor_ring {
 public:
  floor_ring() : records_(new record[floor_records]()), reader_([this] { read(); }) {}
  ~floor_ring() {
    asked_.store(-1);
    asked_.notify_one();
    reader_.join();
  }
  floor_ring(const floor_ring&) = delete;
  floor_ring& operator=(const floor_ring&) = delete;

  void span(std::uint64_t n, std::uint64_t m) noexcept {
    const std::uint64_t begin = __rdtsc();
    asm volatile("" ::: "memory");
    fill(n, m, begin, __rdtsc());
  }
  void line(std::uint64_t n, std::uint64_t m) noexcept { fill(n, m, __rdtsc(), 0); }

  void read_back() {
    const int ticket = asked_.fetch_add(1) + 1;
    asked_.notify_one();
    for (int now = done_.load(); now != ticket; now = done_.load()) done_.wait(now);
  }

 private:
  struct alignas(64) record {
    std::uint64_t words[16];
  };
  void fill(std::uint64_t n, std::uint64_t m, std::uint64_t begin, std::uint64_t end) noexcept {
    record& r = records_[head_++ % floor_records];
    r.words[0] = 1;
    r.words[1] = 2;
    r.words[2] = begin;
    r.words[3] = end;
    r.words[4] = 3;
    r.words[5] = 4;
    r.words[6] = head_;
    r.words[7] = 5;
    r.words[8] = n;
    r.words[9] = m;
    r.words[10] = 16;
    std::memcpy(&r.words[11], "cuda:0 stream 42", 16);
    r.words[13] = r.words[14] = r.words[15] = 0;
  }
  void read() {
    for (int seen = 0;;) {
      asked_.wait(seen);
      seen = asked_.load();
      if (seen < 0) return;
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < floor_records; ++i) {
        for (const std::uint64_t w : records_[i].words) sum += w;
      }
      checksum_ = sum;
      done_.store(seen);
      done_.notify_one();
    }
  }

  std::unique_ptr<record[]> records_;
  std::uint64_t head_ = 0;
  std::atomic<int> asked_{0};
  std::atomic<int> done_{0};
  volatile std::uint64_t checksum_ = 0;
  std::thread reader_;
};

}  // namespace telltale::bench
