// A hand-written writer of the JSON line that a span of the benchmark becomes: escaping, to_chars, one write(2) per
// 256 KiB. What a whole process pays for one is the floor of "end to end to JSON lines".
#pragma once

#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

namespace telltale::bench {

class json_floor {
 public:
  explicit json_floor(int fd) : fd_(fd), buffer_(std::size_t{256} * 1024 + 1024) {}
  ~json_floor() { flush(); }
  json_floor(const json_floor&) = delete;
  json_floor& operator=(const json_floor&) = delete;

  void span(std::uint64_t id, std::uint64_t begin, std::uint64_t end, std::uint64_t n, std::uint64_t m,
            std::string_view device) {
    put(R"({"ts":"2026-05-08T20:45:12.)");
    padded(end / 1000 % 1'000'000);
    put(R"(Z","level":"INFO","target":"bench","span":"msm","trace_id":")");
    hex(0x1234567890abcdef);
    hex(0xfedcba0987654321);
    put(R"(","span_id":")");
    hex(id);
    put(R"(","parent_id":")");
    hex(id - 1);
    put(R"(","attributes":{"n":)");
    number(n);
    put(R"(,"m":)");
    number(m);
    put(R"(,"device":")");
    escaped(device);
    put(R"("},"thread":"floor","duration_ms":)");
    number((end - begin) / 1'000'000);
    put(".");
    padded((end - begin) % 1'000'000);
    put(",\"event\":\"complete\"}\n");
    if (at_ >= std::size_t{256} * 1024) flush();
  }

  void flush() {
    if (::write(fd_, buffer_.data(), at_) < 0) std::perror("write");
    at_ = 0;
  }

 private:
  void put(std::string_view s) {
    std::memcpy(&buffer_[at_], s.data(), s.size());
    at_ += s.size();
  }
  template <class N>
  void number(N n) {
    at_ = static_cast<std::size_t>(std::to_chars(&buffer_[at_], &buffer_[at_] + 24, n).ptr - buffer_.data());
  }
  void padded(std::uint64_t v) {
    for (int i = 5; i >= 0; --i) {
      buffer_[at_ + static_cast<std::size_t>(i)] = static_cast<char>('0' + v % 10);
      v /= 10;
    }
    at_ += 6;
  }
  void hex(std::uint64_t v) {
    for (int shift = 60; shift >= 0; shift -= 4) buffer_[at_++] = "0123456789abcdef"[v >> shift & 15];
  }
  void escaped(std::string_view s) {
    for (const char c : s) {
      if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) {
        buffer_[at_++] = '\\';
        buffer_[at_++] = c;
      } else {
        buffer_[at_++] = c;
      }
    }
  }

  int fd_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;
};

}  // namespace telltale::bench
