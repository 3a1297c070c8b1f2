// libFuzzer: flight records of any bytes. A real one is made, with records, scopes and open spans; the input overwrites
// parts of it; whatever is read then reaches a sink that looks at all of it.
#include <sys/mman.h>

#include <cstring>
#include <telltale/core/detail/write.hpp>

#include "engine.hpp"
#include "flight/replay.hpp"
#include "format.hpp"
#include "governor/tallies.hpp"
#include "input.hpp"
#include "record.hpp"
#include "scopes.hpp"

namespace telltale::detail {

// What the drain asks of the process it lives in; here it has nothing of its own.
constinit std::mutex registry_mutex;
memory_map* memory() noexcept {
  return nullptr;
}
memory_map* memory_locked() noexcept {
  return nullptr;
}
ended_scopes take_ended_scopes() noexcept {
  return 0;
}
void free_scopes(ended_scopes) noexcept {}
void engine::ensure_configured() noexcept {}
bool engine::waits() noexcept {
  return false;
}
void engine::wake_drain() noexcept {}
void engine::made_room() noexcept {}
bool copy_open_span(const open_slot&, std::uint64_t (&)[slot_words]) noexcept {
  return false;
}
tally_sheet* first_sheet() noexcept {
  return nullptr;
}
bool read_tally(const tally&, std::uint64_t&) noexcept {
  return false;
}

}  // namespace telltale::detail

namespace {

using namespace telltale;
using namespace telltale::detail;

constexpr std::size_t ring_bytes = 65536;
constexpr std::uint32_t blocks = 2;
constexpr std::uint64_t now = std::uint64_t{1} << 50;

std::uint32_t text_used = 0;
mapped_text text(memory_map& m, std::string_view s) {
  std::memcpy(m.text + text_used, s.data(), s.size());
  text_used += static_cast<std::uint32_t>(s.size());
  return {text_used - static_cast<std::uint32_t>(s.size()), static_cast<std::uint32_t>(s.size())};
}

void put_record(std::uint64_t* w, record_kind kind, std::uint32_t site, std::uint64_t span, std::size_t payload) {
  w[0] = first_word(record_bytes(payload), kind, site);
  w[1] = second_word(1u << 16 | 1u, payload);
  w[2] = now - 1000;
  w[3] = kind == record_kind::loss ? 3 : now - 500;
  w[4] = 1;
  w[5] = 2;
  w[6] = span;
  w[7] = 0;
}

void fill(memory_map& m) {
  memory_header& h = *m.header;
  std::memcpy(h.magic, layout_magic, sizeof h.magic);
  h.version = layout_version;
  h.layout = layout_hash();
  h.ring_bytes = ring_bytes;
  h.max_blocks = blocks;
  h.started_ticks = now - 100'000;
  h.seen_ticks = now;
  h.clocks[0].ticks = now;
  h.clocks[0].wall_ns = 1'764'660'000'000'000'000;
  h.clocks[0].ns_per_tick = 0.4;
  text_used = 0;
  m.keys[1] = text(m, "n");
  m.keys[2] = text(m, "job_id");
  m.attributes[0] = {1, attribute_type::uint64};
  m.attributes[1] = {2, attribute_type::string};
  m.sites[1] = {text(m, "span"), text(m, "module"), text(m, "file"), 1, level::info, site_kind::span, 1, 0};
  m.sites[2] = {text(m, "a {n}"), text(m, "module"), text(m, "file"), 2, level::info, site_kind::log, 1, 0};
  m.sites[3] = {text(m, "scope"), text(m, "module"), text(m, "file"), 3, level::info, site_kind::scope, 1, 1};
  h.sites = 4;
  h.keys = 3;
  h.attributes = 2;
  h.text_used = text_used;
  h.blocks = blocks;
  h.slots = 64;
  for (std::uint32_t i = 1; i < 4; ++i) {
    scope_node& n = m.scopes[i];
    n.id = i | 1u << 16;
    n.parent = i > 1 ? (i - 1) | 1u << 16 : 0;
    n.site = 3;
    n.words = 2;
    n.payload[0] = 2 | std::uint64_t{2} << 32;
    n.payload[1] = 0x6a6a;
  }
  for (std::uint32_t i = 0; i < blocks; ++i) {
    thread_block& b = m.blocks[i];
    auto* ring = reinterpret_cast<std::uint64_t*>(m.rings + i * ring_bytes);
    std::uint64_t at = 0;
    const auto add = [&](record_kind kind, std::uint32_t site, std::uint64_t span, std::size_t payload) {
      std::uint64_t* w = ring + at / 8;
      put_record(w, kind, site, span, payload);
      for (std::size_t k = 0; k < payload; ++k) w[header_words + k] = k + 1;
      at += record_bytes(payload);
      return w + header_words;
    };
    std::uint64_t* name = add(record_kind::thread, 0, 0, 3);
    name[1] = 6;
    for (std::uint64_t k = 0; k < 4; ++k) {
      add(record_kind::event, 1, 20 + k, 1);
      add(record_kind::link, 0, 20 + k, 4);
      add(record_kind::attributes, 0, 20 + k, 2);
      add(record_kind::log, 2, 20 + k, 1);
      std::uint64_t* span = add(record_kind::span, 1, 20 + k, 1);
      span[-8] |= 3u << 24;
    }
    add(record_kind::loss, 0, 0, 0);
    b.tail = 0;
    b.read = at;
    b.head = at;
    open_slot& slot = m.slots[i];
    put_record(slot.words, record_kind::span, 1, 90 + i, 1);
    slot.block = i;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const memory_layout layout = memory_layout::of(ring_bytes, blocks);
  static std::byte* const base = static_cast<std::byte*>(
      ::mmap(nullptr, layout.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  memory_map m = memory_map::at(base, layout);

  // Patches: which part, where in it, how long, and its bytes.
  fuzz::input in(data, size);
  const std::size_t parts[] = {0,
                               layout.sites,
                               layout.keys,
                               layout.attributes,
                               layout.scopes,
                               layout.slots,
                               layout.blocks,
                               layout.rings,
                               layout.rings + ring_bytes};
  const std::size_t reach[] = {sizeof(memory_header), 300, 64, 64, 2048, 1024, 2 * sizeof(thread_block), 4096, 4096};
  for (std::size_t i = 0; i < std::size(parts); ++i) std::memset(base + parts[i], 0, reach[i] + 16);
  fill(m);
  while (in.left() > 4) {
    const std::size_t part = in.byte() % std::size(parts);
    const std::size_t where = (in.byte() | static_cast<std::size_t>(in.byte()) << 8) % reach[part];
    const std::string_view bytes = in.text(1 + in.byte() % 16);
    std::memcpy(base + parts[part] + where, bytes.data(), bytes.size());
  }

  auto image = flight_image::over(base, layout.bytes);
  if (!image) {
    fuzz::require(!image.error().message.empty());
    return 0;
  }
  replay r(*image);
  class looks_at_all final : public sink {
   public:
    void on_span(const span_view& s) override {
      fuzz::require(s.begin_ns <= s.end_ns && static_cast<unsigned>(s.kind) <= 4);
      look(s.attributes);
      for (const event_view& e : s.events) look(e.attributes);
      for (const link_view& l : s.links) fuzz::require(static_cast<unsigned>(l.kind) <= 4);
      for (const scope_info* at = s.scope; at != nullptr; at = at->parent.get()) look(at->attributes);
    }
    void on_log(const log_view& l) override {
      look(l.attributes);
      message_.clear();
      append_message(message_, l);
    }

   private:
    static void look(std::span<const attribute_view> list) {
      for (const attribute_view& a : list) fuzz::require(std::string(a.text).size() == a.text.size());
    }
    std::string message_;
  };
  const sink_list sinks{std::make_shared<looks_at_all>()};
  r.records({.drained = true, .undrained = true}, sinks);
  r.losses(sinks);
  r.open_spans(sinks);
  buffer w;
  w.reserve(64);
  time_writer(6).put(w, r.last_sign_of_life_ns());
  return 0;
}
