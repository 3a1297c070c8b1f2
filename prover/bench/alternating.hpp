// Ours and a peer's runs in turn: a slow moment of the machine falls on both.
#pragma once

#include <ctime>
#include <utility>

#include "core/bench/paired.hpp"
#include "prover/bench/peer.hpp"

namespace prover::bench {

inline double ms_on(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

// One run of ours. Its processor time is the whole process's: what telemetry and helping threads take counts.
template <class F>
milliseconds taken_by(F&& run) {
  const double wall = ms_on(CLOCK_MONOTONIC);
  const double cpu = ms_on(CLOCK_PROCESS_CPUTIME_ID);
  static_cast<void>(std::forward<F>(run)());
  return {ms_on(CLOCK_PROCESS_CPUTIME_ID) - cpu, ms_on(CLOCK_MONOTONIC) - wall};
}

// Pairs of runs after one of each that isn't counted: `pairs` of them, or as many, but at least seven, as two minutes
// take. `what` is the time that is compared.
template <class Ours, class Theirs>
telltale::bench::paired alternate(double milliseconds::* what, Ours ours, Theirs theirs, int pairs = 9) {
  constexpr double enough_ms = 120e3;
  telltale::bench::paired p;
  const double start = ms_on(CLOCK_MONOTONIC);
  for (int i = -1; i < pairs; ++i) {
    if (i >= 7 && ms_on(CLOCK_MONOTONIC) - start > enough_ms) break;
    const double their_time = theirs().*what;
    const double our_time = ours().*what;
    if (i < 0) continue;
    p.floor.push_back(their_time);
    p.ours.push_back(our_time);
  }
  return p;
}

inline telltale::bench::figure figure_of(const telltale::bench::paired& p, std::string name, std::string reference,
                                         telltale::bench::bar bar = {}) {
  auto f = p.as_figure(std::move(name), std::move(reference), bar);
  f.unit = "ms";
  return f;
}

}  // namespace prover::bench
