// A span in a burst beside its floor, in processes that do nothing else.
#include <sstream>

#include "core/bench/child.hpp"
#include "core/bench/figures.hpp"
#include "core/bench/paired.hpp"

namespace telltale::bench {

void add_span_figures(report& r) {
  const std::string name = "enabled span, 3 attributes, burst";
  const std::string program = beside("core_span_burst");
  if (program.empty()) return r.absent(name, "core_span_burst was not built");
  // Whether the drain shares the core moves a whole process's bursts by a seventh.
  paired same_loop;
  paired called;
  for (int process = 0; process < 7; ++process) {
    const ended e = run_child({program, "51"});
    if (e.code != 0) return r.absent(name, "core_span_burst failed: " + e.output);
    std::istringstream words(e.output);
    for (double floor = 0, inlined = 0, call = 0; words >> floor >> inlined >> call;) {
      same_loop.floor.push_back(floor);
      same_loop.ours.push_back(inlined);
      called.floor.push_back(floor);
      called.ours.push_back(call);
    }
  }
  r.add(same_loop.as_figure(name, "two rdtsc and 128 bytes", ratio_at_most(1.15)));
  r.add(called.as_figure("the same in a function that is called", "two rdtsc and 128 bytes", {}));
}

}  // namespace telltale::bench
