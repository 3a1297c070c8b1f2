// Rings in a mapped file beside plain ones: the same bursts in two processes at a time, alternately.
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "core/bench/child.hpp"
#include "core/bench/figures.hpp"
#include "core/bench/medians.hpp"

namespace telltale::bench {
namespace {

constexpr int rounds = 15;
constexpr const char* bursts = "51";

// The median of one process's bursts; 0 where it failed.
double median_burst(const std::string& program, const std::string& directory) {
  const std::string flight = directory.empty() ? std::string("TELLTALE_FLIGHT=") : "TELLTALE_FLIGHT=" + directory;
  const ended e = run_child({"env", flight, program, bursts});
  std::istringstream words(e.output);
  std::vector<double> samples;
  for (double ns = 0; words >> ns;) samples.push_back(ns);
  return e.code == 0 && !samples.empty() ? spread_of(samples).median : 0;
}

void add_pair(report& r, const std::string& name, const std::string& program, const std::string& directory) {
  std::vector<double> ratios;
  std::vector<double> plain;
  for (int i = 0; i < rounds; ++i) {
    const double without = median_burst(program, {});
    const double with = median_burst(program, directory);
    if (without == 0 || with == 0) return r.absent(name, "core_flight_burst failed");
    ratios.push_back(with / without);
    plain.push_back(without);
  }
  const double base = spread_of(plain).median;
  r.add({.name = name,
         .value = spread_of(ratios).median * base,
         .unit = "ns",
         .reference = "plain rings",
         .reference_value = base,
         .bar = ratio_at_most(1.05)});
}

}  // namespace

void add_flight_figures(report& r) {
  const std::string program = beside("core_flight_burst");
  if (program.empty()) return r.absent("span with flight recorder", "core_flight_burst was not built");
  {
    const scratch_directory disk;
    add_pair(r, "span with flight recorder on disk, burst", program, disk / "flights");
  }
  std::string memory = "/dev/shm/telltale-bench-XXXXXX";
  if (::mkdtemp(memory.data()) == nullptr) return r.absent("span with flight recorder in /dev/shm", "no /dev/shm");
  add_pair(r, "span with flight recorder in /dev/shm, burst", program, memory);
  std::error_code ignored;
  std::filesystem::remove_all(memory, ignored);
}

}  // namespace telltale::bench
