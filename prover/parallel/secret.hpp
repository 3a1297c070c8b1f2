// Memory for witnesses and what is derived from them: wiped before it is given back.
#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace prover {

template <class T>
struct wiping_allocator {
  using value_type = T;
  wiping_allocator() = default;
  template <class U>
  explicit wiping_allocator(const wiping_allocator<U>&) noexcept {}

  T* allocate(std::size_t n) { return std::allocator<T>{}.allocate(n); }
  void deallocate(T* p, std::size_t n) noexcept {
    explicit_bzero(static_cast<void*>(p), n * sizeof(T));
    std::allocator<T>{}.deallocate(p, n);
  }
  // Elements made without a value are left as they are: these buffers are always filled right after.
  template <class U>
  void construct(U* p) noexcept {
    ::new (static_cast<void*>(p)) U;
  }
  template <class U, class... Args>
  void construct(U* p, Args&&... args) {
    ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
  }
  friend bool operator==(const wiping_allocator&, const wiping_allocator&) noexcept { return true; }
};

template <class T>
using secret_vector = std::vector<T, wiping_allocator<T>>;

// A single secret value: wiped at the end of its scope.
template <class T>
class secret {
 public:
  explicit secret(const T& value) noexcept : value_(value) {}
  ~secret() { explicit_bzero(static_cast<void*>(&value_), sizeof value_); }
  secret(const secret&) = delete;
  secret& operator=(const secret&) = delete;
  const T& operator*() const noexcept { return value_; }

 private:
  T value_;
};

}  // namespace prover
