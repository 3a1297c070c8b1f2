// Reading the environment's variables (docs/environment.md).
#include "environment.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "flight/recorder.hpp"
#include "metrics/registry.hpp"
#include "settings.hpp"
#include "units.hpp"
#include "variable_names.hpp"

namespace telltale {

namespace detail {

std::vector<error> read_environment(options& o) {
  complain_of_slips();
  std::vector<error> errors;
  const auto get = [](const char* name) -> const char* {
    const char* v = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): once, at start
    return v != nullptr && *v != '\0' ? v : nullptr;
  };
  const auto complain = [&](const char* name, const error& e) {
    errors.push_back({std::string(name) + ": " + e.message});
  };

  const auto read_filter = [&](const char* name, std::string& to, filter::grammar g) {
    const char* v = get(name);
    if (v == nullptr) return false;
    if (auto f = filter::parse(v, g); !f) {
      complain(name, f.error());
    } else {
      to = v;
    }
    return true;
  };
  if (!read_filter("TELLTALE_LOG", o.log, filter::grammar::telltale)) {
    if (const char* v = get("RUST_LOG")) {
      if (auto f = filter::parse(v, filter::grammar::rust_log)) {
        o.log = f->as_telltale();
      } else {
        complain("RUST_LOG", f.error());
      }
    }
  }
  read_filter("TELLTALE_TRACE", o.trace, filter::grammar::telltale);
  if (const char* v = get("TELLTALE_SINKS")) o.sinks = v;
  if (const char* v = get("TELLTALE_BAGGAGE")) o.baggage = v;
  if (const char* v = get("TELLTALE_FLIGHT")) {
    if (const auto f = parse_flight(v)) {
      o.flight = v;
    } else {
      complain("TELLTALE_FLIGHT", f.error());
    }
  }

  const auto read_size = [&](const char* name, std::size_t& to) {
    const char* v = get(name);
    if (v == nullptr) return;
    if (auto n = parse_size(v)) {
      to = *n;
    } else {
      complain(name, n.error());
    }
  };
  read_size("TELLTALE_RING", o.ring_bytes);
  read_size("TELLTALE_MEMORY", o.memory_bytes);
  if (const std::string_view v = get("TELLTALE_MAX_SERIES") != nullptr ? get("TELLTALE_MAX_SERIES") : ""; !v.empty()) {
    std::uint32_t n = 0;
    const auto [end, ec] = std::from_chars(v.data(), v.data() + v.size(), n);
    if (ec == std::errc{} && end == v.data() + v.size() && n >= 2 && n <= max_series_limit) {
      o.max_series = n;
    } else {
      complain("TELLTALE_MAX_SERIES", {"\"" + std::string(v) + "\" is no number from 2 to 1048576"});
    }
  }
  if (const char* v = get("TELLTALE_EXIT_TIMEOUT")) {
    if (auto d = parse_duration(v)) {
      o.exit_timeout = *d;
    } else {
      complain("TELLTALE_EXIT_TIMEOUT", d.error());
    }
  }
  const auto read_word = [&](const char* name, std::string_view first, std::string_view second, auto set) {
    const char* v = get(name);
    if (v == nullptr) return;
    if (v == first || v == second) {
      set(v == second);
    } else {
      complain(name, {"\"" + std::string(v) + "\" is neither " + std::string(first) + " nor " + std::string(second)});
    }
  };
  if (const char* v = get("TELLTALE_OVERHEAD")) {
    if (auto share = parse_share(v)) {
      o.overhead = *share;
    } else {
      complain("TELLTALE_OVERHEAD", share.error());
    }
  }
  read_word("TELLTALE_OVERFLOW", "drop", "block",
            [&](bool second) { o.overflow = second ? overflow_policy::block : overflow_policy::drop; });
  read_word("TELLTALE_CLOCK", "tsc", "monotonic", [&](bool second) { o.monotonic_clock = second; });

  if (const char* v = get("OTEL_TRACES_SAMPLER")) {
    options asked = o;
    asked.sampler = v;
    const char* share = get("OTEL_TRACES_SAMPLER_ARG");
    if (share != nullptr && asked.sampler.ends_with("traceidratio")) {
      const std::string_view text = share;
      const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), asked.sample_ratio);
      const bool is_share = failed == std::errc{} && end == text.data() + text.size() && asked.sample_ratio >= 0 &&
                            asked.sample_ratio <= 1;
      if (!is_share) asked.sample_ratio = -1;
    }
    if (auto ok = parse_sampler(asked)) {
      o.sampler = asked.sampler;
      o.sample_ratio = asked.sample_ratio;
    } else {
      errors.push_back(asked.sample_ratio < 0 ? bad_share(share) : ok.error());
    }
  }
  bool tracing = false;
  read_word("TRACING_ENABLED", "false", "true", [&](bool second) { tracing = second; });
  if (tracing) {
    constexpr const char* endpoints[] = {"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
                                         "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"};
    const char* endpoint = get("OTLP_ENDPOINT");
    const bool is_named =
        std::any_of(std::begin(endpoints), std::end(endpoints), [&](const char* name) { return get(name) != nullptr; });
    if (endpoint == nullptr && !is_named) endpoint = "http://localhost:4317";
    o.sinks += std::string("; otlp:") + (endpoint != nullptr ? endpoint : "");
  }
  return errors;
}

}  // namespace detail

result<options> options::from_environment() {
  options o;
  if (const std::vector<error> errors = detail::read_environment(o); !errors.empty()) return errors.front();
  return o;
}

}  // namespace telltale
