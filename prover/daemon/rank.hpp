// Who comes first: by priority and the time waited, then by deadline, then in order of acceptance.
#pragma once

#include <compare>

#include "prover/daemon/job.hpp"

namespace prover::daemon {

struct rank {
  std::int64_t level = 0;  // higher comes first
  steady_time deadline = steady_time::max();
  std::uint64_t sequence = 0;
  std::size_t piece = 0;  // of a batch

  // Less comes first.
  friend std::strong_ordering operator<=>(const rank& a, const rank& b) noexcept {
    if (a.level != b.level) return b.level <=> a.level;
    if (a.deadline != b.deadline) return a.deadline <=> b.deadline;
    if (a.sequence != b.sequence) return a.sequence <=> b.sequence;
    return a.piece <=> b.piece;
  }
  friend bool operator==(const rank&, const rank&) = default;
};

// A step up for each `ageing` waited, without an upper end: a low job outranks urgent ones that come much later.
inline std::int64_t level_of(priority p, nanoseconds waited, nanoseconds ageing) noexcept {
  return static_cast<std::int64_t>(p) + (ageing.count() > 0 ? waited / ageing : 0);
}

}  // namespace prover::daemon
