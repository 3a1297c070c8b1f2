// From rows to a tree. Ids are replaced by positions: two traces may use the same span id.
#include "view.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace telltale::hub {

namespace {

constexpr std::size_t none = SIZE_MAX;

struct span_key {
  trace_id trace;
  span_id span;
  bool operator==(const span_key&) const = default;
};
struct key_hash {
  std::size_t operator()(const span_key& k) const noexcept {
    return static_cast<std::size_t>((k.trace.low ^ k.span.value * 0x9e3779b97f4a7c15u) + k.trace.high);
  }
};
using places = std::unordered_map<span_key, std::size_t, key_hash>;

places drop_doubles(std::vector<span_row>& rows) {
  places at;
  std::vector<span_row> once;
  once.reserve(rows.size());
  for (span_row& r : rows) {
    const auto [place, is_new] = at.try_emplace({r.trace, r.id}, once.size());
    if (is_new) {
      once.push_back(std::move(r));
    } else if (once[place->second].state != span_state::ended && r.state == span_state::ended) {
      once[place->second] = std::move(r);
    }
  }
  rows = std::move(once);
  return at;
}

link_kind kind_of(std::string_view text) {
  for (const link_kind k : {link_kind::detail_of, link_kind::retry_of, link_kind::input_of, link_kind::waits_for}) {
    if (to_string(k) == text) return k;
  }
  return link_kind::related;
}

trace_span span_of(const span_row& r, std::size_t i, std::size_t parent, const places& at) {
  trace_span s;
  s.trace = {0, 1};
  s.id = {i + 1};
  s.parent = {parent == none ? 0 : parent + 1};
  s.name = r.name;
  s.module = r.scope;
  s.begin_ns = r.start_ns;
  s.end_ns = r.start_ns + std::max<std::int64_t>(0, r.duration_ns);
  s.failed = r.status == status_code::error || r.state == span_state::lost;
  s.open = r.state == span_state::open;
  s.attributes = r.attributes;
  for (const span_link& l : r.links) {
    if (const auto target = at.find({l.trace, l.span}); target != at.end()) {
      s.links.push_back({{0, 1}, {target->second + 1}, kind_of(l.kind)});
    }
  }
  return s;
}

// Moves spans whose node's clock differs from their caller's. Parents before children.
std::size_t correct_clocks(std::vector<trace_span>& spans, const std::vector<span_row>& rows) {
  constexpr std::uint8_t server = 2;
  const trace_tree tree(spans);
  std::size_t moved = 0;
  std::vector<std::int64_t> shift(spans.size(), 0);
  std::vector<std::size_t> order = tree.roots();
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::size_t i = order[k];
    for (const std::size_t c : tree.children(i)) {
      shift[c] = rows[c].node == rows[i].node ? shift[i] : 0;
      const std::int64_t parent_begin = spans[i].begin_ns + shift[i];
      const std::int64_t spare = spans[i].duration_ns() - spans[c].duration_ns();
      const std::int64_t early = spans[c].begin_ns - parent_begin;
      const bool elsewhere = !rows[c].node.empty() && !rows[i].node.empty() && rows[c].node != rows[i].node;
      if (elsewhere && rows[c].kind == server && spare >= 0 && (early < 0 || early > spare)) {
        shift[c] = parent_begin + spare / 2 - spans[c].begin_ns;
      }
      order.push_back(c);
    }
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (shift[i] == 0) continue;
    spans[i].begin_ns += shift[i];
    spans[i].end_ns += shift[i];
    ++moved;
  }
  return moved;
}

}  // namespace

std::vector<span_row> each_once(std::vector<span_row> rows) {
  drop_doubles(rows);
  return rows;
}

span_view_tree view_of(std::vector<span_row> rows) {
  const places at = drop_doubles(rows);
  std::size_t missing = 0;
  std::vector<trace_span> spans;
  spans.reserve(rows.size() + 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const span_row& r = rows[i];
    std::size_t parent = none;
    if (r.parent) {
      const auto p = at.find({r.trace, r.parent});
      if (p != at.end()) {
        parent = p->second;
      } else {
        ++missing;
      }
    } else {
      for (const span_link& l : r.links) {
        const auto p = l.kind == "detail-of" ? at.find({l.trace, l.span}) : at.end();
        if (p != at.end()) parent = p->second;
      }
    }
    spans.push_back(span_of(r, i, parent, at));
  }
  const std::size_t moved = correct_clocks(spans, rows);

  trace_tree tree(spans);
  const std::size_t roots = tree.roots().size();
  if (roots > 1) {
    trace_span together;
    together.trace = {0, 1};
    together.id = {spans.size() + 1};
    together.name = "(together)";
    together.begin_ns = INT64_MAX;
    together.end_ns = INT64_MIN;
    for (const trace_span& s : spans) {
      together.begin_ns = std::min(together.begin_ns, s.begin_ns);
      together.end_ns = std::max(together.end_ns, s.end_ns);
    }
    for (const std::size_t r : tree.roots()) spans[r].parent = together.id;
    spans.push_back(std::move(together));
    tree = trace_tree(std::move(spans));
  }
  const std::size_t root = tree.roots().front();
  return {std::move(tree), std::move(rows), root, roots > 1 ? roots : 0, missing, moved};
}

}  // namespace telltale::hub
