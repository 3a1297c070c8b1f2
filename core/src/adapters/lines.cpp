#include "lines.hpp"

#include <telltale/core/attribute.hpp>

namespace telltale::detail {

namespace {

// A job is told by its trace and its scope; that a span ended within a line is no reason to break it.
bool same_job(const context& a, const context& b) noexcept {
  return a.trace == b.trace && a.scope == b.scope;
}

// Where to break a text that is too long for one record: at most `limit` bytes, at a code-point edge.
std::size_t break_at(std::string_view s, std::size_t limit) noexcept {
  std::size_t n = limit;
  while (n > limit - 4 && (static_cast<unsigned char>(s[n]) & 0xc0) == 0x80) --n;
  return n > limit - 4 ? n : limit;
}

}  // namespace

void line_builder::take(const line_destination& to, std::string_view piece, const context& c, bool shared) {
  if (!text_.empty() && !same_job(context_, c)) finish(to);
  while (!piece.empty()) {
    if (text_.empty()) {
      context_ = c;
      shared_ = shared;
    }
    const std::size_t end = piece.find('\n');
    text_ += piece.substr(0, end);
    piece = end == std::string_view::npos ? std::string_view{} : piece.substr(end + 1);
    std::string_view rest = text_;
    while (rest.size() > max_string_bytes) {
      const std::size_t n = break_at(rest, max_string_bytes);
      record(to, rest.substr(0, n), true);
      rest.remove_prefix(n);
    }
    if (end == std::string_view::npos) {
      text_.erase(0, text_.size() - rest.size());
    } else {
      record(to, rest, false);
      text_.clear();
    }
  }
}

void line_builder::finish(const line_destination& to) {
  if (text_.empty()) return;
  record(to, text_, false);
  text_.clear();
}

void line_builder::record(const line_destination& to, std::string_view text, bool continued) const {
  if (!continued && text.ends_with('\r')) text.remove_suffix(1);
  to.source.write_under(context_, to.of, text, {.stream = to.stream, .continued = continued, .shared = shared_});
}

}  // namespace telltale::detail
