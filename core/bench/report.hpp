// The figures of a benchmark run: collected, printed as a table, written as JSON, judged.
//
//   int main(int argc, char** argv) {
//     const auto options = telltale::bench::parse_options(argc, argv);
//     telltale::bench::report report("core");
//     report.add({.name = "enabled span, burst", .value = 23.1, .unit = "ns",
//                 .reference = "two rdtsc and a 128-byte store", .reference_value = 22.0,
//                 .bar = telltale::bench::ratio_at_most(1.15)});
//     if (!have_spdlog) report.absent("enabled log, 3 attributes", "spdlog isn't installed");
//     return report.finish(options, std::cout);
//   }
//
// Every ./bench report program (bin/bench/report_PART) is written like this. A figure is comparable only with a
// reference measured in the same run.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::bench {

// What a figure must keep: a limit on the value itself, or on its ratio to the reference.
struct bar {
  enum class on { nothing, value, ratio };
  enum class side { at_most, at_least };
  on what = on::nothing;
  side which = side::at_most;
  double limit = 0;
};
constexpr bar value_at_most(double limit) {
  return {bar::on::value, bar::side::at_most, limit};
}
constexpr bar value_at_least(double limit) {
  return {bar::on::value, bar::side::at_least, limit};
}
constexpr bar ratio_at_most(double limit) {
  return {bar::on::ratio, bar::side::at_most, limit};
}
constexpr bar ratio_at_least(double limit) {
  return {bar::on::ratio, bar::side::at_least, limit};
}

struct figure {
  std::string name;
  double value = 0;
  std::string unit;
  std::string reference = {};                  // what the value is compared with; empty: with nothing
  std::optional<double> reference_value = {};  // in the same unit, from the same run
  telltale::bench::bar bar = {};               // no bar: the figure is shown and always holds
};

// value / reference_value; nothing without a reference, or with one that can't divide.
std::optional<double> ratio(const figure& f);
// A figure whose value isn't finite, or whose bar is on a ratio it hasn't got, doesn't hold.
bool holds(const figure& f);
// "<= 0.7 ns", "ratio <= 1.15", or "" without a bar.
std::string describe(const figure& f);

struct options {
  std::optional<std::filesystem::path> json;
  std::map<std::string, std::filesystem::path, std::less<>> peers;  // --peer NAME=PATH

  std::optional<std::filesystem::path> peer(std::string_view name) const;
};

// Reads --json FILE and --peer NAME=PATH. Anything else: a line on stderr and exit code 2.
options parse_options(int argc, const char* const* argv);

class report {
 public:
  explicit report(std::string part) : part_(std::move(part)) {}

  void add(figure f) { figures_.push_back(std::move(f)); }
  // A figure that can't be had here, and why: said on the terminal, left out of the JSON, fails nothing.
  void absent(std::string name, std::string why) { absent_.push_back({std::move(name), std::move(why)}); }

  // The table, one figure a line, then what is absent.
  void print(std::ostream& out) const;
  // An array with one object a line: {part, name, value, unit, reference, reference_value, ratio, bar, holds}; what
  // a figure hasn't got is null.
  std::string json() const;
  bool all_hold() const;

  // Prints, writes the JSON where the options ask for it, and gives main's exit code: 1 where a bar is missed, 2 where
  // the file can't be written.
  int finish(const options& options, std::ostream& out) const;

 private:
  struct missing {
    std::string name;
    std::string why;
  };
  std::string part_;
  std::vector<figure> figures_;
  std::vector<missing> absent_;
};

}  // namespace telltale::bench
