// Spans and scopes.
//
//   TELLTALE_SPAN("msm", "points"_a = n);              from here to the end of the block
//   TELLTALE_DEBUG_SPAN("msm.window", "window"_a = w);
//   TELLTALE_SPAN_AS(s, info, "parse");                the same with a name for the object:
//   s.set("rows"_a = rows);  s.link(other, "input-of");  s.fail("truncated");
//   TELLTALE_SCOPE("prove_groth16", "job_id"_a = id);  a span whose attributes everything below it inherits
//
// Arguments are not evaluated when the site is off. A span that is off passes its parent's context on, so the shape
// of a trace never depends on the log filter. A span is cheap where a phase or a launch is meant; inside a numeric
// loop it is in the wrong place.
//
// A span object belongs to one thread at a time. It is written to the ring once, when it ends; while it is open,
// others see it in its slot.
#pragma once

#include <telltale/core/detail/tally.hpp>
#include <telltale/core/detail/write.hpp>
#include <type_traits>
#include <utility>

namespace telltale {

enum class span_kind : std::uint8_t { internal = 0, server = 1, client = 2, producer = 3, consumer = 4 };

// What a link says about the span it points at.
enum class link_kind : std::uint8_t { related = 0, detail_of = 1, retry_of = 2, input_of = 3, waits_for = 4 };
constexpr std::string_view to_string(link_kind k) noexcept {
  constexpr std::string_view names[] = {"related", "detail-of", "retry-of", "input-of", "waits-for"};
  const auto i = static_cast<std::size_t>(k);
  return i < 5 ? names[i] : std::string_view{"related"};
}

namespace detail {

// The number of a key in the catalogue, looked up once per key and process.
TELLTALE_EXPORT std::uint32_t register_key(std::string_view key) noexcept;
template <fixed_string Key>
inline std::uint32_t key_number() noexcept {
  static const std::uint32_t number = register_key(Key.view());
  return number;
}

TELLTALE_EXPORT void set_late(open_slot* slot, std::uint32_t key, attribute_type type, std::uint64_t bits) noexcept;
TELLTALE_EXPORT void set_late(open_slot* slot, std::uint32_t key, std::string_view value) noexcept;
// Says that the site's own attributes come as parts.
TELLTALE_EXPORT void static_attributes_follow(open_slot* slot) noexcept;
TELLTALE_EXPORT void add_link(open_slot* slot, const context& target, link_kind kind) noexcept;
TELLTALE_EXPORT void fail(open_slot* slot, std::string_view code) noexcept;
TELLTALE_EXPORT void set_kind(open_slot* slot, span_kind kind) noexcept;

// Room for an event record of the span; null when it had to be dropped.
TELLTALE_EXPORT std::uint64_t* begin_event(open_slot* slot, const site& s, std::size_t payload_words) noexcept;

// A new node of inherited attributes under the current scope, for the caller to fill; its number is 0 when there was
// no room (counted). `words` points at room for scope_payload_words.
struct new_scope {
  std::uint32_t id = 0;
  std::uint64_t* words = nullptr;
};
inline constexpr std::size_t scope_payload_words = 28;
TELLTALE_EXPORT new_scope begin_scope(const site& s) noexcept;
TELLTALE_EXPORT void filled_scope(std::uint32_t id, std::size_t words) noexcept;
TELLTALE_EXPORT void end_scope(std::uint32_t id) noexcept;
// Writes a string cut to what fits into `room` words.
TELLTALE_EXPORT std::uint64_t* put_cut_string(std::uint64_t* p, std::string_view s, std::size_t room) noexcept;

template <fixed_string K, attribute_type T>
inline void set_late(open_slot* slot, const attribute<K, T>& a) noexcept {
  if constexpr (T == attribute_type::string) {
    set_late(slot, key_number<K>(), a.value);
  } else {
    set_late(slot, key_number<K>(), T, a.bits);
  }
}

}  // namespace detail

// A span from its construction to the end of its block. Made by the macros below.
class span {
 public:
  template <class S, class F>
  span(S site_of_call, F&& attributes) noexcept {
    site& s = site_of_call();
    const site::mode how = s.how();
    if (how != site::off) [[unlikely]] {
      if (how == site::enabled) [[likely]] {
        attributes([&](const auto&... a) { slot_ = begin(s, a...); });
      } else if (how == site::counted) {
        // A call that is timed is no span: it gives nobody its context.
        if (detail::count_call(s)) slot_ = detail::sample_call(s);
      } else {
        using table = decltype(attributes(detail::collect_table{}));
        if (s.on(table::entries, table::count)) {
          attributes([&](const auto&... a) { slot_ = begin_slow(s, a...); });
        }
      }
    }
  }
  [[gnu::always_inline]] ~span() {
    if (slot_ != nullptr) [[unlikely]]
      detail::finish(slot_);
  }
  span(const span&) = delete;
  span& operator=(const span&) = delete;

  // Whether it is being recorded. Work done only to describe a span belongs behind this.
  explicit operator bool() const noexcept { return slot_ != nullptr; }

  // Adds attributes; a later value of the same key wins.
  template <class... A>
  void set(const A&... a) noexcept {
    if (slot_ != nullptr) (detail::set_late(slot_, a), ...);
  }

  // Points at another span. Both ways: the hub keeps an index in each direction.
  void link(const context& target, link_kind kind = link_kind::related) noexcept {
    if (slot_ != nullptr) detail::add_link(slot_, target, kind);
  }

  // Marks it as failed; `code` is a short, stable word ("truncated_key"), never a message with data in it.
  template <std::size_t N>
  void fail(const char (&code)[N]) noexcept {
    if (slot_ != nullptr) detail::fail(slot_, std::string_view{code, N - 1});
  }

  void kind(span_kind k) noexcept {
    if (slot_ != nullptr) detail::set_kind(slot_, k);
  }

  // Something that happened at one moment of it: TELLTALE_EVENT(s, "retried", "attempt"_a = 2).
  template <class S, class F>
  void event(S site_of_call, F&& attributes) noexcept {
    if (slot_ != nullptr) {
      attributes([&](const auto&... a) { record_event(site_of_call(), a...); });
    }
  }

  // The context of this span (or, when it is not recorded, the one it passes on): for links, threads, carriers.
  TELLTALE_EXPORT context get_context() const noexcept;

 protected:
  span() noexcept = default;

  // Static, so that the object's address is never taken and it lives in a register.
  template <class... A>
  [[gnu::always_inline]] static detail::open_slot* begin(site& s, const A&... a) noexcept {
    const std::size_t words = (std::size_t{0} + ... + detail::payload_words(a));
    if (words <= detail::slot_payload_words) [[likely]] {
      const detail::opening o = detail::open_at_once(s, words);
      if (o.slot != nullptr) [[likely]] {
        [[maybe_unused]] std::uint64_t* p = o.slot->words + detail::header_words;
        ((p = detail::put_attribute(p, a)), ...);
        detail::opened(o);
        return o.slot;
      }
    }
    return begin_slow(s, a...);
  }

  detail::open_slot* slot_ = nullptr;

 private:
  template <class... A>
  void record_event(site& s, const A&... a) noexcept {
    using table = detail::attribute_table<A...>;
    if (!s.on(table::entries, table::count)) return;
    const std::size_t words = (std::size_t{0} + ... + detail::payload_words(a));
    std::uint64_t* p = detail::begin_event(slot_, s, words);
    if (p == nullptr) return;
    ((p = detail::put_attribute(p, a)), ...);
    detail::publish(detail::tls.block, detail::record_bytes(words));
  }

  // The whole of begin(). What doesn't fit into the slot travels as records of its own. (By value, so that the common
  // way can keep the attributes in registers.)
  template <class... A>
  [[gnu::noinline, gnu::cold]] static detail::open_slot* begin_slow(site& s, A... a) noexcept {
    const std::size_t words = (std::size_t{0} + ... + detail::payload_words(a));
    const bool fits = words <= detail::slot_payload_words;
    const detail::opening o = detail::open(s, fits ? words : 0);
    if (o.slot == nullptr) return nullptr;
    if (fits) {
      [[maybe_unused]] std::uint64_t* p = o.slot->words + detail::header_words;
      ((p = detail::put_attribute(p, a)), ...);
      detail::opened(o);
    } else {
      detail::static_attributes_follow(o.slot);
      detail::opened(o);
      (detail::set_late(o.slot, a), ...);
    }
    return o.slot;
  }
};

// A span whose attributes are inherited by every span and line below it. The attributes are kept even where the trace
// filter has switched the span itself off: log lines of two jobs can always be told apart.
class scope : public span {
 public:
  template <class S, class F>
  scope(S site_of_call, F&& attributes) noexcept {
    site& s = site_of_call();
    attributes([&](const auto&... a) { begin_both(s, a...); });
  }
  ~scope() {
    if (scope_ != 0) {
      if (slot_ != nullptr) detail::finish(std::exchange(slot_, nullptr));
      detail::store_position(detail::tls.current, former_);
      detail::end_scope(scope_);
    }
  }

 private:
  template <class... A>
  void begin_both(site& s, const A&... a) noexcept {
    using table = detail::attribute_table<A...>;
    const bool on = s.on(table::entries, table::count);
    former_ = detail::load_position(detail::tls.current);
    const detail::new_scope node = detail::begin_scope(s);
    if (node.id != 0) {
      [[maybe_unused]] std::uint64_t* p = node.words;
      (put_inherited(p, node.words + detail::scope_payload_words, a), ...);
      detail::filled_scope(node.id, static_cast<std::size_t>(p - node.words));
      scope_ = node.id;
      detail::tls.current.scope = scope_id{node.id};
    }
    if (on) {
      const detail::opening o = detail::open(s, 0);
      if (o.slot != nullptr) {
        detail::static_attributes_follow(o.slot);  // the scope has them: what is set later comes first
        detail::opened(o);
        slot_ = o.slot;
      }
    }
  }

  template <class A>
  static void put_inherited(std::uint64_t*& p, std::uint64_t* end, const A& a) noexcept {
    if (p == end) return;
    if constexpr (A::type == attribute_type::string) {
      p = detail::put_cut_string(p, a.value, static_cast<std::size_t>(end - p));
    } else {
      p = detail::put_attribute(p, a);
    }
  }

  detail::position_words former_;
  std::uint32_t scope_ = 0;
};

namespace detail {
// Stands where a span was compiled out.
struct no_span {
  template <class S, class F>
  constexpr no_span(S, F&&) noexcept {}
  explicit constexpr operator bool() const noexcept { return false; }
  template <class... A>
  constexpr void set(const A&...) const noexcept {}
  constexpr void link(const context&, link_kind = link_kind::related) const noexcept {}
  template <std::size_t N>
  constexpr void fail(const char (&)[N]) const noexcept {}
  constexpr void kind(span_kind) const noexcept {}
  template <class S, class F>
  constexpr void event(S, F&&) const noexcept {}
  context get_context() const noexcept { return current_context(); }
};
}  // namespace detail

}  // namespace telltale

// --- macros -------------------------------------------------------------------------------------------------------

#define TELLTALE_SPAN_TYPE_(type, level_) \
  ::std::conditional_t<TELLTALE_COMPILED_IN_(level_), ::telltale::type, ::telltale::detail::no_span>

// A span named `variable`, of a level: trace, debug, info, warn, error.
#define TELLTALE_SPAN_AS(variable, level_, name, ...)                                                               \
  [[maybe_unused]] TELLTALE_SPAN_TYPE_(span, ::telltale::level::level_) variable {                                  \
    TELLTALE_SITE_(::telltale::site_kind::span, ::telltale::level::level_, name), TELLTALE_ATTRIBUTES_(__VA_ARGS__) \
  }
#define TELLTALE_SPAN(...) TELLTALE_SPAN_AS(TELLTALE_CONCAT(telltale_span_, __COUNTER__), info, __VA_ARGS__)
#define TELLTALE_DEBUG_SPAN(...) TELLTALE_SPAN_AS(TELLTALE_CONCAT(telltale_span_, __COUNTER__), debug, __VA_ARGS__)
#define TELLTALE_TRACE_SPAN(...) TELLTALE_SPAN_AS(TELLTALE_CONCAT(telltale_span_, __COUNTER__), trace, __VA_ARGS__)

// A scope named `variable`; a scope is of level info.
#define TELLTALE_SCOPE_AS(variable, name, ...)                                                                     \
  [[maybe_unused]] TELLTALE_SPAN_TYPE_(scope, ::telltale::level::info) variable {                                  \
    TELLTALE_SITE_(::telltale::site_kind::scope, ::telltale::level::info, name), TELLTALE_ATTRIBUTES_(__VA_ARGS__) \
  }
#define TELLTALE_SCOPE(...) TELLTALE_SCOPE_AS(TELLTALE_CONCAT(telltale_span_, __COUNTER__), __VA_ARGS__)

// Something that happened at one moment of the span `variable`.
#define TELLTALE_EVENT(variable, name, ...)                                                     \
  (variable).event(TELLTALE_SITE_(::telltale::site_kind::event, ::telltale::level::info, name), \
                   TELLTALE_ATTRIBUTES_(__VA_ARGS__))
