// The table and the tree of a batch.
#include "prover/cli/report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace prover::cli {
namespace {

// The table's columns: each sums the phases of one or two names. What no span covers is in the last one.
struct column {
  std::string_view title;
  std::array<std::string_view, 2> phases;
};
constexpr std::string_view root_name = "prove_groth16";
constexpr std::array<column, 21> columns{
    {{"queue", {"queue"}},        {"key", {"load_key"}},      {"witness", {"load_witness"}},
     {"rows", {"evaluate_rows"}}, {"intt_a", {"intt_a"}},     {"intt_b", {"intt_b"}},
     {"intt_c", {"intt_c"}},      {"ntt_a", {"ntt_a"}},       {"ntt_b", {"ntt_b"}},
     {"ntt_c", {"ntt_c"}},        {"quotient", {"quotient"}}, {"msm_h", {"msm_h"}},
     {"msm_a", {"msm_a"}},        {"msm_b1", {"msm_b1"}},     {"msm_b2", {"msm_b2"}},
     {"msm_c", {"msm_c"}},        {"assemble", {"assemble"}}, {"verify", {"verify", "load_vkey"}},
     {"write", {"write"}},        {"release", {"release"}},   {"other", {root_name}}}};

std::int64_t wall_of(const telltale::breakdown& parts, const column& c) {
  std::int64_t sum = 0;
  for (const auto phase : c.phases) {
    if (!phase.empty()) sum += parts.wall_ns(phase);
  }
  return sum;
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

// Columns as wide as their widest cell; the first two to the left, numbers to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
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
      line += i < 2 ? row[i] + padding : padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace

batch_report::batch_report(std::vector<telltale::trace_span> spans) : tree_(std::move(spans)) {
  for (const std::size_t root : tree_.roots()) {
    const auto& span = tree_.spans()[root];
    if (span.name != root_name) continue;
    jobs_.push_back(
        {root, text_of(span, "job_id"), text_of(span, "kind"), span.failed, telltale::break_down(tree_, root)});
  }
  sort();
}

// In the order in which they were run: by how long they waited.
void batch_report::sort() {
  std::sort(jobs_.begin(), jobs_.end(), [](const job& a, const job& b) {
    return std::pair(a.parts.wall_ns("queue"), a.root) < std::pair(b.parts.wall_ns("queue"), b.root);
  });
}

std::string batch_report::table() const {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> head{"job", "circuit"};
  for (const auto& c : columns) head.emplace_back(c.title);
  head.insert(head.end(), {"total", "share"});
  rows.push_back(head);

  // A job's wait in the queue is other jobs' work: shares are of the time after it.
  std::int64_t all = 0;
  for (const auto& j : jobs_) all += j.parts.total_ns - j.parts.wall_ns("queue");
  for (const auto& j : jobs_) {
    std::vector<std::string> row{j.id, j.circuit + (j.failed ? " (failed)" : "")};
    for (const auto& c : columns) row.push_back(milliseconds(wall_of(j.parts, c)));
    row.push_back(milliseconds(j.parts.total_ns));
    row.push_back(percent(j.parts.total_ns - j.parts.wall_ns("queue"), all));
    rows.push_back(std::move(row));
  }
  std::vector<std::string> shares{"share", "of the work"};
  for (const auto& c : columns) {
    std::int64_t sum = 0;
    for (const auto& j : jobs_) sum += wall_of(j.parts, c);
    shares.push_back(c.title == "queue" ? "-" : percent(sum, all));
  }
  rows.push_back(std::move(shares));
  return aligned(rows) + "Milliseconds. A row's parts sum to its total; \"other\" is what no span covers.\n";
}

std::string batch_report::tree() const {
  const auto work = [](const job& j) { return j.parts.total_ns - j.parts.wall_ns("queue"); };
  const auto longest =
      std::max_element(jobs_.begin(), jobs_.end(), [&](const job& a, const job& b) { return work(a) < work(b); });
  return longest == jobs_.end() ? std::string() : telltale::render_tree(tree_, longest->root);
}

std::string batch_report::json() const {
  auto all = nlohmann::ordered_json::array();
  for (const auto& j : jobs_) {
    nlohmann::ordered_json one;
    one["job_id"] = j.id;
    one["circuit"] = j.circuit;
    one["failed"] = j.failed;
    one["total_ns"] = j.parts.total_ns;
    for (const auto& c : columns) one["parts_ns"][std::string(c.title)] = wall_of(j.parts, c);
    all.push_back(std::move(one));
  }
  return all.dump(1) + "\n";
}

}  // namespace prover::cli
