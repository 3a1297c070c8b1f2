// Exemplars: a measurement and the span it was made in, the latest one per counter or bucket.
#include <bit>
#include <chrono>

#include "registry.hpp"

namespace telltale::detail {

namespace {

exemplar_slot* slots_of(series& s) noexcept {
  exemplar_slot* slots = s.exemplars.load(std::memory_order_acquire);
  if (slots != nullptr) return slots;
  auto* fresh = new (std::nothrow) exemplar_slot[s.metric->exemplar_slots];
  if (fresh == nullptr) return nullptr;
  if (s.exemplars.compare_exchange_strong(slots, fresh, std::memory_order_acq_rel)) return fresh;
  delete[] fresh;
  return slots;
}

}  // namespace

// Of two threads that meet in a slot one goes away: no thread waits for another.
void keep_exemplar(series& s, std::uint32_t slot, double value) noexcept {
  exemplar_slot* slots = slots_of(s);
  if (slots == nullptr) return;
  exemplar_slot& e = slots[slot];
  std::uint32_t sequence = e.sequence.load(std::memory_order_relaxed);
  if (sequence % 2 != 0 || !e.sequence.compare_exchange_strong(sequence, sequence + 1, std::memory_order_acquire))
    return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const context& here = tls.current;
  // Released one by one: who sees any of them sees the odd number as well.
  e.value.store(std::bit_cast<std::uint64_t>(value), std::memory_order_release);
  e.time_ns.store(static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count()), std::memory_order_release);
  e.trace_high.store(here.trace.high, std::memory_order_release);
  e.trace_low.store(here.trace.low, std::memory_order_release);
  e.span.store(here.span.value, std::memory_order_release);
  e.sequence.store(sequence + 2, std::memory_order_release);
}

std::vector<exemplar> read_exemplars(const series& s) {
  std::vector<exemplar> out;
  const exemplar_slot* slots = s.exemplars.load(std::memory_order_acquire);
  if (slots == nullptr) return out;
  for (std::uint32_t i = 0; i < s.metric->exemplar_slots; ++i) {
    const exemplar_slot& e = slots[i];
    for (int attempt = 0; attempt < 4; ++attempt) {
      const std::uint32_t before = e.sequence.load(std::memory_order_acquire);
      exemplar x;
      x.value = std::bit_cast<double>(e.value.load(std::memory_order_acquire));
      x.time_ns = static_cast<std::int64_t>(e.time_ns.load(std::memory_order_acquire));
      x.trace = {e.trace_high.load(std::memory_order_acquire), e.trace_low.load(std::memory_order_acquire)};
      x.span = {e.span.load(std::memory_order_acquire)};
      if (before % 2 != 0 || e.sequence.load(std::memory_order_relaxed) != before) continue;
      if (x.span) out.push_back(x);
      break;
    }
  }
  return out;
}

}  // namespace telltale::detail
