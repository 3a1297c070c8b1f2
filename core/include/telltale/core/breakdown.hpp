// Where the time of a span went, by phase (the name of the spans below it).
//
// Two columns, because phases run in parallel:
//  - `wall`: every instant of the root is split equally among the innermost spans that are running then; what nobody
//    below covers is the root's own. The walls of all phases sum to the root's duration.
//  - `busy`: the time that spans of the phase ran without a child of theirs running; over all threads, so it may exceed
//    the root's duration.
// Spans below the root are clipped to it: what outlives the root does not count.
#pragma once

#include <cstdint>
#include <string>
#include <telltale/core/trace_model.hpp>
#include <vector>

namespace telltale {

struct phase_time {
  std::string name;
  std::uint64_t count = 0;    // spans of that name
  std::int64_t total_ns = 0;  // their durations, children included
  std::int64_t busy_ns = 0;   // without their children
  std::int64_t wall_ns = 0;   // their share of the root's duration
};

struct breakdown {
  std::int64_t total_ns = 0;       // the root's duration
  std::vector<phase_time> phases;  // largest wall share first; the root's own time under the root's name

  TELLTALE_EXPORT const phase_time* find(std::string_view name) const noexcept;
  // Wall share of a phase, 0 where there is none of that name.
  std::int64_t wall_ns(std::string_view name) const noexcept {
    const phase_time* p = find(name);
    return p != nullptr ? p->wall_ns : 0;
  }
};

TELLTALE_EXPORT breakdown break_down(const trace_tree& tree, std::size_t root);

// The tree below a span as text: one line per span with its duration, its share of the root and, for the root, its
// attributes. Equal siblings beyond `max_equal` are summed up in one line.
struct tree_style {
  bool colour = false;
  std::size_t max_equal = 4;
};
TELLTALE_EXPORT std::string render_tree(const trace_tree& tree, std::size_t root, tree_style style = {});

// "812.345 ms", "1.204 s", "17.2 µs": three to four significant digits.
TELLTALE_EXPORT std::string render_duration(std::int64_t ns);

}  // namespace telltale
