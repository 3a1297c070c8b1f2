// Payloads to attribute views.
#include "decode.hpp"

#include "catalogue.hpp"

namespace telltale::detail {

namespace {

// Reads one value at `p`; returns the words it takes, 0 when it would go beyond `end`.
std::size_t read_value(const std::uint64_t* p, const std::uint64_t* end, attribute_view& a) noexcept {
  if (p == end) return 0;
  if (a.type != attribute_type::string) {
    a.bits = *p;
    return 1;
  }
  const std::size_t size = *p & 0xffffffff;
  const std::size_t full = *p >> 32;
  const std::size_t words = 1 + (size + 7) / 8;
  if (words > static_cast<std::size_t>(end - p)) return 0;
  a.text = {reinterpret_cast<const char*>(p + 1), size};
  a.cut = full > size;
  return words;
}

}  // namespace

void decode_attributes(const memory_map& m, const std::vector<site_info::attribute>& own, bool static_elsewhere,
                       const std::uint64_t* payload, std::size_t words, std::vector<attribute_view>& out) {
  const std::uint64_t* p = payload;
  const std::uint64_t* const end = payload + words;
  if (!static_elsewhere) {
    std::size_t at = out.size();
    out.resize(at + own.size());  // once, not asked for with every one
    for (const site_info::attribute& a : own) {
      attribute_view& v = out[at];
      v.key = a.key;
      v.type = a.type;
      v.key_number = a.key_number;
      const std::size_t taken = read_value(p, end, v);
      if (taken == 0) return out.resize(at);
      p += taken;
      ++at;
    }
  }
  while (end - p >= 2) {
    const auto key = static_cast<std::uint32_t>(*p);
    const auto type = static_cast<std::uint8_t>(*p >> 32);
    if (type > static_cast<std::uint8_t>(attribute_type::string)) return;
    attribute_view v{read_key(m, key), static_cast<attribute_type>(type), false, 0, {}, key};
    const std::size_t taken = read_value(p + 1, end, v);
    if (taken == 0) return;
    p += 1 + taken;
    out.push_back(v);
  }
}

void keep_last_of_each_key(std::vector<attribute_view>& attributes) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    std::size_t at = kept;
    for (std::size_t k = 0; k < kept; ++k) {
      if (attributes[k].key_number == attributes[i].key_number) at = k;
    }
    attributes[at] = attributes[i];
    if (at == kept) ++kept;
  }
  attributes.resize(kept);
}

}  // namespace telltale::detail
