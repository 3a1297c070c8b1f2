// Stored spans as one tree that can be asked where its time went.
//
// What a store holds is not always a tree: parents are missing, clocks of nodes differ, a task's detail is a trace of
// its own. Here that is put right, and said:
//  - a span that came twice counts once (the one that ended);
//  - a root that links to a span as `detail-of` hangs below that span, also when that is in another trace;
//  - a server's span on another node than its caller, not longer than it and sticking out of it, is a matter of clocks:
//    it is moved into the middle of its caller, and what is below it with it;
//  - of spans that are their own ancestors the first is a root;
//  - several roots (a missing parent, several traces of a job) hang below a span `(together)` from the first begin to
//  the
//    last end: what is its own is time in which nothing was recorded.
#pragma once

#include <span>
#include <telltale/core/trace_model.hpp>
#include <vector>

#include "hub/model.hpp"

namespace telltale::hub {

struct span_view_tree {
  trace_tree tree;             // spans()[i] is made of rows[i]; one more at the end where roots had to be joined
  std::vector<span_row> rows;  // in the order in which they came, each span once
  std::size_t root = 0;
  std::size_t joined_roots = 0;     // how many hang below `(together)`; 0: there is one root
  std::size_t missing_parents = 0;  // spans whose parent is not among them
  std::size_t moved = 0;            // spans that were moved because of their node's clock
};

// Each span once: the one that ended, else the first. (A sender that heard no answer sends again.)
std::vector<span_row> each_once(std::vector<span_row> rows);

// `rows` must not be empty.
span_view_tree view_of(std::vector<span_row> rows);

}  // namespace telltale::hub
