// Ordinary failure as a value: result<T> holds a T or an error, and an error is a sentence for a person.
//
//   telltale::result<key> read_key(const std::string& path);
//   auto k = read_key("x.zkey");
//   if (!k) return k.error();              // an error converts to any result
//   use(k->points);
//
// Exceptions are kept for what is not ordinary (out of memory, broken invariants).
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace telltale {

// What happened, where, and what to do about it, in one message without a trailing newline.
struct error {
  std::string message;
};

// Either a value or an error. Accessing the one that is not there is a programming mistake and throws
// std::bad_variant_access.
template <class T>
class [[nodiscard]] result {
 public:
  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  result(telltale::error why)
      : state_(std::in_place_index<1>, std::move(why)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const noexcept { return state_.index() == 0; }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const telltale::error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, telltale::error> state_;
};

template <>
class [[nodiscard]] result<void> {
 public:
  result() = default;
  result(telltale::error why)
      : state_(std::in_place_index<1>, std::move(why)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const noexcept { return state_.index() == 0; }
  const telltale::error& error() const { return std::get<1>(state_); }

 private:
  std::variant<std::monostate, telltale::error> state_;
};

}  // namespace telltale
