// Reading, checking and printing the hub's configuration: one table of keys serves all three.
#include <toml++/toml.h>

#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <telltale/core/units.hpp>

#include "hub/otlp/text.hpp"
#include "hub/server.hpp"

namespace telltale::hub {

namespace {

// Where a key's value goes. Strings that name a file stand in for what is in it.
struct key {
  std::string_view section;
  std::string_view name;
  std::function<std::string(const toml::node&)> read;  // what is wrong, or nothing
  std::function<std::string()> print;                  // as TOML; nothing: not shown
};

std::string quoted(std::string_view s) {
  std::string out;
  append_json(out, s);
  return out;
}

template <class T>
std::string read_number(const toml::node& n, T& to, std::uint64_t least = 0) {
  const auto v = n.value_exact<std::int64_t>();
  if (!v || *v < static_cast<std::int64_t>(least) ||
      static_cast<std::uint64_t>(*v) > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) {
    return "wants a whole number, " + std::to_string(least) + " at least";
  }
  to = static_cast<T>(*v);
  return {};
}
std::string read_size(const toml::node& n, std::uint64_t& to) {
  const auto v = n.value_exact<std::string>();
  if (!v) return "wants a size, like \"64MiB\"";
  const auto size = parse_size(*v);
  if (!size) return size.error().message;
  to = *size;
  return {};
}
std::string read_seconds(const toml::node& n, std::int64_t& to) {
  const auto v = n.value_exact<std::string>();
  if (!v) return "wants a duration, like \"10m\"";
  const auto d = parse_duration(*v);
  if (!d) return d.error().message;
  if (d->count() % 1000 != 0) return "wants whole seconds";
  to = d->count() / 1000;
  return {};
}
std::string read_text(const toml::node& n, std::string& to) {
  const auto v = n.value_exact<std::string>();
  if (!v) return "wants a string";
  to = *v;
  return {};
}
std::string read_list(const toml::node& n, std::vector<std::string>& to) {
  const toml::array* list = n.as_array();
  if (list == nullptr) return "wants a list of addresses";
  to.clear();
  for (const toml::node& one : *list) {
    const auto v = one.value_exact<std::string>();
    if (!v) return "wants a list of addresses";
    to.push_back(*v);
  }
  return {};
}
std::string read_truth(const toml::node& n, bool& to) {
  const auto v = n.value_exact<bool>();
  if (!v) return "wants true or false";
  to = *v;
  return {};
}
// The file's content without the last line's end.
std::string read_file(const toml::node& n, std::string& to) {
  std::string path;
  if (std::string wrong = read_text(n, path); !wrong.empty()) return "wants the path of a file";
  std::ifstream in(path);
  std::ostringstream content;
  content << in.rdbuf();
  if (!in) return "cannot read " + path;
  to = content.str();
  while (!to.empty() && (to.back() == '\n' || to.back() == '\r')) to.pop_back();
  if (to.empty()) return path + " is empty";
  return {};
}

std::string to_text(double v) {
  std::ostringstream out;
  out << v;
  return out.str();
}
std::string printed(std::uint64_t n) {
  return std::to_string(n);
}
std::string printed_size(std::uint64_t n) {
  return "\"" + std::to_string(n) + "B\"";
}
std::string printed_seconds(std::int64_t n) {
  return "\"" + std::to_string(n) + "s\"";
}
std::string printed_list(const std::vector<std::string>& list) {
  std::string out = "[";
  for (const std::string& s : list) out += (out.size() > 1 ? ", " : "") + quoted(s);
  return out + "]";
}

std::vector<key> keys_of(configuration& c) {
  std::vector<key> keys;
  const auto add = [&](std::string_view section, std::string_view name, auto read, auto print) {
    keys.push_back({section, name, std::move(read), std::move(print)});
  };
  const auto hidden = [] { return std::string{}; };
#define TELLTALE_KEY(section, name, reader, target, printer) \
  add(section, name, [&c](const toml::node& n) { return reader(n, target); }, [&c] { return printer(target); })
  TELLTALE_KEY("store", "directory", read_text, c.store.directory, quoted);
  add(
      "store", "fsync",
      [&c](const toml::node& n) -> std::string {
        const auto v = n.value_exact<std::string>();
        if (!v || (*v != "batch" && *v != "interval")) return "is \"batch\" or \"interval\"";
        c.store.sync = *v == "batch" ? store_options::fsync::batch : store_options::fsync::interval;
        return {};
      },
      [&c] { return std::string(c.store.sync == store_options::fsync::batch ? "\"batch\"" : "\"interval\""); });
  add(
      "store", "rows_per_file", [&c](const toml::node& n) { return read_number(n, c.store.rows_per_file, 1); },
      [&c] { return printed(c.store.rows_per_file); });
  TELLTALE_KEY("store", "time_per_file", read_seconds, c.store.seconds_per_file, printed_seconds);
  TELLTALE_KEY("store", "max_bytes", read_size, c.store.max_bytes, printed_size);
  TELLTALE_KEY("store", "max_age", read_seconds, c.store.max_age_seconds, printed_seconds);
  TELLTALE_KEY("store", "max_waiting", read_size, c.store.max_waiting_bytes, printed_size);
  TELLTALE_KEY("store", "memory", read_size, c.store.memory_bytes, printed_size);
  add(
      "store", "threads", [&c](const toml::node& n) { return read_number(n, c.store.threads, 1); },
      [&c] { return printed(c.store.threads); });
  TELLTALE_KEY("store", "heartbeat_timeout", read_seconds, c.store.heartbeat_timeout_seconds, printed_seconds);
  TELLTALE_KEY("clickhouse", "url", read_text, c.clickhouse.url, quoted);
  TELLTALE_KEY("clickhouse", "user", read_text, c.clickhouse.user, quoted);
  add("clickhouse", "password_file", [&c](const toml::node& n) { return read_file(n, c.clickhouse.password); }, hidden);
  TELLTALE_KEY("clickhouse", "cluster", read_text, c.clickhouse.cluster, quoted);
  TELLTALE_KEY("clickhouse", "timeout", read_seconds, c.clickhouse.timeout_seconds, printed_seconds);
  const auto number = [](double& to, double least, double most) {
    return [&to, least, most](const toml::node& n) -> std::string {
      const auto v = n.value<double>();
      if (!v || !(*v >= least && *v <= most)) {
        return "wants a number from " + to_text(least) + " to " + to_text(most);
      }
      to = *v;
      return {};
    };
  };
  add("sampling", "keep", number(c.store.sampling.keep, 0, 1), [&c] { return to_text(c.store.sampling.keep); });
  add("sampling", "slow", number(c.store.sampling.slow, 1, 1e6), [&c] { return to_text(c.store.sampling.slow); });
  TELLTALE_KEY("sampling", "wait", read_seconds, c.store.sampling.wait_seconds, printed_seconds);
  TELLTALE_KEY("http", "listen", read_list, c.http.listen, printed_list);
  TELLTALE_KEY("http", "max_body", read_size, c.http.max_body, printed_size);
  TELLTALE_KEY("http", "max_in_flight", read_size, c.http.max_in_flight, printed_size);
  add(
      "http", "connections", [&c](const toml::node& n) { return read_number(n, c.http.connections, 1); },
      [&c] { return printed(c.http.connections); });
  TELLTALE_KEY("grpc", "listen", read_list, c.grpc.listen, printed_list);
  add("access", "token_file", [&c](const toml::node& n) { return read_file(n, c.http.token); }, hidden);
  add("access", "tls_certificate", [&c](const toml::node& n) { return read_file(n, c.http.tls_certificate); }, hidden);
  add("access", "tls_key", [&c](const toml::node& n) { return read_file(n, c.http.tls_key); }, hidden);
  const auto truth = [](bool b) { return std::string(b ? "true" : "false"); };
  add(
      "access", "allow_anonymous", [&c](const toml::node& n) { return read_truth(n, c.allow_anonymous); },
      [&c, truth] { return truth(c.allow_anonymous); });
  TELLTALE_KEY("limits", "attributes", read_number, c.limits.attributes, printed);
  TELLTALE_KEY("limits", "string_bytes", read_number, c.limits.string_bytes, printed);
  TELLTALE_KEY("limits", "events", read_number, c.limits.events, printed);
  TELLTALE_KEY("limits", "links", read_number, c.limits.links, printed);
  TELLTALE_KEY("forward", "url", read_text, c.forward.url, quoted);
  add("forward", "token_file", [&c](const toml::node& n) { return read_file(n, c.forward.token); }, hidden);
  TELLTALE_KEY("forward", "max_queue", read_size, c.forward.max_queue, printed_size);
  add(
      "forward", "keep", [&c](const toml::node& n) { return read_truth(n, c.keep); },
      [&c, truth] { return truth(c.keep); });
#undef TELLTALE_KEY
  return keys;
}

}  // namespace

result<configuration> read_configuration(std::string_view text, const std::string& name) {
  configuration c;
  toml::table file;
  try {
    file = toml::parse(text, name);
  } catch (const toml::parse_error& e) {
    return error{name + ":" + std::to_string(e.source().begin.line) + ":" + std::to_string(e.source().begin.column) +
                 ": " + std::string(e.description())};
  }
  const auto keys = keys_of(c);
  std::string wrong;
  const auto complain = [&](const toml::node& n, const std::string& what) {
    wrong += (wrong.empty() ? "" : "\n") + name + ":" + std::to_string(n.source().begin.line) + ":" +
             std::to_string(n.source().begin.column) + ": " + what;
  };
  for (const auto& [section, content] : file) {
    const toml::table* table = content.as_table();
    if (table == nullptr) {
      complain(content, "\"" + std::string(section.str()) + "\" stands outside of a section");
      continue;
    }
    for (const auto& [word, value] : *table) {
      const auto found = std::find_if(keys.begin(), keys.end(),
                                      [&](const key& k) { return k.section == section.str() && k.name == word.str(); });
      const std::string full = std::string(section.str()) + "." + std::string(word.str());
      if (found == keys.end()) {
        complain(value, "there is no " + full);
      } else if (const std::string what = found->read(value); !what.empty()) {
        complain(value, full + " " + what);
      }
    }
  }
  if (!wrong.empty()) return error{wrong};
  c.clickhouse.max_age_seconds = c.store.max_age_seconds;
  c.clickhouse.max_waiting_bytes = c.store.max_waiting_bytes;
  c.clickhouse.heartbeat_timeout_seconds = c.store.heartbeat_timeout_seconds;
  c.grpc.token = c.http.token;
  c.grpc.tls_certificate = c.http.tls_certificate;
  c.grpc.tls_key = c.http.tls_key;
  c.grpc.max_body = c.http.max_body;
  if (const auto fits = check_configuration(c); !fits) return error{name + ": " + fits.error().message};
  return c;
}

std::string print_configuration(const configuration& c) {
  configuration copy = c;
  std::string out;
  std::string_view section;
  for (const key& k : keys_of(copy)) {
    const std::string value = k.print();
    if (k.section != section) out += (out.empty() ? "[" : "\n[") + std::string(k.section) + "]\n";
    section = k.section;
    if (!value.empty()) out += std::string(k.name) + " = " + value + "\n";
  }
  return out;
}

result<void> check_configuration(const configuration& c) {
  if (!c.keep && c.forward.url.empty()) return error{"forward.keep = false wants forward.url: else nothing is done"};
  if (c.keep && c.store.directory.empty()) return error{"store.directory is empty"};
  if (!c.clickhouse.url.empty()) {
    if (const auto good = check_clickhouse(c.clickhouse); !good) return good;
    if (c.store.max_bytes != 0) return error{"store.max_bytes: ClickHouse keeps by age alone, see store.max_age"};
    if (c.store.sampling.keep < 1) return error{"sampling.keep: traces are thinned by the embedded store alone"};
  }
  if (c.http.tls_certificate.empty() != c.http.tls_key.empty()) {
    return error{"access.tls_certificate and access.tls_key come together"};
  }
  if (c.limits.string_bytes < 16) return error{"limits.string_bytes: 16 at least"};
  if (!c.http.token.empty() || c.allow_anonymous) return {};
  for (const auto* list : {&c.http.listen, &c.grpc.listen}) {
    for (const std::string& address : *list) {
      if (!is_loopback(address)) {
        return error{"\"" + address +
                     "\" can be reached from elsewhere, and nobody has to say who he is: give access.token_file (and "
                     "TLS), or set access.allow_anonymous = true"};
      }
    }
  }
  return {};
}

}  // namespace telltale::hub
