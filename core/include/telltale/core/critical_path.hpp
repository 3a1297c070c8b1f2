// Why a span took as long as it did: the chain of work, back from its end, that had to finish before it could.
//
// The path is walked backwards from the root's end. Whoever holds it at an instant hands it to the one of those it
// waited for that ended last before then, gets it back when that one began, and keeps what lies between. It waited for
//  - its children, and for those below it that outlived their own parents (asynchronous work): what outlives a parent
//    is waited for by the nearest ancestor that still runs at its end, and by nobody if it outlives the root;
//  - the spans it links to as `waits-for` or `input-of`, for the part in which both ran.
// Asynchronous work that began while its parent ran hands the path to that parent. Of several that end together the
// longest holds it. A child that begins before its parent counts from its parent's begin.
//
// Two sums hold exactly:
//  - the segments follow each other without a gap: their lengths sum to the root's duration;
//  - for each span, path_ns + slack_ns = its duration (clipped to the root): slack is the part of it in which neither
//    it nor what it waited for made the root longer.
#pragma once

#include <cstdint>
#include <string>
#include <telltale/core/trace_model.hpp>
#include <vector>

namespace telltale {

// A stretch of time in which one span held the path.
struct path_segment {
  std::size_t span = 0;  // index into the tree's spans
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

struct path_span {
  std::size_t span = 0;
  std::int64_t self_ns = 0;   // it held the path itself
  std::int64_t path_ns = 0;   // it or what it waited for held the path
  std::int64_t slack_ns = 0;  // the rest of its duration
};

struct path_phase {
  std::string name;
  std::uint64_t count = 0;   // spans of that name on the path
  std::int64_t self_ns = 0;  // what they held it; sums to the root's duration over all phases
};

struct critical_path {
  std::int64_t total_ns = 0;           // the root's duration
  std::vector<path_segment> segments;  // in order of time
  std::vector<path_span> spans;        // the root and everything below it, parents before children
  std::vector<path_phase> phases;      // largest first; only names that hold the path
};

// Takes time n log n and no recursion, however deep the tree is.
TELLTALE_EXPORT critical_path find_critical_path(const trace_tree& tree, std::size_t root);

}  // namespace telltale
