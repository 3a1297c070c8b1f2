// A ring of 128-byte records with one producer and one consumer, both busy: the floor of "sustained".
#pragma once

#include <x86intrin.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>

namespace telltale::bench {

class sustained_floor {
 public:
  sustained_floor() : records_(new record[capacity]()), consumer_([this] { consume(); }) {}
  ~sustained_floor() {
    stop_.store(true);
    consumer_.join();
  }
  sustained_floor(const sustained_floor&) = delete;
  sustained_floor& operator=(const sustained_floor&) = delete;

  void span(std::uint64_t n, std::uint64_t m) noexcept {
    const std::uint64_t begin = __rdtsc();
    asm volatile("" ::: "memory");
    const std::uint64_t end = __rdtsc();
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    while (head - seen_ == capacity) {
      seen_ = tail_.load(std::memory_order_acquire);
      if (head - seen_ == capacity) std::this_thread::yield();
    }
    record& r = records_[head % capacity];
    r.words[0] = 1;
    r.words[1] = 2;
    r.words[2] = begin;
    r.words[3] = end;
    r.words[4] = 3;
    r.words[5] = 4;
    r.words[6] = head;
    r.words[7] = 5;
    r.words[8] = n;
    r.words[9] = m;
    r.words[10] = 16;
    std::memcpy(&r.words[11], "cuda:0 stream 42", 16);
    r.words[13] = r.words[14] = r.words[15] = 0;
    head_.store(head + 1, std::memory_order_release);
  }

  // Waits until the consumer has read everything.
  void drain() const noexcept {
    while (tail_.load(std::memory_order_acquire) != head_.load(std::memory_order_relaxed)) std::this_thread::yield();
  }

 private:
  static constexpr std::size_t capacity = 8192;
  struct alignas(64) record {
    std::uint64_t words[16];
  };

  void consume() noexcept {
    std::uint64_t tail = 0;
    std::uint64_t sum = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
      const std::uint64_t head = head_.load(std::memory_order_acquire);
      if (head == tail) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));  // as an idle drain does
        continue;
      }
      while (tail != head) {
        for (const std::uint64_t w : records_[tail % capacity].words) sum += w;
        if (++tail % 512 == 0) tail_.store(tail, std::memory_order_release);
      }
      tail_.store(tail, std::memory_order_release);
    }
    checksum_ = sum;
  }

  std::unique_ptr<record[]> records_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::uint64_t seen_ = 0;  // of tail_, by the producer
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  std::atomic<bool> stop_{false};
  volatile std::uint64_t checksum_ = 0;
  std::thread consumer_;
};

}  // namespace telltale::bench
