// Log lines.
//
//   TELLTALE_INFO("loaded {points} points from {file}", "points"_a = n, "file"_a = telltale::text{path});
//
// The message is a literal with named fields; it is filled in by the drain, never on the calling thread. A field that
// no attribute has is a compile error; an attribute that no field names is recorded all the same and stands behind the
// message. `{{` and `}}` are braces. Arguments are not evaluated when the line is off. A line belongs to the current
// span and inherits the current scope.
#pragma once

#include <telltale/core/detail/write.hpp>
#include <type_traits>
#include <utility>

namespace telltale::detail {

// Never defined as constexpr: reaching one of these is the compile error, and its name the explanation.
void the_message_names_a_field_that_no_attribute_has();
void the_message_has_an_unpaired_brace();

template <class... A>
struct keys {
  static constexpr bool contain([[maybe_unused]] std::string_view key) noexcept { return ((A::key == key) || ...); }
};
// Turns the attributes of a call site into the type that lists them.
struct collect_keys {
  template <class... A>
  keys<A...> operator()(const A&...) const noexcept;
};

// The message of a line whose attributes are what F returns, checked while it is compiled.
template <class F>
struct checked_message {
  template <std::size_t N>
  consteval checked_message(const char (&s)[N]) {  // NOLINT(google-explicit-constructor)
    const std::string_view m{s, N - 1};
    for (std::size_t i = 0; i < m.size(); ++i) {
      const bool doubled = i + 1 < m.size() && m[i + 1] == m[i];
      if (m[i] != '{' && m[i] != '}') continue;
      if (doubled) {
        ++i;
        continue;
      }
      const std::size_t close = m[i] == '{' ? m.find('}', i) : std::string_view::npos;
      if (close == std::string_view::npos) {
        the_message_has_an_unpaired_brace();
        return;
      }
      using attributes = decltype(std::declval<F>()(collect_keys{}));
      if (!attributes::contain(m.substr(i + 1, close - i - 1))) {
        the_message_names_a_field_that_no_attribute_has();
      }
      i = close;
    }
  }
};

// Largest payload of one record; a line that would exceed it has its strings cut, in order, to what is left.
inline constexpr std::size_t max_payload_words = max_record_words - header_words;

TELLTALE_EXPORT std::uint64_t* put_cut_string(std::uint64_t* p, std::string_view s, std::size_t room) noexcept;

template <class... A>
[[gnu::noinline, gnu::cold]] void write_large_log(const site& s, A... a) noexcept {
  std::uint64_t* p = begin_log(s, max_payload_words);
  if (p == nullptr) return;
  std::uint64_t* const end = p + max_payload_words;
  std::size_t left = sizeof...(A);
  const auto one = [&](const auto& attribute) {
    --left;  // every later attribute keeps at least its one word
    if constexpr (std::remove_cvref_t<decltype(attribute)>::type == attribute_type::string) {
      p = put_cut_string(p, attribute.value, static_cast<std::size_t>(end - p) - left);
    } else {
      p = put_attribute(p, attribute);
    }
  };
  (one(a), ...);
  publish(tls.block, record_bytes(max_payload_words));
}

// Inlined, so that lengths that are known while compiling stay so.
template <class... A>
[[gnu::always_inline]] inline void write_log(const site& s, const A&... a) noexcept {
  const std::size_t words = (std::size_t{0} + ... + payload_words(a));
  if constexpr (sizeof...(A) != 0) {
    if (words > max_payload_words) [[unlikely]]
      return write_large_log(s, a...);
  }
  std::uint64_t* p = begin_log(s, words);
  if (p == nullptr) [[unlikely]]
    return;
  ((p = put_attribute(p, a)), ...);
  publish(tls.block, record_bytes(words));
}

template <bool CompiledIn, class S, class F>
inline void log(S site_of_call, checked_message<std::type_identity_t<F>>, F&& attributes) noexcept {
  if constexpr (CompiledIn) {
    site& s = site_of_call();
    if (s.maybe_on()) [[unlikely]] {
      using table = decltype(attributes(collect_table{}));
      if (s.on(table::entries, table::count)) attributes([&](const auto&... a) { write_log(s, a...); });
    }
  }
}

}  // namespace telltale::detail

#define TELLTALE_LOG_(level_, message, ...)                                                                           \
  ::telltale::detail::log<TELLTALE_COMPILED_IN_(level_)>(TELLTALE_SITE_(::telltale::site_kind::log, level_, message), \
                                                         message, TELLTALE_ATTRIBUTES_(__VA_ARGS__))

#define TELLTALE_TRACE(...) TELLTALE_LOG_(::telltale::level::trace, __VA_ARGS__)
#define TELLTALE_DEBUG(...) TELLTALE_LOG_(::telltale::level::debug, __VA_ARGS__)
#define TELLTALE_INFO(...) TELLTALE_LOG_(::telltale::level::info, __VA_ARGS__)
#define TELLTALE_WARN(...) TELLTALE_LOG_(::telltale::level::warn, __VA_ARGS__)
#define TELLTALE_ERROR(...) TELLTALE_LOG_(::telltale::level::error, __VA_ARGS__)
