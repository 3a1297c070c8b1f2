// Memory for records and tables: aligned to cache lines, on huge pages where it is large, wiped where it held secrets.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace prover::vector {

enum class contents : bool { open, secret };

// allocate_pages throws std::bad_alloc; no bytes give a null pointer.
void* allocate_pages(std::size_t bytes);
void free_pages(void* p, std::size_t bytes, contents kind) noexcept;

// A fixed number of elements of a trivial type, not initialised.
template <class T>
class buffer {
 public:
  buffer() = default;
  explicit buffer(std::size_t size, contents kind = contents::open)
      : data_(static_cast<T*>(allocate_pages(size * sizeof(T)))), size_(size), kind_(kind) {}
  buffer(buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), kind_(other.kind_) {}
  buffer& operator=(buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(kind_, other.kind_);
    return *this;
  }
  ~buffer() { free_pages(data_, size_ * sizeof(T), kind_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
  contents kind_ = contents::open;
};

// A vector in such memory, wiped whenever it lets go of some. (prover::secret_vector lives in ordinary memory.)
template <class T>
struct wiping_page_allocator {
  using value_type = T;
  wiping_page_allocator() = default;
  template <class U>
  wiping_page_allocator(const wiping_page_allocator<U>&) {}  // NOLINT: allocators convert
  T* allocate(std::size_t n) { return static_cast<T*>(allocate_pages(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) { free_pages(p, n * sizeof(T), contents::secret); }
  // Elements made without a value are left as they are: the kernels' lists are always filled right after.
  template <class U>
  void construct(U* p) {
    ::new (static_cast<void*>(p)) U;
  }
  template <class U, class... Args>
  void construct(U* p, Args&&... args) {
    ::new (static_cast<void*>(p)) U{std::forward<Args>(args)...};
  }
  bool operator==(const wiping_page_allocator&) const = default;
};
template <class T>
using secret_pages = std::vector<T, wiping_page_allocator<T>>;

}  // namespace prover::vector
