// A span to JSON lines beside a hand-written writer, in processes that do nothing else.
#include <sstream>

#include "core/bench/child.hpp"
#include "core/bench/figures.hpp"
#include "core/bench/paired.hpp"

namespace telltale::bench {

void add_end_to_end_figures(report& r) {
  const std::string name = "end to end to JSON lines, process CPU";
  const std::string program = beside("core_json_lines");
  if (program.empty()) return r.absent(name, "core_json_lines was not built");
  // Where the system puts a process's pages and threads moves either side by a third, for as long as it lives.
  paired chunks;
  for (int process = 0; process < 7; ++process) {
    const ended e = run_child({program, "7"});
    if (e.code != 0) return r.absent(name, "core_json_lines failed: " + e.output);
    std::istringstream words(e.output);
    for (double floor = 0, ours = 0; words >> floor >> ours;) {
      chunks.floor.push_back(floor);
      chunks.ours.push_back(ours);
    }
  }
  r.add(chunks.as_figure(name, "hand-written JSON writer", ratio_at_most(2.1)));
}

}  // namespace telltale::bench
