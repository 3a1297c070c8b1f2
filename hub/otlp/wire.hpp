// Reading protobuf's wire format: fields of a message, one after the other, without generated code. Nothing is read
// outside the given bytes, whatever they are.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace telltale::hub {

enum class wire_type : std::uint8_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };

//   for (wire_reader r(bytes); r.next();) switch (r.field()) { case 1: use(r.bytes()); … }
//   if (r.malformed()) …
class wire_reader {
 public:
  explicit wire_reader(std::string_view bytes) noexcept : p_(bytes.data()), end_(p_ + bytes.size()) {}

  // Moves to the next field; false at the end of the message, and where it is malformed.
  bool next() noexcept {
    if (p_ == end_) return false;
    std::uint64_t tag = 0;
    if (!read_varint(tag) || tag >> 3 == 0 || tag >> 32 != 0) return fail();
    field_ = static_cast<std::uint32_t>(tag >> 3);
    type_ = static_cast<wire_type>(tag & 7);
    switch (type_) {
      case wire_type::varint:
        return read_varint(number_) || fail();
      case wire_type::fixed64:
        return read_fixed(8);
      case wire_type::fixed32:
        return read_fixed(4);
      case wire_type::length: {
        std::uint64_t size = 0;
        if (!read_varint(size) || size > static_cast<std::uint64_t>(end_ - p_)) return fail();
        bytes_ = {p_, static_cast<std::size_t>(size)};
        p_ += size;
        return true;
      }
    }
    return fail();  // groups, and what no protobuf has
  }

  std::uint32_t field() const noexcept { return field_; }
  wire_type type() const noexcept { return type_; }
  bool is(std::uint32_t field, wire_type type) const noexcept { return field_ == field && type_ == type; }
  std::string_view bytes() const noexcept { return bytes_; }  // of a field with a length
  std::uint64_t number() const noexcept { return number_; }   // of any other
  double real() const noexcept { return std::bit_cast<double>(number_); }
  bool malformed() const noexcept { return malformed_; }

  // One more varint of a packed list: at the end, false.
  bool next_packed(std::uint64_t& v) noexcept { return p_ != end_ && (read_varint(v) || fail()); }
  bool next_packed_fixed64(std::uint64_t& v) noexcept {
    if (p_ == end_ || !read_fixed(8)) return false;
    v = number_;
    return true;
  }

 private:
  bool read_varint(std::uint64_t& v) noexcept {
    if (p_ != end_ && static_cast<signed char>(*p_) >= 0) {
      v = static_cast<unsigned char>(*p_++);
      return true;
    }
    v = 0;
    for (unsigned shift = 0; shift < 70 && p_ != end_; shift += 7) {
      const auto byte = static_cast<unsigned char>(*p_++);
      if (shift == 63 && byte > 1) return false;
      v |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool read_fixed(std::size_t size) noexcept {
    if (static_cast<std::size_t>(end_ - p_) < size) return fail();
    number_ = 0;
    std::memcpy(&number_, p_, size);
    p_ += size;
    return true;
  }
  bool fail() noexcept {
    malformed_ = true;
    p_ = end_;
    return false;
  }

  const char* p_;
  const char* end_;
  std::string_view bytes_;
  std::uint64_t number_ = 0;
  std::uint32_t field_ = 0;
  wire_type type_ = wire_type::varint;
  bool malformed_ = false;
};
static_assert(std::endian::native == std::endian::little);

}  // namespace telltale::hub
