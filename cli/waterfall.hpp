// The waterfall's rows with what is folded, apart from any screen: so that it can be tested without one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::cli {

struct waterfall_span {
  std::string id;
  std::string name;
  std::string detail;  // lines of text: attributes, events, links
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  bool failed = false;
  std::string state;
  std::size_t depth = 0;
  std::size_t below = 0;  // spans beneath it, which stand right behind it
  bool folded = false;
};

class waterfall {
 public:
  // `body` is the answer of traces/{id}.
  explicit waterfall(std::string_view body);

  const std::string& title() const noexcept { return title_; }
  std::int64_t begin_ns() const noexcept { return begin_ns_; }
  std::int64_t duration_ns() const noexcept { return duration_ns_; }
  const std::vector<waterfall_span>& spans() const noexcept { return spans_; }  // parents before children
  // Indices of the spans that no folded one hides.
  const std::vector<std::size_t>& visible() const noexcept { return visible_; }

  void fold(std::size_t span, bool folded);
  void fold_all(bool folded);  // folded: only the roots and what is right below them remain to be seen

 private:
  void find_visible();
  std::string title_;
  std::int64_t begin_ns_ = 0;
  std::int64_t duration_ns_ = 1;
  std::vector<waterfall_span> spans_;
  std::vector<std::size_t> visible_;
};

}  // namespace telltale::cli
