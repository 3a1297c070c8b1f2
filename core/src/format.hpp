// Writing characters fast: a growing buffer, numbers, hexadecimal ids, times, and strings that are valid JSON or safe
// on a terminal whatever they contain.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <telltale/core/sink.hpp>
#include <type_traits>
#include <utility>

namespace telltale::detail {

// A growing run of characters. Reserve once per line, then put() without checks. (A std::string would fill with zeros
// what it grows by.)
class buffer {
 public:
  buffer() = default;
  buffer(buffer&& o) noexcept
      : data_(std::move(o.data_)), at_(std::exchange(o.at_, nullptr)), end_(std::exchange(o.end_, nullptr)) {}
  buffer& operator=(buffer&& o) noexcept {
    data_ = std::move(o.data_);
    at_ = std::exchange(o.at_, nullptr);
    end_ = std::exchange(o.end_, nullptr);
    return *this;
  }

  // Makes room for `n` more characters.
  void reserve(std::size_t n) {
    if (static_cast<std::size_t>(end_ - at_) < n) [[unlikely]]
      grow(n);
  }
  void put(char c) noexcept { *at_++ = c; }
  // A literal: copied by a few moves.
  template <std::size_t N>
  void put(const char (&s)[N]) noexcept {
    std::memcpy(at_, s, N - 1);
    at_ += N - 1;
  }
  // Most are short, and a call of memcpy costs more than they do: two moves that may overlap instead.
  void put(std::string_view s) noexcept {
    const auto both_ends = [&](auto width) noexcept {
      constexpr std::size_t n = width();
      char head[n];
      char tail[n];
      std::memcpy(head, s.data(), n);
      std::memcpy(tail, s.data() + s.size() - n, n);
      std::memcpy(at_, head, n);
      std::memcpy(at_ + s.size() - n, tail, n);
    };
    if (s.size() > 32) {
      std::memcpy(at_, s.data(), s.size());
    } else if (s.size() >= 16) {
      both_ends(std::integral_constant<std::size_t, 16>{});
    } else if (s.size() >= 8) {
      both_ends(std::integral_constant<std::size_t, 8>{});
    } else if (s.size() >= 4) {
      both_ends(std::integral_constant<std::size_t, 4>{});
    } else {
      for (std::size_t i = 0; i < s.size(); ++i) at_[i] = s[i];
    }
    at_ += s.size();
  }
  template <class N>
  void number(N n) noexcept {  // needs 24 characters
    at_ = std::to_chars(at_, at_ + 24, n).ptr;
  }
  // With its own reservation.
  void append(std::string_view s) {
    reserve(s.size());
    put(s);
  }
  template <std::size_t N>
  void append(const char (&s)[N]) {
    reserve(N);
    put(s);
  }

  std::string_view view() const noexcept { return {data_.get(), size()}; }
  std::size_t size() const noexcept { return static_cast<std::size_t>(at_ - data_.get()); }
  std::size_t capacity() const noexcept { return static_cast<std::size_t>(end_ - data_.get()); }
  bool empty() const noexcept { return size() == 0; }
  void clear() noexcept { at_ = data_.get(); }

  // For writers of their own: where the next character goes, after a reserve().
  char* here() noexcept { return at_; }
  void moved_to(char* p) noexcept { at_ = p; }

 private:
  void grow(std::size_t n);
  std::unique_ptr<char[]> data_;
  char* at_ = nullptr;
  char* end_ = nullptr;
};

// 16 lower-case digits.
void put_hex(buffer& w, std::uint64_t v) noexcept;

// "2026-05-08T20:45:12.183456Z" with 3 or 6 digits of a second. Remembers the last second.
class time_writer {
 public:
  explicit time_writer(int digits) : digits_(digits) {}
  void put(buffer& w, std::int64_t ns) noexcept;  // needs 32 characters

 private:
  int digits_;
  std::int64_t second_ = INT64_MIN;
  char text_[24] = {};  // "2026-05-08T20:45:12."
};

// Nanoseconds as milliseconds without trailing zeros: "2.803417", "0". Needs 32 characters.
void put_milliseconds(buffer& w, std::int64_t ns) noexcept;

// Length of the UTF-8 sequence at the start of `s`, 0 when there is none (Unicode 15, table 3-7: no overlong forms, no
// surrogates, nothing above U+10FFFF).
std::size_t sequence_length(std::string_view s) noexcept;

// A JSON string with its quotes. Control characters are escaped; bytes that are no UTF-8 become U+FFFD.
void append_json_string(buffer& w, std::string_view s);
// A JSON value: numbers as numbers (64-bit integers in full); NaN and infinities, which JSON lacks, as strings.
void append_json_value(buffer& w, const attribute_view& a);

// `s` where it is UTF-8; else a copy in `scratch` in which every byte that belongs to no sequence is U+FFFD.
std::string_view valid_utf8(std::string_view s, std::string& scratch);

// Text for a terminal or a line-oriented file: control characters (line feeds and escape sequences among them) and
// line separators are written as escapes, invalid bytes as U+FFFD.
TELLTALE_EXPORT void append_safe_text(std::string& out, std::string_view s);
// The same in quotes, with quotes and backslashes escaped.
void append_quoted(std::string& out, std::string_view s);

}  // namespace telltale::detail
