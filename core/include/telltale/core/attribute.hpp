// Attributes: what a span or a log line may carry, and what it may not.
//
//   "n"_a = 128                      integers, bool, floating point
//   "device"_a = "cuda:0"            a string literal
//   "job_id"_a = telltale::text{id}  a run-time string, said explicitly
//   "dtype"_a = dtype::f16           an enum with a name: std::string_view telltale_name(dtype), found by ADL
//   "job_id"_a = job                 a type of yours that opted in through telltale::attribute_traits
//
// Pointers, std::string by itself, spans, containers and tensors do not compile. That is the point: values of
// tensors, witnesses, keys and user input cannot be passed by accident, and where somebody does pass text, the
// word `text` can be searched for.
//
// Caps: a string is cut to 8,192 bytes at a code-point edge; a span carries at most 128 attributes. Both are
// counted when they are hit (statistics::truncated) and marked in the output.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace telltale {

// The five types an attribute value can have on its way to a sink.
enum class attribute_type : std::uint8_t { boolean = 0, int64 = 1, uint64 = 2, float64 = 3, string = 4 };

inline constexpr std::size_t max_string_bytes = 8192;
inline constexpr std::size_t max_attributes = 128;

// A run-time string that somebody has decided may be recorded. Copied when the span or line is recorded.
struct text {
  std::string_view value;
  constexpr explicit text(std::string_view v) noexcept : value(v) {}
};

// Opt-in for a type of your own: specialise with `static V get(const T&)`, V being any permitted type.
//   template <> struct telltale::attribute_traits<job_id> {
//     static telltale::text get(const job_id& id) { return telltale::text{id.str()}; }
//   };
template <class T>
struct attribute_traits {};

namespace detail {

// A string as a template argument: the key of an attribute.
template <std::size_t N>
struct fixed_string {
  char data[N] = {};
  constexpr fixed_string(const char (&s)[N]) noexcept {  // NOLINT(google-explicit-constructor)
    for (std::size_t i = 0; i < N; ++i) data[i] = s[i];
  }
  constexpr std::string_view view() const noexcept { return {data, N - 1}; }
};

template <class T>
concept character = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
                    std::same_as<T, char16_t> || std::same_as<T, char32_t>;
template <class T>
concept signed_number = std::signed_integral<T> && !character<T> && sizeof(T) <= 8;
template <class T>
concept unsigned_number = std::unsigned_integral<T> && !character<T> && !std::same_as<T, bool> && sizeof(T) <= 8;
template <class T>
concept named_enum = std::is_enum_v<T> && requires(T e) {
  { telltale_name(e) } -> std::convertible_to<std::string_view>;
};
template <class T>
concept opted_in = requires(const T& v) { attribute_traits<T>::get(v); };

template <class T>
inline constexpr bool is_literal = false;
template <std::size_t N>
inline constexpr bool is_literal<const char (&)[N]> = true;

template <fixed_string Key, attribute_type Type>
struct attribute {
  static constexpr std::string_view key = Key.view();
  static constexpr attribute_type type = Type;
  std::uint64_t bits;
};
template <fixed_string Key>
struct attribute<Key, attribute_type::string> {
  static constexpr std::string_view key = Key.view();
  static constexpr attribute_type type = attribute_type::string;
  std::string_view value;
};

template <fixed_string Key, class T>
constexpr auto make_attribute(T&& v) noexcept {
  using value_type = std::remove_cvref_t<T>;
  if constexpr (std::same_as<value_type, bool>) {
    return attribute<Key, attribute_type::boolean>{v ? std::uint64_t{1} : std::uint64_t{0}};
  } else if constexpr (signed_number<value_type>) {
    return attribute<Key, attribute_type::int64>{static_cast<std::uint64_t>(static_cast<std::int64_t>(v))};
  } else if constexpr (unsigned_number<value_type>) {
    return attribute<Key, attribute_type::uint64>{static_cast<std::uint64_t>(v)};
  } else if constexpr (std::floating_point<value_type>) {
    return attribute<Key, attribute_type::float64>{__builtin_bit_cast(std::uint64_t, static_cast<double>(v))};
  } else if constexpr (is_literal<T>) {
    return attribute<Key, attribute_type::string>{std::string_view{v}};
  } else if constexpr (std::same_as<value_type, text>) {
    return attribute<Key, attribute_type::string>{v.value};
  } else if constexpr (named_enum<value_type>) {
    return attribute<Key, attribute_type::string>{std::string_view{telltale_name(v)}};
  } else if constexpr (opted_in<value_type>) {
    return make_attribute<Key>(attribute_traits<value_type>::get(v));
  } else {
    static_assert(is_literal<T>,
                  "telltale: this type cannot be an attribute. Numbers, bool, string literals, enums with "
                  "telltale_name() and telltale::text{...} can. Pointers, strings by themselves, spans, containers "
                  "and tensors cannot, so that no secret or user data is recorded by accident: record a size, a "
                  "shape or an id instead, or opt a type in with telltale::attribute_traits.");
  }
}

template <fixed_string Key>
struct attribute_key {
  template <class T>
  constexpr auto operator=(T&& v) const noexcept {  // NOLINT(misc-unconventional-assign-operator)
    return make_attribute<Key>(static_cast<T&&>(v));
  }
};

}  // namespace detail

inline namespace literals {
// "points"_a = n
template <detail::fixed_string Key>
consteval auto operator""_a() noexcept {
  return detail::attribute_key<Key>{};
}
}  // namespace literals

}  // namespace telltale
