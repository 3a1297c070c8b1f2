// The C interface over the same slots, rings and catalogue. A C attribute carries its key with every call, so it is
// written like a late attribute: key number and value.
#include <telltale/core/telltale.h>

#include <bit>
#include <cstring>
#include <string>
#include <telltale/core/detail/tally.hpp>
#include <telltale/core/detail/write.hpp>
#include <telltale/core/runtime.hpp>
#include <telltale/core/span.hpp>

#include "catalogue.hpp"
#include "memory.hpp"
#include "record.hpp"

using namespace telltale;
using namespace telltale::detail;

namespace {

std::string_view view(telltale_str s) noexcept {
  return s.data != nullptr ? std::string_view{s.data, s.size} : std::string_view{};
}

// A thread's messages stay where they are until its next error. Not destroyed with the thread: C code may look late.
std::string& last_error() {
  thread_local auto* message = new std::string;
  return *message;
}

int fail_with(const telltale::error& e) {
  last_error() = e.message;
  return -1;
}

context from_c(const telltale_context& c) noexcept {
  context out;
  out.trace = {c.trace_high, c.trace_low};
  out.span = {c.span};
  out.scope = {c.scope};
  out.origin = static_cast<std::uint16_t>(c.reserved);
  out.flags = static_cast<std::uint16_t>(c.reserved >> 16);
  return out;
}

telltale_context to_c(const context& c) noexcept {
  return {c.trace.high, c.trace.low, c.span.value, c.scope.value, c.origin | std::uint32_t{c.flags} << 16};
}

site* from_c(telltale_site* s) noexcept {
  return reinterpret_cast<site*>(s);
}

// The number of a key without the registry's lock where this thread has met it before. The catalogue's text never
// moves, so a cached number is checked against it.
std::uint32_t key_of(std::string_view key) noexcept {
  constexpr std::size_t entries = 256;
  thread_local constinit std::uint32_t cache[entries] = {};
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  std::uint32_t& cached = cache[(hash ^ hash >> 16) % entries];
  const memory_map* m = memory();
  if (cached != 0 && m != nullptr && read_key(*m, cached) == key) return cached;
  return cached = register_key(key);
}

bool is_string(const telltale_attribute& a) noexcept {
  return a.type == TELLTALE_STRING;
}
bool is_valid(const telltale_attribute& a) noexcept {
  return a.type >= TELLTALE_BOOL && a.type <= TELLTALE_STRING;
}

std::uint64_t bits_of(const telltale_attribute& a) noexcept {
  switch (a.type) {
    case TELLTALE_BOOL:
      return a.value.boolean != 0 ? 1 : 0;
    case TELLTALE_INT64:
      return static_cast<std::uint64_t>(a.value.int64);
    case TELLTALE_DOUBLE:
      return std::bit_cast<std::uint64_t>(a.value.float64);
    default:
      return a.value.uint64;
  }
}

std::size_t words_of(const telltale_attribute& a) noexcept {
  return is_string(a) ? 2 + (kept_length(view(a.value.string)) + 7) / 8 : 2;
}

// At most the attributes that a record may carry; the rest is cut off and counted.
std::size_t kept_count(std::size_t count) noexcept {
  if (count <= max_attributes) return count;
  if (has_ring(tls.block)) count_truncated(tls.block);
  return max_attributes;
}

// Writes one attribute into at most `room` words; one that has no room at all is left out and counted.
std::uint64_t* put_tagged(std::uint64_t* p, const telltale_attribute& a, std::size_t room) noexcept {
  if (!is_valid(a)) return p;
  if (room < 2) {
    if (has_ring(tls.block)) count_truncated(tls.block);
    return p;
  }
  put(p, late_key(key_of(view(a.key)), static_cast<attribute_type>(a.type)));
  if (is_string(a)) return put_cut_string(p + 1, view(a.value.string), room - 1);
  put(p + 1, bits_of(a));
  return p + 2;
}

std::uint64_t* put_all(std::uint64_t* p, const telltale_attribute* attributes, std::size_t count,
                       std::size_t room) noexcept {
  std::uint64_t* const end = p + room;
  for (std::size_t i = 0; i < count; ++i) p = put_tagged(p, attributes[i], static_cast<std::size_t>(end - p));
  return p;
}

void set_all(open_slot* slot, const telltale_attribute* attributes, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const telltale_attribute& a = attributes[i];
    if (!is_valid(a)) continue;
    const std::uint32_t key = key_of(view(a.key));
    if (is_string(a)) {
      set_late(slot, key, view(a.value.string));
    } else {
      set_late(slot, key, static_cast<attribute_type>(a.type), bits_of(a));
    }
  }
}

std::size_t payload_of(const telltale_attribute* attributes, std::size_t count) noexcept {
  std::size_t words = 0;
  for (std::size_t i = 0; i < count; ++i) words += is_valid(attributes[i]) ? words_of(attributes[i]) : 0;
  return words;
}

// A handle is the slot and the id of the span that was open in it; where they no longer agree, the span has ended. A
// scope whose span is switched off has no slot, only its number in `generation`.
open_slot* slot_of(telltale_span s) noexcept {
  auto* slot = reinterpret_cast<open_slot*>(s.handle);
  if (slot == nullptr || get(&slot->words[2]) == 0 || id_in(slot) != s.generation) return nullptr;
  return slot;
}

constexpr std::uint64_t owns_scope_bit = std::uint64_t{state_owns_scope} << 16;

}  // namespace

extern "C" {

uint32_t telltale_abi_version(void) {
  return TELLTALE_ABI_VERSION;
}

int telltale_start(void) {
  const auto done = telltale::start();
  return done ? 0 : fail_with(done.error());
}

int telltale_flush(uint32_t timeout_ms) {
  return telltale::flush(std::chrono::milliseconds(timeout_ms)) ? 1 : 0;
}

int telltale_shutdown(uint32_t timeout_ms) {
  return telltale::shutdown(std::chrono::milliseconds(timeout_ms)).complete ? 1 : 0;
}

int telltale_set_log_filter(telltale_str directives) {
  const auto done = set_log_filter(view(directives));
  return done ? 0 : fail_with(done.error());
}

int telltale_set_trace_filter(telltale_str directives) {
  const auto done = set_trace_filter(view(directives));
  return done ? 0 : fail_with(done.error());
}

const char* telltale_last_error(void) {
  return last_error().c_str();
}

telltale_site* telltale_site_new(const telltale_site_description* d) {
  if (d == nullptr || d->kind < TELLTALE_SPAN_SITE || d->kind > TELLTALE_EVENT_SITE || d->level < TELLTALE_LEVEL_OFF ||
      d->level > TELLTALE_LEVEL_TRACE) {
    fail_with({"cannot make a call site: its kind or level is none of the constants in telltale.h"});
    return nullptr;
  }
  const site_description description{view(d->name),
                                     view(d->module),
                                     view(d->file),
                                     d->line,
                                     static_cast<level>(d->level),
                                     static_cast<site_kind>(d->kind)};
  return reinterpret_cast<telltale_site*>(make_site(description, nullptr, 0));
}

int telltale_site_enabled(const telltale_site* s) {
  return s != nullptr && reinterpret_cast<const site*>(s)->maybe_on() ? 1 : 0;
}

telltale_span telltale_span_begin(telltale_site* where, const telltale_attribute* attributes, size_t count,
                                  const telltale_context* parent) {
  site* s = from_c(where);
  if (s == nullptr) return {0, 0};
  const bool is_scope = s->description().kind == site_kind::scope;
  if (!s->maybe_on() && !is_scope) return {0, 0};
  const site::mode how = s->how();
  if (how == site::counted && !count_call(*s)) return {0, 0};
  count = kept_count(count);
  const context former = parent != nullptr ? exchange_context(from_c(*parent)) : current_context();
  if (how == site::counted) {
    open_slot* slot = sample_call(*s);
    tls.current = former;
    return {reinterpret_cast<std::uint64_t>(slot), slot != nullptr ? id_in(slot) : 0};
  }
  new_scope node;
  if (is_scope) {
    node = begin_scope(*s);
    if (node.id != 0) {
      const std::uint64_t* end = put_all(node.words, attributes, count, scope_payload_words);
      filled_scope(node.id, static_cast<std::size_t>(end - node.words));
      tls.current.scope = {node.id};
    }
  }
  telltale_span out{0, node.id};
  if (s->maybe_on()) {
    const std::size_t words = is_scope ? 0 : payload_of(attributes, count);
    const bool fits = words <= slot_payload_words;
    const opening o = open(*s, fits ? words : 0);
    if (open_slot* slot = o.slot) {
      if (node.id != 0) put(&slot->words[0], get(&slot->words[0]) | owns_scope_bit);
      if (fits && !is_scope) put_all(slot->words + header_words, attributes, count, words);
      opened(o);
      if (!fits) set_all(slot, attributes, count);
      out = {reinterpret_cast<std::uint64_t>(slot), id_in(slot)};
    }
  }
  tls.current = former;
  return out;
}

telltale_context telltale_span_context(telltale_span s) {
  if (const open_slot* slot = slot_of(s)) return to_c(slot_context(slot));
  context c = current_context();
  if (s.handle == 0 && s.generation != 0) c.scope = {static_cast<std::uint32_t>(s.generation)};
  return to_c(c);
}

telltale_context telltale_span_enter(telltale_span s) {
  return to_c(exchange_context(from_c(telltale_span_context(s))));
}

void telltale_span_set(telltale_span s, const telltale_attribute* attributes, size_t count) {
  if (open_slot* slot = slot_of(s)) set_all(slot, attributes, kept_count(count));
}

void telltale_span_link(telltale_span s, const telltale_context* target, int32_t kind) {
  open_slot* slot = slot_of(s);
  if (slot == nullptr || target == nullptr) return;
  const bool known = kind >= TELLTALE_LINK_RELATED && kind <= TELLTALE_LINK_WAITS_FOR;
  add_link(slot, from_c(*target), known ? static_cast<link_kind>(kind) : link_kind::related);
}

void telltale_span_event(telltale_span s, telltale_site* where, const telltale_attribute* attributes, size_t count) {
  open_slot* slot = slot_of(s);
  site* event = from_c(where);
  if (slot == nullptr || event == nullptr) return;
  count = kept_count(count);
  const std::size_t words = std::min<std::size_t>(payload_of(attributes, count), max_record_words - header_words);
  std::uint64_t* p = begin_event(slot, *event, words);
  if (p == nullptr) return;
  const std::uint64_t* end = put_all(p, attributes, count, words);
  std::memset(p + (end - p), 0, (words - static_cast<std::size_t>(end - p)) * 8);
  publish(tls.block, record_bytes(words));
}

void telltale_span_kind(telltale_span s, int32_t kind) {
  open_slot* slot = slot_of(s);
  if (slot != nullptr && kind >= TELLTALE_KIND_INTERNAL && kind <= TELLTALE_KIND_CONSUMER) {
    set_kind(slot, static_cast<span_kind>(kind));
  }
}

void telltale_span_fail(telltale_span s, telltale_str code) {
  if (open_slot* slot = slot_of(s)) fail(slot, view(code));
}

void telltale_span_end(telltale_span s) {
  if (open_slot* slot = slot_of(s)) {
    if (is_sample(slot)) return close_sample(slot);
    const bool owns_scope = (get(&slot->words[0]) & owns_scope_bit) != 0;
    const auto scope = static_cast<std::uint32_t>(get(&slot->words[1]));
    close(slot);
    if (owns_scope) end_scope(scope);
  } else if (s.handle == 0 && s.generation != 0) {
    end_scope(static_cast<std::uint32_t>(s.generation));
  }
}

void telltale_log(telltale_site* where, const telltale_attribute* attributes, size_t count) {
  const site* s = from_c(where);
  if (s == nullptr || !s->maybe_on()) return;
  count = kept_count(count);
  const std::size_t words = std::min<std::size_t>(payload_of(attributes, count), max_record_words - header_words);
  std::uint64_t* p = begin_log(*s, words);
  if (p == nullptr) return;
  const std::uint64_t* end = put_all(p, attributes, count, words);
  std::memset(p + (end - p), 0, (words - static_cast<std::size_t>(end - p)) * 8);
  publish(tls.block, record_bytes(words));
}

telltale_context telltale_context_get(void) {
  return to_c(current_context());
}

telltale_context telltale_context_set(const telltale_context* c) {
  return to_c(exchange_context(c != nullptr ? from_c(*c) : context{}));
}

void telltale_name_thread(telltale_str name) {
  name_thread(view(name));
}

telltale_statistics telltale_get_statistics(void) {
  const statistics s = stats();
  return {s.written, s.dropped_total(), s.truncated, s.sink_dropped, s.sink_errors};
}

}  // extern "C"
