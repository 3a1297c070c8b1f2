// What a span costs that fires twenty million times a second.
#include <algorithm>
#include <sstream>

#include "core/bench/child.hpp"
#include "core/bench/figures.hpp"
#include "core/bench/paired.hpp"

namespace telltale::bench {

void add_governor_figures(report& r) {
  const std::string name = "span around 50 ns of work, counted";
  const std::string program = beside("core_governed_loop");
  if (program.empty()) return r.absent(name, "core_governed_loop was not built");
  const ended e = run_child({program, "51"});
  std::istringstream words(e.output);
  paired above_off;
  paired above_counter;
  std::vector<double> rates;
  for (double off = 0, counted = 0, counter = 0, rate = 0; words >> off >> counted >> counter >> rate;) {
    above_off.ours.push_back(counted);
    above_off.floor.push_back(off);
    above_counter.ours.push_back(counted);
    above_counter.floor.push_back(counter);
    rates.push_back(rate);
  }
  if (e.code != 0 || rates.empty()) return r.absent(name, "core_governed_loop failed: " + e.output);
  // One per cent of such a loop is less than a counter takes: then the bar is a counter.
  r.add(above_off.as_figure(name, "the same loop, span off", {}));
  r.add(above_counter.as_figure(name + " ", "the same loop with a counter", ratio_at_most(1.01)));
  r.add({.name = "calls of that span per second", .value = spread_of(rates).median / 1e6, .unit = "M"});
}

}  // namespace telltale::bench
