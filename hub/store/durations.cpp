#include "hub/store/durations.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

namespace telltale::hub {

namespace {

// 32 steps an octave, of one nanosecond each below 32.
constexpr unsigned bits = 5;
constexpr std::uint32_t last_step = 64 * 32;

std::uint32_t step_of(std::int64_t duration_ns) noexcept {
  const auto d = static_cast<std::uint64_t>(std::max<std::int64_t>(duration_ns, 0));
  if (d < 32) return static_cast<std::uint32_t>(d);
  const auto octave = static_cast<unsigned>(std::bit_width(d)) - 1 - bits;
  return (octave + 1) * 32 + static_cast<std::uint32_t>(d >> octave & 31);
}

double middle_of(std::uint32_t step) noexcept {
  if (step < 32) return step;
  const double width = std::exp2(step / 32 - 1);
  return (32 + step % 32) * width + (width - 1) / 2;
}

}  // namespace

void duration_histogram::add_step(std::uint32_t step, std::uint32_t count) {
  if (steps.empty()) {
    first_step = step;
    steps.push_back(count);
    return;
  }
  if (step < first_step) {
    steps.insert(steps.begin(), first_step - step, 0);
    first_step = step;
  } else if (step - first_step >= steps.size()) {
    steps.resize(step - first_step + 1);
  }
  steps[step - first_step] += count;
}

void duration_histogram::add(std::int64_t start_ns, std::int64_t duration_ns, bool failed) {
  ++spans;
  errors += failed ? 1 : 0;
  total_ns += static_cast<double>(duration_ns);
  max_ns = std::max(max_ns, duration_ns);
  first_ns = std::min(first_ns, start_ns);
  last_ns = std::max(last_ns, start_ns);
  add_step(step_of(duration_ns), 1);
}

void duration_histogram::add(const duration_histogram& other) {
  spans += other.spans;
  errors += other.errors;
  total_ns += other.total_ns;
  max_ns = std::max(max_ns, other.max_ns);
  first_ns = std::min(first_ns, other.first_ns);
  last_ns = std::max(last_ns, other.last_ns);
  for (std::uint32_t i = 0; i < other.steps.size(); ++i) {
    if (other.steps[i] != 0) add_step(other.first_step + i, other.steps[i]);
  }
}

double duration_histogram::quantile(double q) const {
  if (spans == 0) return 0;
  const double rank = std::clamp(q, 0.0, 1.0) * static_cast<double>(spans - 1);
  std::uint64_t below = 0;
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    below += steps[i];
    if (static_cast<double>(below) > rank) return std::min(middle_of(first_step + i), static_cast<double>(max_ns));
  }
  return static_cast<double>(max_ns);
}

std::string duration_histogram::steps_json() const {
  std::string out = "[";
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    if (steps[i] == 0) continue;
    out += (out.size() > 1 ? ",[" : "[") + std::to_string(first_step + i) + "," + std::to_string(steps[i]) + "]";
  }
  return out + "]";
}

bool duration_histogram::add_steps(std::string_view json) {
  const auto take = [&](std::string_view text) {
    if (!json.starts_with(text)) return false;
    json.remove_prefix(text.size());
    return true;
  };
  const auto number = [&](std::uint32_t& out) {
    const auto [end, failed] = std::from_chars(json.data(), json.data() + json.size(), out);
    json.remove_prefix(static_cast<std::size_t>(end - json.data()));
    return failed == std::errc{};
  };
  if (!take("[")) return false;
  for (bool more = !json.starts_with("]"); more; more = take(",")) {
    std::uint32_t step = 0;
    std::uint32_t count = 0;
    if (!take("[") || !number(step) || !take(",") || !number(count) || !take("]") || step >= last_step) return false;
    add_step(step, count);
  }
  return take("]") && json.empty();
}

duration_histogram& durations_by_name::of(std::string_view name, std::uint8_t kind) {
  const auto it = all_.find(view{name, kind});
  return it != all_.end() ? it->second : all_[{std::string(name), kind}];
}

void durations_by_name::add(const durations_by_name& other) {
  for (const auto& [k, h] : other.all_) of(k.name, k.kind).add(h);
}

}  // namespace telltale::hub
