// The tables of a batch.
#include "prover/cli/report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>
#include <telltale/core/breakdown.hpp>

namespace prover::cli {
namespace {

constexpr std::string_view root_name = "prove_groth16";

// What is told apart. Each sums the phases of a few names: here a job loads its key, at a daemon it waits for it; there
// it may also wait for a device that others use. What no phase covers is in the last one.
struct part {
  std::string_view name;
  std::string_view group;  // the column of the first table
  std::array<std::string_view, 3> phases;
};
constexpr std::string_view transforms = "ntt";
constexpr std::string_view sums = "msm";
constexpr std::string_view rest = "rest";
constexpr std::array<part, 21> parts{{{"queue", "queue", {"queue", "wait_device"}},
                                      {"key", "load", {"load_key", "wait_key"}},
                                      {"witness", "witness", {"load_witness", "parse", "witness"}},
                                      {"rows", "witness", {"evaluate_rows"}},
                                      {"intt_a", transforms, {"intt_a"}},
                                      {"intt_b", transforms, {"intt_b"}},
                                      {"intt_c", transforms, {"intt_c"}},
                                      {"ntt_a", transforms, {"ntt_a"}},
                                      {"ntt_b", transforms, {"ntt_b"}},
                                      {"ntt_c", transforms, {"ntt_c"}},
                                      {"quotient", transforms, {"quotient"}},
                                      {"msm_h", sums, {"msm_h"}},
                                      {"msm_a", sums, {"msm_a"}},
                                      {"msm_b1", sums, {"msm_b1"}},
                                      {"msm_b2", sums, {"msm_b2"}},
                                      {"msm_c", sums, {"msm_c"}},
                                      {"verify", "verify", {"verify", "load_vkey"}},
                                      {"assemble", rest, {"assemble"}},
                                      {"write", rest, {"write"}},
                                      {"release", rest, {"release"}},
                                      {"other", rest, {}}}};
constexpr std::array<std::string_view, 7> groups{"queue", "load", "witness", transforms, sums, "verify", rest};

std::int64_t wall_of(const job_times& j, const part& p) {
  std::int64_t sum = p.name == "other" ? j.total_ns : 0;
  if (p.name == "other") {
    for (const part& named : parts) sum -= named.name == "other" ? 0 : wall_of(j, named);
    return sum;
  }
  for (const auto& [phase, wall] : j.walls) {
    if (std::ranges::find(p.phases, phase) != p.phases.end()) sum += wall;
  }
  return sum;
}

std::int64_t wall_of(const job_times& j, std::string_view group) {
  std::int64_t sum = 0;
  for (const part& p : parts) sum += p.group == group ? wall_of(j, p) : 0;
  return sum;
}

// A job's wait in the queue is other jobs' work.
std::int64_t work_of(const job_times& j) {
  return j.total_ns - wall_of(j, "queue");
}

std::string text_of(const telltale::trace_span& s, std::string_view key) {
  const auto* value = s.find(key);
  return value != nullptr ? telltale::to_string(*value) : "?";
}

std::string fixed(double value, int decimals) {
  std::array<char, 48> buffer{};
  const int n = std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
  return {buffer.data(), static_cast<std::size_t>(std::max(0, n))};
}
std::string milliseconds(std::int64_t ns) {
  return fixed(static_cast<double>(ns) / 1e6, 1);
}
std::string percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-" : fixed(100.0 * static_cast<double>(part) / static_cast<double>(whole), 1) + "%";
}

// Columns as wide as their widest cell; the first `names` to the left, numbers to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t names) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      if (i != 0) line += "  ";
      line += i < names ? row[i] + padding : padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace

batch_report::batch_report(std::vector<telltale::trace_span> spans) {
  const telltale::trace_tree tree(std::move(spans));
  std::size_t longest = SIZE_MAX;
  std::int64_t most = -1;
  for (const std::size_t root : tree.roots()) {
    const auto& span = tree.spans()[root];
    if (span.name != root_name) continue;
    const telltale::breakdown times = telltale::break_down(tree, root);
    job_times j{text_of(span, "job_id"), text_of(span, "kind"), span.failed, times.total_ns, {}};
    for (const auto& p : times.phases) j.walls.emplace_back(p.name, p.wall_ns);
    if (work_of(j) > most) {
      most = work_of(j);
      longest = root;
    }
    jobs_.push_back(std::move(j));
  }
  // In the order in which they were run.
  std::ranges::stable_sort(jobs_, {}, [](const job_times& j) { return wall_of(j, "queue"); });
  if (longest != SIZE_MAX) tree_ = telltale::render_tree(tree, longest);
}

std::string batch_report::table() const {
  std::int64_t all = 0;
  for (const auto& j : jobs_) all += work_of(j);

  std::vector<std::vector<std::string>> whole{{"job", "circuit"}};
  whole.front().insert(whole.front().end(), groups.begin(), groups.end());
  whole.front().insert(whole.front().end(), {"total", "share"});
  for (const auto& j : jobs_) {
    std::vector<std::string> row{j.id, j.circuit + (j.failed ? " (failed)" : "")};
    for (const auto group : groups) row.push_back(milliseconds(wall_of(j, group)));
    row.push_back(milliseconds(j.total_ns));
    row.push_back(percent(work_of(j), all));
    whole.push_back(std::move(row));
  }
  std::vector<std::string> shares{"share", "of the work"};
  for (const auto group : groups) {
    std::int64_t sum = 0;
    for (const auto& j : jobs_) sum += wall_of(j, group);
    shares.push_back(group == "queue" ? "-" : percent(sum, all));
  }
  whole.push_back(std::move(shares));

  std::vector<std::vector<std::string>> detail{{"ntt and msm"}};
  for (const part& p : parts) {
    if (p.group == transforms || p.group == sums) detail.front().emplace_back(p.name);
  }
  for (const auto& j : jobs_) {
    std::vector<std::string> row{j.id};
    for (const part& p : parts) {
      if (p.group == transforms || p.group == sums) row.push_back(milliseconds(wall_of(j, p)));
    }
    detail.push_back(std::move(row));
  }
  return aligned(whole, 2) + "\n" + aligned(detail, 1) +
         "Milliseconds. A row's parts sum to its total; \"rest\" is assembling, writing, releasing, and what no span "
         "covers.\n";
}

std::string batch_report::json() const {
  auto all = nlohmann::ordered_json::array();
  for (const auto& j : jobs_) {
    nlohmann::ordered_json one;
    one["job_id"] = j.id;
    one["circuit"] = j.circuit;
    one["failed"] = j.failed;
    one["total_ns"] = j.total_ns;
    for (const part& p : parts) one["parts_ns"][std::string(p.name)] = wall_of(j, p);
    all.push_back(std::move(one));
  }
  return all.dump(1) + "\n";
}

}  // namespace prover::cli
