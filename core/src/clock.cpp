// Which clock, and how its ticks become time.
#include "clock.hpp"

#include <time.h>

#include <telltale/core/clock.hpp>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace telltale::detail {

std::uint32_t clock_is_slow = 0;

namespace {

const char* why_slow = nullptr;

std::int64_t read(clockid_t id) noexcept {
  timespec t{};
  ::clock_gettime(id, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Linux exports what it found: a counter that is constant and doesn't stop (Intel SDM vol. 3, 18.17.1, "invariant").
const char* why_not_tsc() noexcept {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(0x80000007, &a, &b, &c, &d) == 0 || (d & (1u << 8)) == 0) {
    return "the processor's time-stamp counter is not invariant";
  }
  return nullptr;
#else
  return "there is no time-stamp counter on this architecture";
#endif
}

}  // namespace

void choose_clock(bool monotonic) noexcept {
  why_slow = monotonic ? "asked for" : why_not_tsc();
  clock_is_slow = why_slow != nullptr ? 1 : 0;
}

std::string clock_description() {
  return why_slow == nullptr ? std::string("tsc") : std::string("monotonic (") + why_slow + ")";
}

std::uint64_t slow_ticks() noexcept {
  return static_cast<std::uint64_t>(read(CLOCK_MONOTONIC));
}

clock_sample sample_clocks() noexcept {
  clock_sample best{};
  std::uint64_t width = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t before = ticks();
    const std::int64_t wall = read(CLOCK_REALTIME);
    const std::uint64_t after = ticks();
    if (after - before < width) {
      width = after - before;
      best = {before + width / 2, wall};
    }
  }
  return best;
}

tick_converter::tick_converter(clock_sample first, double ticks_per_ns) noexcept
    : first_(first), anchor_(first), last_(first), rate_(1.0 / ticks_per_ns) {
  pieces_[0] = {first.ticks, first.wall_ns, 1.0 / ticks_per_ns};
}

std::int64_t tick_converter::to_ns(std::uint64_t ticks) const noexcept {
  const piece* p = &pieces_[0];
  for (int i = 1; ticks < p->from && i < count_; ++i) p = &pieces_[i];
  if (ticks < p->from && count_ == kept && p->from > first_.ticks) {  // the begin of a span that was open for long
    const double share = static_cast<double>(static_cast<std::int64_t>(ticks - first_.ticks)) /
                         static_cast<double>(p->from - first_.ticks);
    return first_.wall_ns + static_cast<std::int64_t>(share * static_cast<double>(p->at - first_.wall_ns));
  }
  return p->at + static_cast<std::int64_t>(static_cast<double>(static_cast<std::int64_t>(ticks - p->from)) * p->slope);
}

void tick_converter::correct(clock_sample now) noexcept {
  constexpr std::int64_t step_ns = 1'000'000'000;  // more than this is somebody setting the clock
  constexpr double settle_ns = 1e9;                // an error is worked off in about this time
  const std::int64_t shown = to_ns(now.ticks);
  const std::int64_t error = now.wall_ns - shown;
  const bool stepped = error > step_ns || error < -step_ns;
  double slope = pieces_[0].slope;
  if (stepped) {
    ++steps_;
    first_ = anchor_ = now;
  } else {
    // A wall clock that was moved by less than that must not be taken for a rate: measure anew from here, and let the
    // lean work it off.
    const double passed = static_cast<double>(now.ticks - last_.ticks) * rate_;
    const double moved = static_cast<double>(now.wall_ns - last_.wall_ns) - passed;
    if (moved > 2e6 + 0.05 * passed || moved < -2e6 - 0.05 * passed) anchor_ = now;
    const auto span_ticks = static_cast<double>(now.ticks - anchor_.ticks);
    const auto span_ns = static_cast<double>(now.wall_ns - anchor_.wall_ns);
    if (span_ticks > 0 && span_ns > 0) rate_ = span_ns / span_ticks;
    double lean = static_cast<double>(error) / settle_ns;
    lean = lean > 0.01 ? 0.01 : lean < -0.01 ? -0.01 : lean;
    slope = rate_ * (1.0 + lean);
    if (span_ns > 1e11) anchor_ = now;  // follow a slow drift: the rate of the last minutes
  }
  last_ = now;
  for (int i = kept - 1; i > 0; --i) pieces_[i] = pieces_[i - 1];
  if (count_ < kept) ++count_;
  pieces_[0] = {now.ticks, stepped ? now.wall_ns : shown, slope};
}

}  // namespace telltale::detail
