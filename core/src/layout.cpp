// Where the parts of the mapping lie.
#include <new>

#include "memory.hpp"

namespace telltale::detail {

namespace {
constexpr std::size_t round_up(std::size_t n, std::size_t to) {
  return (n + to - 1) / to * to;
}
}  // namespace

memory_layout memory_layout::of(std::size_t ring_bytes, std::uint32_t max_blocks) noexcept {
  std::size_t at = 0;
  const auto part = [&](std::size_t bytes) {
    const std::size_t offset = at;
    at += round_up(bytes, 4096);
    return offset;
  };
  memory_layout l{};
  part(sizeof(memory_header));
  l.sites = part(sizeof(mapped_site) * max_sites);
  l.keys = part(sizeof(mapped_text) * max_keys);
  l.attributes = part(sizeof(mapped_attribute) * max_site_attributes);
  l.text = part(catalogue_text_bytes);
  l.scopes = part(sizeof(scope_node) * max_scopes);
  l.slots = part(sizeof(open_slot) * max_slots);
  l.blocks = part(sizeof(thread_block) * max_blocks);
  l.rings = part(ring_bytes * max_blocks);
  l.bytes = at;
  return l;
}

memory_map memory_map::at(std::byte* base, const memory_layout& l) noexcept {
  memory_map m;
  const auto address = [&]<class T>(T*& to, std::size_t offset) {
    to = std::launder(reinterpret_cast<T*>(base + offset));
  };
  address(m.header, 0);
  address(m.sites, l.sites);
  address(m.keys, l.keys);
  address(m.attributes, l.attributes);
  address(m.text, l.text);
  address(m.scopes, l.scopes);
  address(m.slots, l.slots);
  address(m.blocks, l.blocks);
  address(m.rings, l.rings);
  m.layout = l;
  return m;
}

}  // namespace telltale::detail
