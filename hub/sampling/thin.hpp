// Chooses the traces that are thinned.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <telltale/core/context.hpp>
#include <telltale/core/result.hpp>

#include "hub/sampling/settings.hpp"
#include "hub/store/duck.hpp"

namespace telltale::hub {

// How often a name must be seen in the tables before its spans can be ordinary.
inline constexpr int known_from = 20;

struct thinned_counts {
  std::uint64_t spans = 0;
  std::uint64_t links = 0;  // that they carry
  std::int64_t min_ns = 0;  // of their starts
  std::int64_t max_ns = 0;
};

// Fills the connection's table `thin` (trace_hi, trace_lo) with the traces of a generation of tables in memory that
// lose their detail. A trace stays, whole, when one of its spans failed or was lost, was slow, retried something or was
// retried, is of a rare name, or carries sampling.priority above 0; when it is younger than the wait; when `spare` says
// so; when it is linked with a trace that stays; and by lot, the same lot for a trace whenever it is asked.
result<thinned_counts> choose_thinned(const duck::connection& c, std::uint64_t generation, const sampling_settings& s,
                                      std::int64_t now_ns, const std::function<bool(trace_id)>& spare);

// Rows of a relation in memory (`select` gives them) that stay; `high` and `low` are the columns of their trace.
std::string kept_of(const std::string& select, const std::string& high, const std::string& low);
// What stays of the spans that go.
std::string thinned_of(std::uint64_t generation);

}  // namespace telltale::hub
