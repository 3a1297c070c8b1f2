// Reading the table of sections.
#include "prover/format/sections.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace prover::format {
namespace {

constexpr std::uint32_t max_sections = 64;

std::string numbered(std::uint32_t id) {
  return "section " + std::to_string(id);
}

}  // namespace

telltale::result<section_table> section_table::read(const byte_source& source, std::string_view magic,
                                                    std::uint32_t max_version) {
  section_table table(source);
  const u64 size = source.size();
  if (size == 0) return source.wrong("the file is empty");
  std::array<std::byte, 12> head{};
  if (size < head.size()) {
    return source.wrong("the file has only " + grouped(size) + " bytes, less than a header (truncated?)");
  }
  if (auto done = source.read(0, head); !done) return done.error();
  if (std::memcmp(head.data(), magic.data(), magic.size()) != 0) {
    return source.wrong(
        "it does not begin with \"" + std::string(magic) + "\", so it is no ." + std::string(magic) + " file",
        "Check that it is the right file");
  }
  byte_cursor cursor(std::span<const std::byte>(head).subspan(4));
  const std::uint32_t version = cursor.u32();
  const std::uint32_t count = cursor.u32();
  if (version == 0 || version > max_version) {
    return source.wrong("its version is " + std::to_string(version) + ", and versions 1 to " +
                            std::to_string(max_version) + " are known",
                        "Make it with a snarkjs or circom of this format");
  }
  if (count > max_sections) {
    return source.wrong("it promises " + grouped(count) + " sections, and such a file has at most " +
                        std::to_string(max_sections));
  }
  u64 at = head.size();
  for (std::uint32_t i = 0; i < count; ++i) {
    std::array<std::byte, 12> entry{};
    if (size - at < entry.size()) {
      return source.wrong("the file ends at byte " + grouped(size) + " where the header of section entry " +
                          std::to_string(i + 1) + " of " + std::to_string(count) + " should stand (truncated?)");
    }
    if (auto done = source.read(at, entry); !done) return done.error();
    at += entry.size();
    byte_cursor fields(entry);
    section s;
    s.id = fields.u32();
    s.size = fields.u64_();
    s.offset = at;
    if (s.size > size - at) {
      const bool overflows = s.size > ~u64{0} - at;
      return source.wrong(overflows ? numbered(s.id) + " claims " + grouped(s.size) + " bytes, which no file has"
                                    : numbered(s.id) + " ends at byte " + grouped(at + s.size) + " but the file has " +
                                          grouped(size) + " (truncated?)");
    }
    if (table.has(s.id)) return source.wrong(numbered(s.id) + " comes twice");
    at += s.size;
    table.sections_.push_back(s);
  }
  if (at != size) {
    return source.wrong("the last section ends at byte " + grouped(at) + " but the file has " + grouped(size) +
                        ": there is something after its end");
  }
  return table;
}

bool section_table::has(std::uint32_t id) const noexcept {
  return std::any_of(sections_.begin(), sections_.end(), [&](const section& s) { return s.id == id; });
}

telltale::result<section> section_table::find(std::uint32_t id, std::string_view holds) const {
  for (const auto& s : sections_) {
    if (s.id == id) return s;
  }
  return source_.wrong(numbered(id) + " (" + std::string(holds) + ") is missing");
}

telltale::result<section> section_table::find(std::uint32_t id, std::string_view holds, u64 size) const {
  auto s = find(id, holds);
  if (s && s->size != size) {
    return source_.wrong(numbered(id) + " (" + std::string(holds) + ") has " + grouped(s->size) +
                         " bytes, and its header asks for " + grouped(size));
  }
  return s;
}

telltale::result<std::vector<std::byte>> read_section(const byte_source& source, const section& s) {
  std::vector<std::byte> bytes(s.size);
  if (auto done = source.read(s.offset, bytes); !done) return done.error();
  return bytes;
}

}  // namespace prover::format
