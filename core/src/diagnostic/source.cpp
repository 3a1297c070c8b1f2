// Source texts: where lines begin, and which place an offset means.
#include <algorithm>
#include <telltale/core/source.hpp>

#include "display.hpp"
#include "range.hpp"

namespace telltale {

source_file::source_file(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  starts_.push_back(0);
  for (std::size_t at = text_.find('\n'); at != std::string::npos; at = text_.find('\n', at + 1)) {
    if (at + 1 < text_.size()) starts_.push_back(at + 1);
  }
}

std::string_view source_file::line(std::size_t number) const noexcept {
  if (number == 0 || number > starts_.size()) return {};
  const std::size_t begin = starts_[number - 1];
  std::size_t end = number < starts_.size() ? starts_[number] : text_.size();
  if (end > begin && text_[end - 1] == '\n') {
    --end;
    if (end > begin && text_[end - 1] == '\r') --end;
  }
  return std::string_view{text_}.substr(begin, end - begin);
}

source_file::place source_file::locate(std::size_t offset) const noexcept {
  offset = std::min(offset, text_.size());
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const auto number = static_cast<std::size_t>(after - starts_.begin());
  const std::string_view content = line(number);
  std::size_t in_line = std::min(offset - starts_[number - 1], content.size());
  return {number, detail::code_point_start(content, in_line)};
}

source_position source_file::position(std::size_t offset) const noexcept {
  return detail::position_of(*this, locate(offset));
}

source_position detail::position_of(const source_file& file, const source_file::place& p) noexcept {
  return {p.line, 1 + count_code_points(file.line(p.line).substr(0, p.offset))};
}

detail::place_range detail::range_of(const source_span& s) noexcept {
  const source_file& file = *s.file;
  place_range r{file.locate(s.begin), {}};
  r.end = r.begin;
  if (s.end <= s.begin) return r;
  const source_file::place last = file.locate(s.end - 1);
  const std::string_view rest = file.line(last.line).substr(last.offset);
  r.end = {last.line, last.offset};
  if (!rest.empty()) r.end.offset += next_glyph(rest, 0, 1, {0, 0, {}}).bytes;
  return r;
}

}  // namespace telltale
