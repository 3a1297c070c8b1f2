#include "core/bench/medians.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <iostream>
#include <set>

namespace telltale::bench {
namespace {

struct samples {
  std::vector<double> real;
  std::vector<double> cpu;
  std::map<std::string, std::vector<double>> counters;
};

// Keeps every repetition; prints nothing, since the report has a table of its own.
class collector final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const std::string name = run.run_name.str();
      if (run.error_occurred) {
        if (stopped_.insert(name).second)
          std::cerr << "benchmark " << name << " stopped: " << run.error_message << '\n';
        continue;
      }
      if (run.run_type != Run::RT_Iteration || run.iterations == 0) continue;
      samples& into = by_name[plain(name)];
      const auto iterations = static_cast<double>(run.iterations);
      into.real.push_back(run.real_accumulated_time / iterations * 1e9);
      into.cpu.push_back(run.cpu_accumulated_time / iterations * 1e9);
      for (const auto& [key, counter] : run.counters) into.counters[key].push_back(counter.value);
    }
  }

  std::map<std::string, samples> by_name;

 private:
  std::set<std::string> stopped_;

  // Without the settings that Google Benchmark appends ("/min_time:0.050", "/repeats:9").
  static std::string plain(std::string name) {
    for (const char* setting : {"/min_time:", "/repeats:"}) {
      const auto at = name.find(setting);
      if (at == std::string::npos) continue;
      const auto end = name.find('/', at + 1);
      name.erase(at, end == std::string::npos ? end : end - at);
    }
    return name;
  }
};

}  // namespace

spread spread_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  const double median = n % 2 == 1 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
  return {median, samples.front(), samples.back(), n};
}

std::map<std::string, measured> run_benchmarks(const run_options& options) {
  // The settings are reached through Initialize alone.
  std::vector<std::string> words{"bench", "--benchmark_repetitions=" + std::to_string(std::max(options.repetitions, 9)),
                                 "--benchmark_min_time=" + std::to_string(options.min_seconds),
                                 "--benchmark_enable_random_interleaving=true"};
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());

  collector reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter, options.filter);

  std::map<std::string, measured> result;
  for (const auto& [name, s] : reporter.by_name) {
    measured& m = result[name];
    m.nanoseconds = spread_of(s.real);
    m.cpu_nanoseconds = spread_of(s.cpu);
    for (const auto& [key, values] : s.counters) m.counters[key] = spread_of(values);
  }
  return result;
}

}  // namespace telltale::bench
