// What this process says it is, from OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "file.hpp"

namespace telltale::otlp {

namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

int digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// %41 is A; a percent sign that begins no such thing is an error.
std::optional<std::string> percent_decoded(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '%') {
      out += s[i];
      continue;
    }
    const int high = i + 2 < s.size() ? digit(s[i + 1]) : -1;
    const int low = i + 2 < s.size() ? digit(s[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string_view variable(const char* name) {
  const char* v = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): once, at start
  return v != nullptr ? std::string_view{v} : std::string_view{};
}

void set(named_values& to, std::string_view key, attribute_value value) {
  for (auto& [k, v] : to) {
    if (k == key) {
      v = std::move(value);
      return;
    }
  }
  to.emplace_back(key, std::move(value));
}

}  // namespace

result<std::vector<std::pair<std::string, std::string>>> parse_pairs(std::string_view name, std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view one = trim(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    if (one.empty()) continue;
    const std::size_t equals = one.find('=');
    const auto key = percent_decoded(trim(one.substr(0, equals)));
    const auto value = equals == std::string_view::npos ? std::nullopt : percent_decoded(trim(one.substr(equals + 1)));
    if (!key || key->empty() || !value) {
      return error{std::string(name) + ": \"" + std::string(one.substr(0, equals)) +
                   "\" begins no pair: write key=value, pairs separated by commas, and a percent sign, comma or "
                   "equals sign in a value as %25, %2C, %3D"};
    }
    pairs.emplace_back(*key, *value);
  }
  return pairs;
}

void set_process(named_values& resource, std::int64_t pid) {
  set(resource, "process.pid", pid);
}

result<named_values> resource_from_environment() {
  named_values all;
  all.emplace_back("service.name", std::string("unknown_service:") + ::program_invocation_short_name);
  set_process(all, ::getpid());
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0) all.emplace_back("host.name", std::string(host));
  all.emplace_back("telemetry.sdk.name", std::string("telltale"));
  all.emplace_back("telemetry.sdk.language", std::string("cpp"));
  all.emplace_back("telemetry.sdk.version", std::string(TELLTALE_VERSION));
  const auto pairs = parse_pairs("OTEL_RESOURCE_ATTRIBUTES", variable("OTEL_RESOURCE_ATTRIBUTES"));
  if (!pairs) return pairs.error();
  for (const auto& [key, value] : *pairs) set(all, key, value);
  if (const std::string_view name = variable("OTEL_SERVICE_NAME"); !name.empty()) {
    set(all, "service.name", std::string(name));
  }
  return all;
}

}  // namespace telltale::otlp
