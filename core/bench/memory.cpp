// Whether memory stays what it was, in a process that does nothing else.
#include <algorithm>
#include <sstream>
#include <vector>

#include "core/bench/child.hpp"
#include "core/bench/figures.hpp"

namespace telltale::bench {

void add_memory_figures(report& r) {
  const std::string name = "memory over 100 M spans";
  const std::string program = beside("core_steady_memory");
  if (program.empty()) return r.absent(name, "core_steady_memory was not built");
  const ended e = run_child({program, "100"});
  std::istringstream words(e.output);
  std::vector<double> kib;
  for (double n = 0; words >> n;) kib.push_back(n);
  if (e.code != 0 || kib.size() != 11) return r.absent(name, "core_steady_memory failed: " + e.output);
  const double most = *std::max_element(kib.begin() + 1, kib.end());
  r.add({.name = name + ", most above the first",
         .value = (most - kib.front()) / 1024,
         .unit = "MiB",
         .bar = value_at_most(1)});
}

}  // namespace telltale::bench
