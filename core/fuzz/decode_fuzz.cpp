// libFuzzer: payloads of any words. Nothing beyond their end is read, and views point into them.
//
// The catalogue is the real one, over a small mapping of this file's own: the engine beneath it is left out.
#include <memory>
#include <set>
#include <string>

#include "catalogue.hpp"
#include "decode.hpp"
#include "engine.hpp"
#include "input.hpp"

namespace telltale::detail {

constinit std::mutex registry_mutex;

memory_map* memory_locked() noexcept {
  static memory_header header{};
  static mapped_text keys[max_keys];
  static char text[catalogue_text_bytes];
  static memory_map map = [] {
    header.keys.store(1, std::memory_order_relaxed);  // number 0 means "none"
    memory_map m;
    m.header = &header;
    m.keys = keys;
    m.text = text;
    return m;
  }();
  return &map;
}

void engine::ensure_configured() noexcept {}

}  // namespace telltale::detail

namespace {

using telltale::attribute_type;
using telltale::attribute_view;
using telltale::detail::memory_map;

constexpr std::string_view key_names[] = {"n", "device", "job_id", "dtype", "curve"};

const memory_map& catalogue() {
  static const memory_map& map = [&]() -> const memory_map& {
    for (const std::string_view key : key_names) telltale::detail::register_key(key);
    return *telltale::detail::memory_locked();
  }();
  return map;
}

std::string_view expected_key(std::uint32_t number) {
  return number >= 1 && number <= std::size(key_names) ? key_names[number - 1] : std::string_view{};
}

void check(const attribute_view& a, std::string_view payload) {
  fuzz::require(a.type <= attribute_type::string && a.key == expected_key(a.key_number));
  if (a.type != attribute_type::string) {
    fuzz::require(a.text.empty() && !a.cut);
    return;
  }
  fuzz::require(a.text.data() >= payload.data() && a.text.data() + a.text.size() <= payload.data() + payload.size());
  fuzz::require(std::string(a.text).size() == a.text.size());  // reads all of it
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const memory_map& map = catalogue();
  fuzz::input in(data, size);
  const std::uint8_t shape = in.byte();
  std::vector<telltale::site_info::attribute> own;
  for (unsigned i = 0; i < (shape & 7u); ++i) {
    const std::uint32_t number = 1 + i % std::size(key_names);
    own.push_back({std::string(expected_key(number)), static_cast<attribute_type>(in.byte() % 5), number});
  }
  const bool static_elsewhere = (shape & 8u) != 0;

  // Of exactly their size, so that a word too many is noticed.
  const std::size_t words = in.left() / sizeof(std::uint64_t);
  const auto payload = std::make_unique<std::uint64_t[]>(words);
  for (std::size_t i = 0; i < words; ++i) payload[i] = in.word();
  const std::string_view bytes{reinterpret_cast<const char*>(payload.get()), words * sizeof(std::uint64_t)};

  std::vector<attribute_view> out;
  telltale::detail::decode_attributes(map, own, static_elsewhere, payload.get(), words, out);
  fuzz::require(out.size() <= words);
  for (const attribute_view& a : out) check(a, bytes);
  if (!static_elsewhere) {
    for (std::size_t i = 0; i < std::min(own.size(), out.size()); ++i) {
      fuzz::require(out[i].key_number == own[i].key_number && out[i].type == own[i].type);
    }
  }

  std::vector<attribute_view> kept = out;
  telltale::detail::keep_last_of_each_key(kept);
  std::set<std::uint32_t> numbers;
  for (const attribute_view& a : kept) {
    check(a, bytes);
    fuzz::require(numbers.insert(a.key_number).second);
    const auto last = std::find_if(out.rbegin(), out.rend(),
                                   [&](const attribute_view& other) { return other.key_number == a.key_number; });
    fuzz::require(last != out.rend() && last->bits == a.bits && last->text == a.text && last->type == a.type);
  }
  for (const attribute_view& a : out) fuzz::require(numbers.contains(a.key_number));
  return 0;
}
