// What a run gave.
#include "prover/load/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace prover::load {

namespace {

using ordered = nlohmann::ordered_json;

double ms(nanoseconds d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

double mib(std::size_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

struct phase_sum {
  nanoseconds wall{0};
  nanoseconds busy{0};
};

// The samples of one group that were completed.
struct group {
  std::vector<nanoseconds> latencies;  // sorted
  std::size_t proofs = 0;
  nanoseconds total{0};                                        // the daemon's
  std::vector<std::pair<std::string, phase_sum>> phases = {};  // in the order in which they came first
  phase_sum& phase(const std::string& name) {
    for (auto& [n, sum] : phases) {
      if (n == name) return sum;
    }
    return phases.emplace_back(name, phase_sum{}).second;
  }
  nanoseconds mean() const {
    nanoseconds sum{0};
    for (const nanoseconds l : latencies) sum += l;
    return latencies.empty() ? sum : sum / static_cast<std::int64_t>(latencies.size());
  }
};

std::map<std::string, group> groups_of(const figures& f) {
  std::map<std::string, group> groups;
  for (const sample& s : f.samples) {
    if (s.outcome != "completed") continue;
    group& g = groups[s.group];
    g.latencies.push_back(s.latency);
    g.proofs += s.proofs;
    g.total += s.times.total;
    for (const daemon::phase_time& p : s.times.phases) {
      g.phase(p.name).wall += p.wall;
      g.phase(p.name).busy += p.busy;
    }
  }
  for (auto& [name, g] : groups) std::ranges::sort(g.latencies);
  return groups;
}

std::map<std::string, std::size_t> outcomes_of(const figures& f) {
  std::map<std::string, std::size_t> outcomes;
  for (const sample& s : f.samples) ++outcomes[s.outcome];
  return outcomes;
}

std::size_t proofs_of(const figures& f) {
  std::size_t n = 0;
  for (const sample& s : f.samples) n += s.outcome == "completed" ? s.proofs : 0;
  return n;
}

constexpr double shares[] = {0.5, 0.9, 0.95, 0.99, 1.0};
constexpr const char* share_names[] = {"p50", "p90", "p95", "p99", "max"};

template <class... A>
void line(std::string& out, const char* format, A... arguments) {
  char text[256];
  std::snprintf(text, sizeof text, format, arguments...);
  out += text;
}

}  // namespace

nanoseconds percentile(const std::vector<nanoseconds>& sorted, double share) {
  if (sorted.empty()) return nanoseconds{0};
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

std::string table(const figures& f) {
  std::string out;
  const double seconds = std::chrono::duration<double>(f.wall).count();
  line(out, "%s: %zu jobs, %zu proofs in %.2f s: %.2f proofs/s\n", f.mode.c_str(), f.samples.size(), proofs_of(f),
       seconds, static_cast<double>(proofs_of(f)) / std::max(seconds, 1e-9));
  for (const auto& [outcome, n] : outcomes_of(f)) line(out, "  %-20s %zu\n", outcome.c_str(), n);
  const auto groups = groups_of(f);
  line(out, "\n%-24s %6s %9s", "latency, ms", "jobs", "mean");
  for (const char* name : share_names) line(out, " %9s", name);
  out += '\n';
  for (const auto& [name, g] : groups) {
    line(out, "%-24s %6zu %9.1f", name.c_str(), g.latencies.size(), ms(g.mean()));
    for (const double share : shares) line(out, " %9.1f", ms(percentile(g.latencies, share)));
    out += '\n';
  }
  for (const auto& [name, g] : groups) {
    const double jobs = static_cast<double>(g.latencies.size());
    line(out, "\n%-24s %9s %7s %9s\n", (name + ", per job").c_str(), "wall, ms", "share", "busy, ms");
    for (const auto& [phase, sum] : g.phases) {
      line(out, "  %-22s %9.2f %6.1f%% %9.2f\n", phase.c_str(), ms(sum.wall) / jobs,
           100 * ms(sum.wall) / std::max(ms(g.total), 1e-9), ms(sum.busy) / jobs);
    }
    line(out, "  %-22s %9.2f\n", "total", ms(g.total) / jobs);
  }
  line(out, "\nthe daemon's memory (%s), MiB: %.1f before, %.1f at most, %.1f after; budget %.1f\n",
       f.memory_from_outside ? "from outside" : "as it says", mib(f.memory_before), mib(f.memory_peak),
       mib(f.memory_after), mib(f.budget));
  for (const std::string& finding : f.findings) out += "WRONG: " + finding + '\n';
  return out;
}

std::string json(const figures& f) {
  ordered j;
  j["mode"] = f.mode;
  j["wall_ms"] = ms(f.wall);
  j["jobs"] = f.samples.size();
  j["proofs"] = proofs_of(f);
  j["proofs_per_second"] = static_cast<double>(proofs_of(f)) / std::max(ms(f.wall) / 1000, 1e-9);
  j["outcomes"] = outcomes_of(f);
  j["groups"] = ordered::object();
  for (const auto& [name, g] : groups_of(f)) {
    ordered entry;
    entry["jobs"] = g.latencies.size();
    entry["mean_ms"] = ms(g.mean());
    for (std::size_t i = 0; i < std::size(shares); ++i) {
      entry[std::string(share_names[i]) + "_ms"] = ms(percentile(g.latencies, shares[i]));
    }
    const double jobs = static_cast<double>(g.latencies.size());
    entry["daemon_total_ms"] = ms(g.total) / jobs;
    entry["phases"] = ordered::array();
    for (const auto& [phase, sum] : g.phases) {
      entry["phases"].push_back({{"name", phase}, {"wall_ms", ms(sum.wall) / jobs}, {"busy_ms", ms(sum.busy) / jobs}});
    }
    j["groups"][name] = std::move(entry);
  }
  j["memory"] = {{"before", f.memory_before},
                 {"peak", f.memory_peak},
                 {"after", f.memory_after},
                 {"budget", f.budget},
                 {"from_outside", f.memory_from_outside}};
  j["findings"] = f.findings;
  return j.dump(2) + "\n";
}

}  // namespace prover::load
