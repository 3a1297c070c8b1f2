// The settings, strictly: what cannot be read is an error, never a default.
#include "settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <tuple>

#include "otlp/file.hpp"

namespace telltale::otlp {

namespace {

constexpr std::string_view signal_names[signals] = {"TRACES", "LOGS", "METRICS"};

std::optional<std::string> variable(const std::string& name) {
  const char* v = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): once, at start
  if (v == nullptr || *v == '\0') return std::nullopt;
  return v;
}

// A word and where it was found, for the message.
struct found {
  std::string name;
  std::string value;
};

// OTEL_EXPORTER_OTLP_TRACES_<what>, else OTEL_EXPORTER_OTLP_<what>.
std::optional<found> for_signal(std::size_t signal, const std::string& what) {
  for (const std::string& name :
       {"OTEL_EXPORTER_OTLP_" + std::string(signal_names[signal]) + "_" + what, "OTEL_EXPORTER_OTLP_" + what}) {
    if (auto v = variable(name)) return found{name, *v};
  }
  return std::nullopt;
}

error bad(const found& f, const std::string& wanted) {
  return error{f.name + ": \"" + f.value + "\" is not " + wanted};
}

result<std::uint64_t> positive_number(const found& f) {
  std::uint64_t n = 0;
  const char* end = f.value.data() + f.value.size();
  const auto [stop, failed] = std::from_chars(f.value.data(), end, n);
  if (failed != std::errc{} || stop != end || n == 0 || n > 1'000'000'000'000) {
    return bad(f, "a whole number above 0, for example 5000");
  }
  return n;
}

result<protocol> parse_protocol(const found& f) {
  if (f.value == "grpc") return protocol::grpc;
  if (f.value == "http/protobuf") return protocol::http_protobuf;
  if (f.value == "http/json") return protocol::http_json;
  return bad(f, "a protocol: grpc, http/protobuf or http/json");
}

result<bool> parse_compression(const found& f) {
  if (f.value == "gzip") return true;
  if (f.value == "none") return false;
  return bad(f, "a compression: gzip or none");
}

result<void> check_url(const found& f) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (f.value.starts_with(scheme) && f.value.size() > scheme.size() && f.value[scheme.size()] != '/' &&
        f.value.find_first_of(" \t\r\n") == std::string::npos) {
      return {};
    }
  }
  return bad(f, "an endpoint: write http://HOST:PORT or https://HOST:PORT");
}

bool has_port_of_grpc(const std::string& url) {
  return url.substr(0, url.find('/', url.find("://") + 3)).ends_with(":4317");
}

std::string join(std::string base, std::string_view path) {
  while (base.ends_with('/')) base.pop_back();
  if (!path.starts_with('/')) base += '/';
  return base += path;
}

// What the sink's own words say for all signals alike.
struct common {
  std::optional<found> endpoint;
  std::optional<found> protocol;
  std::optional<found> compression;
  std::optional<std::chrono::milliseconds> timeout;
};

result<void> read_endpoint(std::size_t signal, const common& c, target& t) {
  const std::string own = "OTEL_EXPORTER_OTLP_" + std::string(signal_names[signal]) + "_ENDPOINT";
  const auto endpoint = c.endpoint ? c.endpoint : for_signal(signal, "ENDPOINT");
  if (endpoint) {
    if (auto ok = check_url(*endpoint); !ok) return ok;
  }
  if (const auto named = c.protocol ? c.protocol : for_signal(signal, "PROTOCOL")) {
    const auto p = parse_protocol(*named);
    if (!p) return p.error();
    t.protocol = *p;
  } else if (endpoint && has_port_of_grpc(endpoint->value)) {
    t.protocol = protocol::grpc;
  }
  if (t.protocol == protocol::grpc) {
    t.url = join(endpoint ? endpoint->value : "http://localhost:4317", grpc_paths[signal]);
  } else if (endpoint && endpoint->name == own) {
    t.url = endpoint->value;  // a signal's own endpoint is used as it is
  } else {
    t.url = join(endpoint ? endpoint->value : "http://localhost:4318", http_paths[signal]);
  }
  return {};
}

result<void> read_headers(std::size_t signal, target& t) {
  const auto f = for_signal(signal, "HEADERS");
  if (!f) return {};
  auto headers = parse_pairs(f->name, f->value);
  if (!headers) return headers.error();
  for (const auto& [key, value] : *headers) {
    if ((key + value).find_first_of("\r\n") != std::string::npos || key.find_first_of(" :") != std::string::npos) {
      return error{f->name + ": \"" + key + "\" is no name of a header, or its value has a line feed in it"};
    }
  }
  t.headers = std::move(*headers);
  return {};
}

result<target> read_target(std::size_t signal, const common& c) {
  target t;
  const std::string which = "OTEL_" + std::string(signal_names[signal]) + "_EXPORTER";
  if (const auto v = variable(which)) {
    if (*v != "otlp" && *v != "none") return bad({which, *v}, "otlp or none; other sinks are named in TELLTALE_SINKS");
    t.on = *v == "otlp";
  }
  if (auto ok = read_endpoint(signal, c, t); !ok) return ok.error();
  if (const auto compression = c.compression ? c.compression : for_signal(signal, "COMPRESSION")) {
    const auto gzip = parse_compression(*compression);
    if (!gzip) return gzip.error();
    t.gzip = *gzip;
  }
  if (c.timeout) {
    t.timeout = *c.timeout;
  } else if (const auto f = for_signal(signal, "TIMEOUT")) {
    const auto ms = positive_number(*f);
    if (!ms) return ms.error();
    t.timeout = std::chrono::milliseconds(*ms);
  }
  if (auto ok = read_headers(signal, t); !ok) return ok.error();
  for (const auto& [what, to] :
       {std::pair{"CERTIFICATE", &t.ca_file}, std::pair{"CLIENT_CERTIFICATE", &t.client_certificate},
        std::pair{"CLIENT_KEY", &t.client_key}}) {
    const auto f = for_signal(signal, what);
    if (!f) continue;
    if (::access(f->value.c_str(), R_OK) != 0) {
      return error{f->name + ": cannot read the file \"" + f->value + "\": " + std::generic_category().message(errno)};
    }
    *to = f->value;
  }
  return t;
}

// Two variables for one limit of ours: the smaller holds.
result<void> read_smaller(const char* first, const char* second, std::uint64_t& to) {
  bool any = false;
  for (const char* name : {first, second}) {
    const auto v = variable(name);
    if (!v) continue;
    const auto n = positive_number({name, *v});
    if (!n) return n.error();
    to = any ? std::min(to, *n) : *n;
    any = true;
  }
  return {};
}

result<void> read_batching(settings& s) {
  auto delay = static_cast<std::uint64_t>(s.delay.count());
  auto interval = static_cast<std::uint64_t>(s.metric_interval.count());
  std::uint64_t records = s.batch_records;
  for (const auto& [first, second, to] :
       {std::tuple{"OTEL_BSP_SCHEDULE_DELAY", "OTEL_BLRP_SCHEDULE_DELAY", &delay},
        std::tuple{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", &records},
        std::tuple{"OTEL_METRIC_EXPORT_INTERVAL", "OTEL_METRIC_EXPORT_INTERVAL", &interval}}) {
    if (auto ok = read_smaller(first, second, *to); !ok) return ok;
  }
  s.delay = std::chrono::milliseconds(delay);
  s.batch_records = records;
  s.metric_interval = std::chrono::milliseconds(interval);
  return {};
}

}  // namespace

bool settings::encrypts() const noexcept {
  return std::any_of(std::begin(targets), std::end(targets),
                     [](const target& t) { return t.on && t.url.starts_with("https://"); });
}

result<bool> switched_off() {
  const auto v = variable("OTEL_SDK_DISABLED");
  if (!v || *v == "false") return false;
  if (*v == "true") return true;
  return bad({"OTEL_SDK_DISABLED", *v}, "true or false");
}

result<settings> read_settings(detail::sink_words words) {
  settings s;
  common c;
  if (!words.target.empty()) c.endpoint = found{"the endpoint", words.target};
  if (const auto v = words.take("protocol")) c.protocol = found{"option protocol", *v};
  if (const auto v = words.take("compression")) c.compression = found{"option compression", *v};
  if (words.options.contains("timeout")) {
    const auto timeout = words.take_duration("timeout", {});
    if (!timeout) return timeout.error();
    if (timeout->count() == 0) return words.bad("option timeout must be above 0");
    c.timeout = *timeout;
  }
  for (std::size_t i = 0; i < signals; ++i) {
    const auto t = read_target(i, c);
    if (!t) return words.bad(t.error().message);
    s.targets[i] = *t;
  }
  if (auto ok = read_batching(s); !ok) return words.bad(ok.error().message);
  const auto delay = words.take_duration("delay", s.delay);
  if (!delay) return delay.error();
  s.delay = *delay;

  words.options.emplace("pending", "64MiB");
  const auto queue = words.take_queue();
  if (!queue) return queue.error();
  s.queue = *queue;
  s.spool = words.take("spool").value_or("");
  const auto cap = words.take_size("spool_max", s.spool_bytes);
  if (!cap) return cap.error();
  s.spool_bytes = *cap;
  if (auto left = words.nothing_left("protocol, compression, timeout, delay, spool, spool_max, overflow, pending");
      !left) {
    return left.error();
  }
  return s;
}

}  // namespace telltale::otlp
