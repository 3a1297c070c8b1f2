// Handing sheets to threads, without a lock: a fork may come at any time.
#include "tallies.hpp"

#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "../record.hpp"

namespace telltale::detail {

constinit tally_sheet no_tallies{};

namespace {

constinit std::atomic<tally_sheet*> sheets{nullptr};
constinit std::atomic<std::uint64_t> distances[max_tallies] = {};

// Beyond this many sheets a thread takes over one that the drain hasn't read yet: its counts stay right, only the
// thread that they are told under may then be the wrong one.
constexpr std::uint32_t many_sheets = 1024;

void end_sheet(void* p) noexcept {
  auto* sheet = static_cast<tally_sheet*>(p);
  if (tls.tallies != sheet) return;  // the child of a fork
  tls.tallies = &no_tallies;
  sheet->state.store(sheet_state::ended, std::memory_order_release);
}

pthread_key_t exit_key;
bool exit_key_made = false;

tally_sheet* take(sheet_state wanted) noexcept {
  for (tally_sheet* s = first_sheet(); s != nullptr; s = s->next) {
    sheet_state found = wanted;
    if (s->state.load(std::memory_order_relaxed) == wanted &&
        s->state.compare_exchange_strong(found, sheet_state::owned, std::memory_order_acquire)) {
      return s;
    }
  }
  return nullptr;
}

tally_sheet* make_sheet() noexcept {
  auto* s = new (std::nothrow) tally_sheet;
  if (s == nullptr) return nullptr;
  s->state.store(sheet_state::owned, std::memory_order_relaxed);
  s->next = sheets.load(std::memory_order_relaxed);
  do s->number = s->next != nullptr ? s->next->number + 1 : 0;
  while (!sheets.compare_exchange_weak(s->next, s, std::memory_order_release, std::memory_order_relaxed));
  return s;
}

}  // namespace

void prepare_tallies() noexcept {
  exit_key_made = ::pthread_key_create(&exit_key, end_sheet) == 0;
}

tally_sheet* first_sheet() noexcept {
  return sheets.load(std::memory_order_acquire);
}

tally_sheet* own_sheet() noexcept {
  if (tls.tallies != &no_tallies) return tls.tallies;
  tally_sheet* s = take(sheet_state::unused);
  if (s == nullptr && first_sheet() != nullptr && first_sheet()->number >= many_sheets) s = take(sheet_state::ended);
  if (s == nullptr) s = make_sheet();
  if (s == nullptr) return nullptr;
  tls.tallies = s;
  if (exit_key_made) ::pthread_setspecific(exit_key, s);
  return s;
}

bool read_tally(const tally& t, std::uint64_t& calls) noexcept {
  for (int attempt = 0; attempt < 8; ++attempt) {
    const std::uint64_t armed = t.armed.load(std::memory_order_acquire);
    const std::int64_t left = t.left.load(std::memory_order_acquire);
    if (left < 0 || t.armed.load(std::memory_order_relaxed) != armed) continue;
    calls = armed - static_cast<std::uint64_t>(left);
    return true;
  }
  return false;
}

std::uint64_t calls_per_sample(std::size_t tally) noexcept {
  return std::max<std::uint64_t>(distances[tally].load(std::memory_order_relaxed), 1);
}
void set_calls_per_sample(std::size_t tally, std::uint64_t calls) noexcept {
  distances[tally].store(calls, std::memory_order_relaxed);
}

std::uint64_t draw_distance(std::uint64_t calls_per_sample, std::uint64_t random) noexcept {
  if (calls_per_sample <= 1) return 1;
  // The number of trials until the first success, each with the chance 1/n: from a uniform number in (0, 1].
  const double uniform = (static_cast<double>(scattered(random) >> 11) + 1.0) * 0x1p-53;
  const double trials = std::log(uniform) / std::log1p(-1.0 / static_cast<double>(calls_per_sample));
  return 1 + static_cast<std::uint64_t>(std::min(trials, 1e15));
}

void reset_tallies_after_fork() noexcept {
  for (tally_sheet* s = first_sheet(); s != nullptr; s = s->next) {
    for (tally& t : s->of) {
      t.left.store(0, std::memory_order_relaxed);
      t.armed.store(0, std::memory_order_relaxed);
    }
    s->state.store(sheet_state::unused, std::memory_order_relaxed);
  }
  tls.tallies = &no_tallies;
  if (exit_key_made) ::pthread_setspecific(exit_key, nullptr);
}

}  // namespace telltale::detail
