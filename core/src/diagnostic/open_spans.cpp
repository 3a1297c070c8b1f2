// The trace context by name: from the current span up through the slots of those that are open.
#include <algorithm>
#include <cstring>
#include <telltale/core/detail/write.hpp>
#include <telltale/core/diagnostic.hpp>
#include <unordered_map>

#include "../catalogue.hpp"
#include "../decode.hpp"
#include "../memory.hpp"
#include "../record.hpp"

namespace telltale {

namespace {

using namespace detail;

constexpr std::size_t max_detail_bytes = 80;

// The first text among a span's attributes says what it is about; that it failed is told elsewhere.
std::string detail_of(const std::vector<attribute_view>& attributes) {
  for (const attribute_view& a : attributes) {
    if (a.type != attribute_type::string || a.key == "error.type") continue;
    const std::size_t kept = cut_to(a.text, max_detail_bytes);
    return std::string(a.text.substr(0, kept)) + (kept < a.text.size() ? "…" : "");
  }
  return {};
}

trace_frame frame_of(const memory_map& m, const std::uint64_t* words) {
  record_header h;
  std::memcpy(&h, words, sizeof h);
  const site_info site = read_site(m, h.site);
  std::vector<attribute_view> attributes;
  if (site.kind == site_kind::scope) {
    const scope_node& n = m.scopes[h.scope & 0xffff & (max_scopes - 1)];
    if (n.id.load(std::memory_order_acquire) == h.scope && n.site == h.site) {
      decode_attributes(m, site.attributes, false, n.payload, n.words, attributes);
    }
  } else {
    decode_attributes(m, site.attributes, (h.flags & flag_no_static_attributes) != 0, words + header_words,
                      std::min<std::size_t>(h.payload_words, slot_payload_words), attributes);
  }
  return {site.name, detail_of(attributes)};
}

}  // namespace

std::vector<trace_frame> open_spans_of(const context& c) {
  const memory_map* m = memory();
  std::vector<trace_frame> frames;
  if (m == nullptr || !c.span) return frames;
  std::unordered_map<std::uint64_t, const open_slot*> open;
  const std::uint32_t slots = m->header->slots.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < slots; ++i) {
    if (get(&m->slots[i].words[2]) != 0) open.emplace(get(&m->slots[i].words[6]), &m->slots[i]);
  }
  std::uint64_t words[slot_words];
  std::uint64_t id = c.span.value;
  for (auto at = open.find(id); at != open.end(); at = open.find(id)) {
    if (!copy_open_span(*at->second, words) || words[6] != id) break;               // it ended meanwhile
    if (const auto site = static_cast<std::uint32_t>(words[0] >> 32); site != 0) {  // 0: beyond the catalogue, nameless
      frames.push_back(frame_of(*m, words));
    }
    open.erase(at);
    id = words[7];
  }
  std::reverse(frames.begin(), frames.end());
  return frames;
}

}  // namespace telltale
