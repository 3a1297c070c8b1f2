// What the fuzzers share: taking an input apart, and failing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

namespace fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

// Takes values off the front of an input; zeros when it is used up.
class input {
 public:
  input(const std::uint8_t* data, std::size_t size) noexcept : data_(data), size_(size) {}

  std::uint8_t byte() noexcept {
    std::uint8_t b = 0;
    take(&b, 1);
    return b;
  }
  std::uint64_t word() noexcept {
    std::uint64_t w = 0;
    take(&w, sizeof w);
    return w;
  }
  std::string_view text(std::size_t most) noexcept {
    const std::size_t n = std::min(most, size_);
    const std::string_view s = n == 0 ? std::string_view{} : std::string_view{reinterpret_cast<const char*>(data_), n};
    data_ += n;
    size_ -= n;
    return s;
  }
  std::string_view rest() noexcept { return text(size_); }
  std::size_t left() const noexcept { return size_; }

 private:
  void take(void* to, std::size_t most) noexcept {
    const std::size_t n = std::min(most, size_);
    if (n != 0) std::memcpy(to, data_, n);
    data_ += n;
    size_ -= n;
  }
  const std::uint8_t* data_;
  std::size_t size_;
};

// Takes a code point off the front of `s`; empty when what stands there is no UTF-8. Decodes first and checks the
// number, unlike the code under test, which goes by a table of bytes.
inline std::optional<char32_t> take_code_point(std::string_view& s) {
  const auto first = static_cast<unsigned char>(s.front());
  std::size_t length = 1;
  while (length < 5 && (first & (0x80u >> length)) != 0) ++length;
  if (first < 0x80) {
    s.remove_prefix(1);
    return first;
  }
  if (length == 1 || length == 5 || s.size() < length) return std::nullopt;
  char32_t c = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(s[i]);
    if (next >> 6 != 2) return std::nullopt;
    c = c << 6 | (next & 0x3fu);
  }
  constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (c < smallest[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) return std::nullopt;
  s.remove_prefix(length);
  return c;
}

inline bool is_utf8(std::string_view s) {
  while (!s.empty()) {
    if (!take_code_point(s)) return false;
  }
  return true;
}

}  // namespace fuzz
