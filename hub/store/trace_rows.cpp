#include "hub/store/trace_rows.hpp"

#include <algorithm>

#include "hub/store/store.hpp"

namespace telltale::hub {

std::vector<span_row> as_trace(std::vector<span_row> rows, std::uint64_t limit) {
  std::sort(rows.begin(), rows.end(), [](const span_row& a, const span_row& b) {
    const auto rank = [](const span_row& s) {
      return s.state == span_state::ended ? 0 : s.state == span_state::lost ? 1 : 2;
    };
    return std::pair(a.id.value, rank(a)) < std::pair(b.id.value, rank(b));
  });
  rows.erase(std::unique(rows.begin(), rows.end(), [](const span_row& a, const span_row& b) { return a.id == b.id; }),
             rows.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const span_row& a, const span_row& b) { return a.start_ns < b.start_ns; });
  if (rows.size() > limit) rows.resize(limit);
  return rows;
}

std::vector<link_row> links_of(const std::vector<span_row>& rows, std::optional<span_id> span) {
  std::vector<link_row> out;
  for (const span_row& s : rows) {
    if (span && !(s.id == *span)) continue;
    for (const span_link& l : s.links) out.push_back({s.trace, s.id, l.trace, l.span, l.kind, s.start_ns});
  }
  return out;
}

result<std::vector<std::vector<span_row>>> store::traces(const std::vector<trace_id>& ids) const {
  std::vector<std::vector<span_row>> out;
  for (const trace_id& id : ids) {
    auto one = trace(id);
    if (!one) return one.error();
    out.push_back(*std::move(one));
  }
  return out;
}

}  // namespace telltale::hub
