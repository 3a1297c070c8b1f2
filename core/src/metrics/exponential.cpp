// One thread's exponential buckets, and bringing those of many together.
#include "exponential.hpp"

#include <algorithm>
#include <bit>
#include <thread>

namespace telltale::detail {

namespace {

enum : std::size_t { sequence = 0, sum = 1, zeros = 2, halvings = 3, positive = 4 };
constexpr std::size_t negative = positive + 1 + max_exponential_buckets;

std::uint64_t get(const metric_cell& c) noexcept {
  return c.load(std::memory_order_relaxed);
}
void set(metric_cell& c, std::uint64_t v) noexcept {
  c.store(v, std::memory_order_release);  // what is seen while halving goes on brings the odd number with it
}

// Indices first … first + size - 1 have buckets; none where size is 0.
struct window {
  std::int32_t first;
  std::uint32_t size;
};
window window_of(std::uint64_t word) noexcept {
  return {static_cast<std::int32_t>(word & 0xffffffff), static_cast<std::uint32_t>(word >> 32)};
}
std::uint64_t word_of(window w) noexcept {
  return static_cast<std::uint32_t>(w.first) | std::uint64_t{w.size} << 32;
}
std::size_t place_of(std::int32_t index) noexcept {
  const std::int32_t at = index % max_exponential_buckets;
  return static_cast<std::size_t>(at < 0 ? at + max_exponential_buckets : at);
}

void halve_side(metric_cell* side, std::int32_t times) noexcept {
  const window before = window_of(get(side[0]));
  if (before.size == 0) return;
  metric_cell* buckets = side + 1;
  std::uint64_t kept[max_exponential_buckets] = {};
  const window after{before.first >> times,
                     static_cast<std::uint32_t>(((before.first + static_cast<std::int32_t>(before.size) - 1) >> times) -
                                                (before.first >> times) + 1)};
  for (std::uint32_t i = 0; i < before.size; ++i) {
    const std::int32_t index = before.first + static_cast<std::int32_t>(i);
    kept[place_of(index >> times)] += get(buckets[place_of(index)]);
  }
  for (std::size_t i = 0; i < std::size(kept); ++i) set(buckets[i], kept[i]);
  set(side[0], word_of(after));
}

[[gnu::cold, gnu::noinline]] void halve_cells(metric_cell* cells, std::int32_t times) noexcept {
  set(cells[sequence], get(cells[sequence]) + 1);
  halve_side(cells + positive, times);
  halve_side(cells + negative, times);
  set(cells[halvings], get(cells[halvings]) + static_cast<std::uint64_t>(times));
  set(cells[sequence], get(cells[sequence]) + 1);
}

// Adds one side of a thread's cells, as read, to one side of a point of the same scale.
void merge(exponential_buckets& to, const exponential_buckets& from) {
  if (from.counts.empty()) return;
  if (to.counts.empty()) {
    to = from;
    return;
  }
  const std::int32_t first = std::min(to.offset, from.offset);
  const std::int32_t end = std::max(to.offset + static_cast<std::int32_t>(to.counts.size()),
                                    from.offset + static_cast<std::int32_t>(from.counts.size()));
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(end - first));
  for (const exponential_buckets* b : {static_cast<const exponential_buckets*>(&to), &from}) {
    const auto shift = static_cast<std::size_t>(b->offset - first);
    for (std::size_t i = 0; i < b->counts.size(); ++i) counts[shift + i] += b->counts[i];
  }
  to = {first, std::move(counts)};
}

void halve(exponential_buckets& b, std::int32_t times) {
  if (b.counts.empty()) return;
  const std::int32_t first = b.offset >> times;
  const std::int32_t last = (b.offset + static_cast<std::int32_t>(b.counts.size()) - 1) >> times;
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(last - first + 1));
  for (std::size_t i = 0; i < b.counts.size(); ++i) {
    counts[static_cast<std::size_t>(((b.offset + static_cast<std::int32_t>(i)) >> times) - first)] += b.counts[i];
  }
  b = {first, std::move(counts)};
}

exponential_buckets read_side(const metric_cell* side) {
  const window w = window_of(side[0].load(std::memory_order_acquire));
  exponential_buckets out{w.first, {}};
  // A torn read may show any window; it is thrown away, but must not lead outside the cells.
  const std::uint32_t size = std::min<std::uint32_t>(w.size, max_exponential_buckets);
  for (std::uint32_t i = 0; i < size; ++i) {
    const auto index = static_cast<std::int32_t>(static_cast<std::int64_t>(w.first) + i);
    out.counts.push_back(side[1 + place_of(index)].load(std::memory_order_acquire));
  }
  return out;
}

std::int32_t halvings_of(const exponential_buckets& b, const exponential_buckets& c) {
  if (b.counts.empty() || c.counts.empty()) return 0;
  return halvings_for(std::min(b.offset, c.offset), std::max(b.offset + static_cast<std::int64_t>(b.counts.size()),
                                                             c.offset + static_cast<std::int64_t>(c.counts.size())) -
                                                        1);
}

}  // namespace

std::uint64_t record_exponential(metric_cell* cells, double v) noexcept {
  const double before = std::bit_cast<double>(get(cells[sum]));
  cells[sum].store(std::bit_cast<std::uint64_t>(before + v), std::memory_order_relaxed);
  if (v == 0) return add_to(&cells[zeros], 1);
  metric_cell* side = cells + (v > 0 ? positive : negative);
  const double magnitude = std::abs(v);
  std::int32_t index = exponential_index(magnitude, max_scale - static_cast<std::int32_t>(get(cells[halvings])));
  window w = window_of(get(side[0]));
  if (w.size == 0) [[unlikely]] {
    w = {index, 1};
    side[0].store(word_of(w), std::memory_order_relaxed);
  } else if (index < w.first || index >= w.first + static_cast<std::int32_t>(w.size)) [[unlikely]] {
    const std::int64_t last = std::max<std::int64_t>(w.first + static_cast<std::int64_t>(w.size) - 1, index);
    if (const std::int32_t times = halvings_for(std::min(w.first, index), last); times != 0) {
      halve_cells(cells, times);
      index >>= times;
      w = window_of(get(side[0]));
    }
    const std::int32_t first = std::min(w.first, index);
    const std::int32_t end = std::max(w.first + static_cast<std::int32_t>(w.size), index + 1);
    side[0].store(word_of({first, static_cast<std::uint32_t>(end - first)}), std::memory_order_release);
  }
  return add_to(&side[1 + place_of(index)], 1);
}

void halve(exponential_point& p, std::int32_t times) {
  halve(p.positive, times);
  halve(p.negative, times);
  p.scale -= times;
}

void add_exponential(exponential_point& to, const metric_cell* cells) {
  exponential_point one;
  for (;;) {
    const std::uint64_t before = cells[sequence].load(std::memory_order_acquire);
    one.scale = max_scale - static_cast<std::int32_t>(cells[halvings].load(std::memory_order_acquire));
    one.positive = read_side(cells + positive);
    one.negative = read_side(cells + negative);
    if (before % 2 == 0 && cells[sequence].load(std::memory_order_relaxed) == before) break;
    std::this_thread::yield();  // its thread is moving counts
  }
  one.zero_count = get(cells[zeros]);
  to.sum += std::bit_cast<double>(get(cells[sum]));
  to.zero_count += one.zero_count;
  to.count += one.zero_count;
  for (const exponential_buckets* b : {&one.positive, &one.negative}) {
    for (const std::uint64_t n : b->counts) to.count += n;
  }

  if (one.scale < to.scale) halve(to, to.scale - one.scale);
  if (to.scale < one.scale) halve(one, one.scale - to.scale);
  const std::int32_t more = std::max(halvings_of(to.positive, one.positive), halvings_of(to.negative, one.negative));
  if (more != 0) {
    halve(to, more);
    halve(one, more);
  }
  merge(to.positive, one.positive);
  merge(to.negative, one.negative);
}

}  // namespace telltale::detail
