// ClickHouse's RowBinary: values one behind the other, without names or types. Both sides know the columns.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::hub {

static_assert(std::endian::native == std::endian::little, "RowBinary's numbers are little-endian");

class row_binary_writer {
 public:
  template <class T>
  void number(T v) {
    char bytes[sizeof v];
    std::memcpy(bytes, &v, sizeof v);
    out_.append(bytes, sizeof v);
  }
  void size(std::size_t n) {
    for (; n >= 0x80; n >>= 7) out_ += static_cast<char>(n | 0x80);
    out_ += static_cast<char>(n);
  }
  void text(std::string_view s) {
    size(s.size());
    out_ += s;
  }
  // NULL where it is empty; for Nullable(String).
  void text_or_null(std::string_view s) {
    out_ += static_cast<char>(s.empty());
    if (!s.empty()) text(s);
  }
  void texts(const std::vector<std::string_view>& list) {
    size(list.size());
    for (const std::string_view s : list) text(s);
  }
  bool empty() const noexcept { return out_.empty(); }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// Reads what a server answered. Where it ends early, or makes no sense, good() is false and every value empty.
class row_binary_reader {
 public:
  explicit row_binary_reader(std::string_view bytes) noexcept : left_(bytes) {}

  bool at_end() const noexcept { return left_.empty(); }
  bool good() const noexcept { return good_; }
  template <class T>
  T number() {
    T v{};
    const std::string_view bytes = take(sizeof v);
    if (good_) std::memcpy(&v, bytes.data(), sizeof v);
    return v;
  }
  std::size_t size() {
    std::size_t n = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
      const auto byte = number<std::uint8_t>();
      n |= std::size_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return n;
    }
    good_ = false;
    return 0;
  }
  std::string_view text() { return take(size()); }
  std::string_view text_or_null() { return number<std::uint8_t>() != 0 ? std::string_view{} : text(); }

 private:
  std::string_view take(std::size_t n) {
    if (!good_ || n > left_.size()) {
      good_ = false;
      left_ = {};
      return {};
    }
    const std::string_view out = left_.substr(0, n);
    left_.remove_prefix(n);
    return out;
  }

  std::string_view left_;
  bool good_ = true;
};

}  // namespace telltale::hub
