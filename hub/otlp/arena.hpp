// Memory for strings that live as long as what they were decoded from.
#pragma once

#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace telltale::hub {

class arena {
 public:
  std::string_view copy(std::string_view s) {
    if (s.empty()) return {};
    if (s.size() > left_) grow(s.size());
    std::memcpy(next_, s.data(), s.size());
    const std::string_view kept(next_, s.size());
    next_ += s.size();
    left_ -= s.size();
    return kept;
  }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  void grow(std::size_t wanted) {
    const std::size_t size = wanted > block ? wanted : block;
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    next_ = blocks_.back().get();
    left_ = size;
    bytes_ += size;
  }

  static constexpr std::size_t block = 32u << 10;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace telltale::hub
