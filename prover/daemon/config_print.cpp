// The configuration as TOML.
#include <algorithm>
#include <chrono>

#include "prover/daemon/config_names.hpp"

namespace prover::daemon {

using std::chrono::milliseconds;

namespace {

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u < 0x20 || u == 0x7f) {
      constexpr std::string_view digits = "0123456789abcdef";
      out += "\\u00";
      out += digits[u >> 4];
      out += digits[u & 15];
    } else {
      out += c;
    }
  }
  return out += '"';
}

std::string toml_text(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& t : texts) out += (&t == texts.data() ? "" : ", ") + toml_text(t);
  return out += ']';
}

template <std::size_t N>
std::string in_units(std::uint64_t n, const std::pair<std::uint64_t, const char*> (&units)[N]) {
  for (const auto& [factor, unit] : units) {
    if (n != 0 && n % factor == 0) return toml_text(std::to_string(n / factor) + unit);
  }
  return toml_text("0" + std::string(units[N - 1].second));
}

std::string size_text(std::uint64_t bytes) {
  static constexpr std::pair<std::uint64_t, const char*> units[] = {{std::uint64_t{1} << 40, "TiB"},
                                                                    {std::uint64_t{1} << 30, "GiB"},
                                                                    {std::uint64_t{1} << 20, "MiB"},
                                                                    {std::uint64_t{1} << 10, "KiB"},
                                                                    {1, "B"}};
  return in_units(bytes, units);
}

// `none` is the word for 0, where there is one.
std::string duration_text(nanoseconds d, const char* none = nullptr) {
  if (d.count() == 0 && none != nullptr) return toml_text(none);
  static constexpr std::pair<std::uint64_t, const char*> units[] = {
      {3'600'000, "h"}, {60'000, "m"}, {1000, "s"}, {1, "ms"}};
  return in_units(static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(d).count()), units);
}

const char* text_of(bool b) {
  return b ? "true" : "false";
}
template <class E>
const char* name_in(const std::vector<std::pair<const char*, E>>& names, E value) {
  return std::ranges::find(names, value, [](const auto& n) { return n.second; })->first;
}

}  // namespace

std::string to_toml(const configuration& c) {
  std::string out;
  const auto line = [&](const char* key, const std::string& value) {
    out += key;
    out += " = " + value + '\n';
  };
  out += "[server]\n";
  line("listen", toml_text(c.server.listen));
  line("http", toml_text(c.server.http));
  line("token_file", toml_text(c.server.token_file));
  line("tls_certificate", toml_text(c.server.tls_certificate));
  line("tls_key", toml_text(c.server.tls_key));
  line("tls_client_ca", toml_text(c.server.tls_client_ca));
  line("allow_anonymous", text_of(c.server.allow_anonymous));
  line("max_request", size_text(c.server.max_request));
  out += "\n[memory]\n";
  line("budget", c.limits.memory == 0 ? "\"auto\"" : size_text(c.limits.memory));
  line("evict_after", duration_text(c.limits.evict_idle, "never"));
  out += "\n[jobs]\n";
  line("threads", std::to_string(c.threads));
  line("max_queued", std::to_string(c.limits.queued_jobs));
  line("max_queued_bytes", size_text(c.limits.queued_bytes));
  line("attempts", std::to_string(c.limits.attempts));
  line("ageing", duration_text(c.limits.ageing));
  line("slow_stage", duration_text(c.limits.slow, "never"));
  line("drain", duration_text(c.drain));
  out += "\n[journal]\n";
  line("directory", toml_text(c.journal.directory));
  line("keep", duration_text(c.journal.keep));
  line("keep_bytes", size_text(c.journal.keep_bytes));
  out += "\n[keys]\n";
  line("cache", toml_text(c.key_cache));
  out += "\n[generators]\n";
  line("sandbox", toml_text(name_in(sandboxes, c.generators.sandbox)));
  line("directory", toml_text(c.generators.directory));
  for (const kind_settings& settings : c.kinds) {
    const kind& k = settings.registered;
    out += "\n[[kind]]\n";
    line("name", toml_text(k.name));
    line("key", toml_text(k.key));
    line("verification_key", toml_text(k.verification_key));
    line("circuit", toml_text(k.circuit));
    line("signal_names", toml_text(k.signal_names));
    line("priority", toml_text(name_in(priorities, k.default_priority)));
    line("deadline", duration_text(k.default_deadline.value_or(nanoseconds{0}), "none"));
    line("max_payload", size_text(k.max_payload));
    line("max_batch", std::to_string(k.max_batch));
    line("tables", size_text(k.table_bytes));
    line("checks", toml_text(name_in(checks, k.checks)));
    line("preload", text_of(k.preload));
    line("generator", toml_text(settings.generator.command));
    line("generator_time", duration_text(settings.generator.time));
    if (!settings.generator.command.empty()) line("generator_memory", size_text(k.witness_source_memory));
  }
  return out;
}

}  // namespace prover::daemon
