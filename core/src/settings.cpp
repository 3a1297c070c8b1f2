// The options' checks.
#include "settings.hpp"

#include "metrics/registry.hpp"
#include "propagation/characters.hpp"

namespace telltale::detail {

namespace {

// "job_id,task_id"; "none" is none.
result<std::vector<std::string>> parse_baggage_keys(std::string_view list) {
  std::vector<std::string> keys;
  if (list == "none") return keys;
  while (!list.empty()) {
    const std::string_view key = trim(take_until(list, ','));
    if (!is_token(key)) {
      return error{"TELLTALE_BAGGAGE: \"" + std::string(key) +
                   "\" is no key: letters, digits and !#$%&'*+-.^_`|~ only. Separate keys with commas, or say none."};
    }
    keys.emplace_back(key);
  }
  return keys;
}

}  // namespace

error bad_share(const std::string& share) {
  return error{"OTEL_TRACES_SAMPLER_ARG: \"" + share + "\" is no share of the traces: a number from 0 to 1"};
}

result<std::pair<std::uint64_t, bool>> parse_sampler(const options& o) {
  constexpr std::string_view by_parent = "parentbased_";
  std::string_view name = o.sampler;
  const bool parent = name.starts_with(by_parent);
  if (parent) name.remove_prefix(by_parent.size());
  constexpr std::uint64_t all = std::uint64_t{1} << 63;
  if (name == "always_on") return std::pair{all, parent};
  if (name == "always_off") return std::pair{std::uint64_t{0}, parent};
  if (name == "traceidratio") {
    if (!(o.sample_ratio >= 0 && o.sample_ratio <= 1)) {
      return bad_share(std::to_string(o.sample_ratio));
    }
    return std::pair{o.sample_ratio == 1 ? all : static_cast<std::uint64_t>(o.sample_ratio * static_cast<double>(all)),
                     parent};
  }
  return error{"OTEL_TRACES_SAMPLER: \"" + o.sampler +
               "\" is no sampler: write always_on, always_off, traceidratio, or parentbased_ and one of these"};
}

result<checked_settings> check_settings(const options& o) {
  auto log = filter::parse(o.log);
  if (!log) return error{"TELLTALE_LOG: " + log.error().message};
  auto trace = filter::parse(o.trace);
  if (!trace) return error{"TELLTALE_TRACE: " + trace.error().message};
  if (o.ring_bytes < 65536 || o.ring_bytes > (std::size_t{1} << 30) || (o.ring_bytes & (o.ring_bytes - 1)) != 0) {
    return error{"TELLTALE_RING: cannot use rings of " + std::to_string(o.ring_bytes) +
                 " bytes: the size is a power of two from 64KiB to 1GiB"};
  }
  if (o.memory_bytes < o.ring_bytes) {
    return error{"TELLTALE_MEMORY: cannot use " + std::to_string(o.memory_bytes) + " bytes of memory for rings of " +
                 std::to_string(o.ring_bytes) + ": at least one must fit"};
  }
  auto keys = parse_baggage_keys(o.baggage);
  if (!keys) return keys.error();
  if (o.max_series < 2 || o.max_series > max_series_limit) {
    return error{"TELLTALE_MAX_SERIES: cannot keep " + std::to_string(o.max_series) +
                 " series per instrument: a number from 2 to 1048576"};
  }
  const auto sampler = parse_sampler(o);
  if (!sampler) return sampler.error();
  if (!(o.overhead >= 0 && o.overhead <= 1)) return error{"TELLTALE_OVERHEAD: the share is a number from 0 to 1"};
  return checked_settings{.log = std::move(*log),
                          .trace = std::move(*trace),
                          .baggage_keys = std::move(*keys),
                          .sampling_threshold = sampler->first,
                          .sampling_by_parent = sampler->second};
}

}  // namespace telltale::detail
