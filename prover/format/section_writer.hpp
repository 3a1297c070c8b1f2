// Writes the container of .zkey, .wtns and .r1cs. Every section's size is known before its content, so that files of
// any size are written in one pass and need no memory.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <span>
#include <type_traits>

#include "prover/field/integer.hpp"
#include "prover/format/byte_sink.hpp"

namespace prover::format {

class section_writer {
 public:
  section_writer(byte_sink sink, std::string_view magic, std::uint32_t version, std::uint32_t sections)
      : sink_(std::move(sink)) {
    sink_.write(magic);
    number(version, 4);
    number(sections, 4);
  }

  void begin(std::uint32_t id, u64 size) {
    assert(left_ == 0);
    number(id, 4);
    number(size, 8);
    left_ = size;
  }
  void u32(std::uint32_t value) { count(4).number(value, 4); }
  void u64_(u64 value) { count(8).number(value, 8); }
  // Numbers, field elements and points lie in memory as in the formats.
  template <class T>
  void value(const T& v) {
    values(std::span<const T>(&v, 1));
  }
  template <class T>
  void values(std::span<const T> all) {
    static_assert(std::endian::native == std::endian::little);
    static_assert(std::has_unique_object_representations_v<T>);
    count(all.size_bytes()).sink_.write(std::as_bytes(all));
  }
  void text(std::string_view t) { count(t.size()).sink_.write(t); }

  telltale::result<void> commit() {
    assert(left_ == 0);
    return sink_.commit();
  }

 private:
  section_writer& count(u64 bytes) {
    assert(bytes <= left_);
    left_ -= bytes;
    return *this;
  }
  void number(u64 value, unsigned n) {
    std::array<std::byte, 8> bytes{};
    for (unsigned i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
    sink_.write(std::span(bytes).first(n));
  }

  byte_sink sink_;
  u64 left_ = 0;  // of the section
};

}  // namespace prover::format
