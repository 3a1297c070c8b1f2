#include "hub/store/recent_spans.hpp"

namespace telltale::hub {

recent_spans::slot recent_spans::slot_of(trace_id trace, span_id span, span_state state) noexcept {
  const std::uint8_t rank = state == span_state::ended ? 2 : state == span_state::lost ? 1 : 0;
  return {trace.low ^ (trace.high * 0x9e3779b97f4a7c15u), span.value, rank};
}

// Where it is, or the empty slot where it would be.
std::size_t recent_spans::find(const slot& s) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::uint64_t h = (s.trace ^ s.span) * 0x9e3779b97f4a7c15u;
  h ^= h >> 32;
  for (std::size_t at = h & mask;; at = (at + 1) & mask) {
    const slot& there = slots_[at];
    if (there.span == 0 || (there.span == s.span && there.trace == s.trace)) return at;
  }
}

void recent_spans::grow() {
  std::vector<slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const slot& s : old) {
    if (s.span != 0) slots_[find(s)] = s;
  }
}

bool recent_spans::add(trace_id trace, span_id span, span_state state) {
  const slot s = slot_of(trace, span, state);
  slot& there = slots_[find(s)];
  if (there.span != 0) {
    if (there.rank >= s.rank) return false;
    there.rank = s.rank;
    return true;
  }
  there = s;
  if (++size_ * 4 > slots_.size() * 3) grow();
  return true;
}

bool recent_spans::holds(trace_id trace, span_id span, span_state state) const noexcept {
  const slot s = slot_of(trace, span, state);
  const slot& there = slots_[find(s)];
  return there.span != 0 && there.rank >= s.rank;
}

}  // namespace telltale::hub
