// The container that .zkey, .wtns and .r1cs share: a magic word, a version, and numbered sections in any order.
#pragma once

#include <vector>

#include "prover/format/byte_source.hpp"

namespace prover::format {

struct section {
  std::uint32_t id = 0;
  u64 offset = 0;  // of its first byte
  u64 size = 0;
};

class section_table {
 public:
  // Checks everything about the container: magic, version, that the sections follow each other to the last byte of the
  // file, and that no number comes twice.
  static telltale::result<section_table> read(const byte_source& source, std::string_view magic,
                                              std::uint32_t max_version);

  // The section with this number; an error names it and what it should hold.
  telltale::result<section> find(std::uint32_t id, std::string_view holds) const;
  // The same, and it must have exactly this size.
  telltale::result<section> find(std::uint32_t id, std::string_view holds, u64 size) const;
  bool has(std::uint32_t id) const noexcept;

  const std::vector<section>& all() const noexcept { return sections_; }
  const byte_source& source() const noexcept { return source_; }

 private:
  explicit section_table(const byte_source& source) : source_(source) {}
  byte_source source_;
  std::vector<section> sections_;
};

// Walks through bytes that were read whole. Sizes are checked by the callers before they walk.
class byte_cursor {
 public:
  explicit byte_cursor(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  std::size_t left() const noexcept { return rest_.size(); }
  std::uint32_t u32() noexcept { return static_cast<std::uint32_t>(little_endian(4)); }
  u64 u64_() noexcept { return little_endian(8); }
  template <std::size_t N>
  integer<N> number() noexcept {
    integer<N> r{};
    for (auto& limb : r) limb = little_endian(8);
    return r;
  }
  std::span<const std::byte> take(std::size_t n) noexcept {
    const auto r = rest_.first(n);
    rest_ = rest_.subspan(n);
    return r;
  }

 private:
  u64 little_endian(std::size_t n) noexcept {
    u64 r = 0;
    const auto bytes = take(n);
    for (std::size_t i = n; i-- > 0;) r = (r << 8) | static_cast<u64>(bytes[i]);
    return r;
  }
  std::span<const std::byte> rest_;
};

// All bytes of a section whose size has been checked to be reasonable.
telltale::result<std::vector<std::byte>> read_section(const byte_source& source, const section& s);

}  // namespace prover::format
