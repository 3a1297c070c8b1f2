// Reading and checking the configuration.
#include "prover/daemon/config.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <utility>

#include "prover/daemon/config_names.hpp"
#include "prover/daemon/config_section.hpp"

namespace prover::daemon {

namespace {

// --- the sections -------------------------------------------------------------------------------------------------

bool is_unix(std::string_view address) {
  return address.starts_with("unix:");
}

// Whether it has the form of an address.
bool is_address(std::string_view address) {
  if (is_unix(address)) return address.size() > 5;
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view port = address.substr(colon + 1);
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string_view::npos) return false;
  if (std::atoi(std::string(port).c_str()) > 65535) return false;  // NOLINT(cert-err34-c): digits only
  const std::string_view host = address.substr(0, colon);
  if (host.front() == '[') return host.size() > 2 && host.back() == ']';
  return host.find_first_of(":[] \t\n") == std::string_view::npos;
}

// A duration that is kept in nanoseconds.
void duration_of(section& s, const char* key, nanoseconds& into, const char* automatic = nullptr) {
  milliseconds d = std::chrono::duration_cast<milliseconds>(into);
  s.duration(key, d, automatic);
  into = d;
}

void read_server(section s, server_settings& c, problems& wrong) {
  s.texts("listen", c.listen);
  s.text("http", c.http);
  s.path("token_file", c.token_file);
  s.path("tls_certificate", c.tls_certificate);
  s.path("tls_key", c.tls_key);
  s.path("tls_client_ca", c.tls_client_ca);
  s.flag("allow_anonymous", c.allow_anonymous);
  s.size("max_request", c.max_request);
  s.finish();

  if (c.listen.empty()) wrong.add(s.place("listen"), "\"listen\" is empty: nobody could ask anything");
  std::set<std::string> seen;
  for (const std::string& a : c.listen) {
    if (!is_address(a)) {
      wrong.add(s.place("listen"), "\"" + a + "\" is no address. Write HOST:PORT, [IPV6]:PORT or unix:/path");
    } else if (!is_loopback(a) && c.token_file.empty() && c.tls_client_ca.empty() && !c.allow_anonymous) {
      wrong.add(s.place("listen"), "\"" + a +
                                       "\" is reachable from other machines and nobody would have to prove who they "
                                       "are. Set token_file or tls_client_ca, or say allow_anonymous = true");
    }
    if (!seen.insert(a).second && !a.ends_with(":0")) wrong.add(s.place("listen"), "\"" + a + "\" stands there twice");
  }
  if (c.http != "off") {
    if (!is_address(c.http) || is_unix(c.http)) {
      wrong.add(s.place("http"), "\"" + c.http + "\" is no address. Write HOST:PORT, [IPV6]:PORT or off");
    } else if (seen.contains(c.http) && !c.http.ends_with(":0")) {
      wrong.add(s.place("http"), "\"" + c.http + "\" stands in listen too: gRPC and HTTP need a port each");
    }
  }
  if (c.tls_certificate.empty() != c.tls_key.empty()) {
    wrong.add(s.place("tls_key"), "tls_certificate and tls_key go together: one of them is missing");
  }
  if (!c.tls_client_ca.empty() && c.tls_certificate.empty()) {
    wrong.add(s.place("tls_client_ca"), "tls_client_ca needs tls_certificate and tls_key");
  }
  // gRPC counts a message's bytes in an int.
  if (c.max_request < 1024 || c.max_request > std::numeric_limits<int>::max()) {
    wrong.add(s.place("max_request"),
              "\"max_request\" must be from 1KiB to 2047MiB, which is as much as gRPC can carry");
  }
}

void read_kind(section s, kind_settings& settings, const configuration& c, problems& wrong) {
  kind& k = settings.registered;
  generator_program& g = settings.generator;
  s.text("name", k.name);
  s.path("key", k.key);
  s.path("verification_key", k.verification_key);
  s.path("circuit", k.circuit);
  s.path("signal_names", k.signal_names);
  s.choice<priority>("priority", k.default_priority, priorities);
  milliseconds deadline{0};
  s.duration("deadline", deadline, "none");
  if (deadline.count() > 0) k.default_deadline = deadline;
  s.size("max_payload", k.max_payload);
  unsigned batch = static_cast<unsigned>(k.max_batch);
  s.count("max_batch", batch, 1, 10'000);
  k.max_batch = batch;
  s.size("tables", k.table_bytes);
  s.choice<key_checks>("checks", k.checks, checks);
  s.flag("preload", k.preload);
  s.texts("generator", g.command);
  s.duration("generator_time", g.time);
  std::uint64_t memory = std::uint64_t{1} << 30;
  s.size("generator_memory", memory);
  if (!g.command.empty()) k.witness_source_memory = memory;
  s.finish();

  if (k.name.empty()) wrong.add(s.place("name"), "a kind needs a \"name\"");
  // It becomes a label of metrics and part of log lines.
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  if (k.name.size() > 64 || k.name.find_first_not_of(letters) != std::string::npos) {
    wrong.add(s.place("name"),
              "\"" + k.name.substr(0, 64) + "\" is no name for a kind: letters, digits, '-', '_' and '.', at most 64");
  }
  if (k.key.empty()) wrong.add(s.place("key"), "a kind needs a \"key\" (.zkey)");
  if (!k.signal_names.empty() && k.circuit.empty()) {
    wrong.add(s.place("signal_names"), "\"signal_names\" goes with \"circuit\" (.r1cs), which is missing");
  }
  if (c.limits.memory != 0 && k.table_bytes >= c.limits.memory) {
    wrong.add(s.place("tables"), "\"tables\" would take the whole of memory.budget");
  }
  if (k.max_payload == 0) wrong.add(s.place("max_payload"), "\"max_payload\" must be more than nothing");
  if (!g.command.empty() && g.command.front().empty()) {
    wrong.add(s.place("generator"), "\"generator\" must begin with the program to call");
  }
  if (g.time.count() == 0) {
    wrong.add(s.place("generator_time"),
              "\"generator_time\" must be more than nothing: a generator always has a limit");
  }
}

const toml::table* table_of(const toml::table& root, const char* name, problems& wrong) {
  const toml::node* n = root.get(name);
  if (n == nullptr) return nullptr;
  if (n->is_table()) return n->as_table();
  wrong.add(n->source(), "\"" + std::string(name) + "\" must be a section: [" + name + "]");
  return nullptr;
}

void read_all(const toml::table& root, const std::string& name, const std::string& directory, configuration& c,
              problems& wrong) {
  static const std::vector<std::string> sections{"server", "memory", "jobs", "journal", "keys", "generators", "kind"};
  for (const auto& [key, value] : root) {
    if (std::ranges::find(sections, key.str()) != sections.end()) continue;
    wrong.add(key.source(), "unknown section \"" + std::string(key.str()) + "\"" + suggestion(key.str(), sections));
  }
  const auto section_of = [&](const char* s) {
    return section(table_of(root, s, wrong), "[" + std::string(s) + "]", directory, wrong);
  };
  read_server(section_of("server"), c.server, wrong);

  section memory = section_of("memory");
  std::uint64_t budget = 0;
  memory.size("budget", budget, "auto");
  c.limits.memory = budget;
  duration_of(memory, "evict_after", c.limits.evict_idle, "never");
  memory.finish();

  section jobs = section_of("jobs");
  jobs.count("threads", c.threads, 0, 1024);
  unsigned queued = static_cast<unsigned>(c.limits.queued_jobs);
  jobs.count("max_queued", queued, 1, 1'000'000);
  c.limits.queued_jobs = queued;
  jobs.size("max_queued_bytes", c.limits.queued_bytes);
  jobs.count("attempts", c.limits.attempts, 1, 100);
  duration_of(jobs, "ageing", c.limits.ageing);
  duration_of(jobs, "slow_stage", c.limits.slow, "never");
  jobs.duration("drain", c.drain);
  jobs.finish();
  if (c.limits.queued_bytes < c.server.max_request) {
    wrong.add(jobs.place("max_queued_bytes"),
              "max_queued_bytes in [jobs] is less than max_request in [server]: the largest request could never be "
              "accepted");
  }
  if (c.limits.ageing.count() == 0) wrong.add(jobs.place("ageing"), "\"ageing\" must be more than nothing");

  section journal = section_of("journal");
  journal.path("directory", c.journal.directory);
  journal.duration("keep", c.journal.keep);
  journal.size("keep_bytes", c.journal.keep_bytes);
  journal.finish();
  if (c.journal.directory.empty()) wrong.add(journal.place("directory"), "the journal needs a \"directory\"");

  section keys = section_of("keys");
  keys.path("cache", c.key_cache);
  keys.finish();

  section generators = section_of("generators");
  generators.choice<sandbox_choice>("sandbox", c.generators.sandbox, sandboxes);
  generators.path("directory", c.generators.directory);
  generators.finish();

  const toml::node* kinds = root.get("kind");
  const toml::array* array = kinds != nullptr ? kinds->as_array() : nullptr;
  if (kinds != nullptr && (array == nullptr || !array->is_homogeneous(toml::node_type::table))) {
    return wrong.add(kinds->source(), "\"kind\" must be a list of circuits: a [[kind]] for each");
  }
  if (array == nullptr) return wrong.add(name, "there is no [[kind]]: a daemon without a circuit can prove nothing");
  std::set<std::string> names;
  for (const toml::node& n : *array) {
    kind_settings& k = c.kinds.emplace_back();
    read_kind(section(n.as_table(), "[[kind]]", directory, wrong), k, c, wrong);
    const std::string& called = k.registered.name;
    if (!called.empty() && !names.insert(called).second) {
      wrong.add(n.source(), "a second kind is called \"" + called + "\"; names must differ");
    }
  }
}

// --- changes from the command line --------------------------------------------------------------------------------

toml::table parse_change(const std::string& change, std::size_t equals) {
  try {
    return toml::parse(change, command_line);
  } catch (const toml::parse_error&) {
    toml::table quoted = toml::parse(change.substr(0, equals) + " = ''", command_line);
    // A word without quotes: put where the empty string stands, so that nothing in it can be taken for TOML.
    toml::node* n = &quoted;
    while (n->is_table()) n = &n->as_table()->begin()->second;
    *n->as_string() = change.substr(equals + 1);
    return quoted;
  }
}

void merge(toml::table& into, toml::table&& from) {
  for (auto&& [key, value] : from) {
    toml::node* there = into.get(key.str());
    if (there != nullptr && there->is_table() && value.is_table()) {
      merge(*there->as_table(), std::move(*value.as_table()));
    } else {
      into.insert_or_assign(key, std::move(value));
    }
  }
}

void apply(const std::string& change, toml::table& root, problems& wrong) {
  const std::size_t equals = change.find('=');
  const std::string_view path = std::string_view(change).substr(0, equals);
  const std::size_t dot = path.find('.');
  if (equals == std::string::npos || dot == std::string_view::npos || dot == 0 || dot + 1 == path.size() ||
      path.find_first_not_of("abcdefghijklmnopqrstuvwxyz_.") != std::string_view::npos ||
      path.find('.', dot + 1) != std::string_view::npos || change.find('\n') != std::string::npos) {
    return wrong.add(command_line, "\"" + change + "\" is no change. Write SECTION.KEY=VALUE, as memory.budget=4GiB");
  }
  if (path.substr(0, dot) == "kind") return wrong.add(command_line, "kinds stand in the file: add a [[kind]] there");
  merge(root, parse_change(change, equals));
}

}  // namespace

bool is_loopback(std::string_view address) {
  if (is_unix(address)) return true;
  const std::string_view host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

telltale::result<configuration> parse_configuration(std::string_view text, const std::string& name,
                                                    const std::string& directory,
                                                    const std::vector<std::string>& changes) {
  problems wrong(name);
  toml::table root;
  try {
    root = toml::parse(text, name);
  } catch (const toml::parse_error& e) {
    wrong.add(e.source(), std::string(e.description()));
    return wrong.error();
  }
  for (const std::string& change : changes) apply(change, root, wrong);
  configuration c;
  if (wrong.none()) read_all(root, name, directory, c, wrong);
  if (!wrong.none()) return wrong.error();
  return c;
}

telltale::result<configuration> load_configuration(const std::string& path, const std::vector<std::string>& changes) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) {
    return telltale::error{"cannot read the configuration \"" + path + "\": it is a directory"};
  }
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (!file || (text << file.rdbuf(), file.bad())) {
    return telltale::error{"cannot read the configuration \"" + path +
                           "\". Give the file with --config; deploy/prover-daemon.toml is an example."};
  }
  std::error_code ignored;
  const auto directory = std::filesystem::absolute(path, ignored).parent_path();
  return parse_configuration(text.str(), path, directory.string(), changes);
}

telltale::result<void> check_files(const configuration& c) {
  problems wrong({});
  const auto readable = [&](const std::string& where, const std::string& path) {
    if (path.empty() || ::access(path.c_str(), R_OK) == 0) return;
    wrong.add(where, "cannot read \"" + path + "\": " + std::error_code(errno, std::generic_category()).message());
  };
  readable("token_file in [server]", c.server.token_file);
  readable("tls_certificate in [server]", c.server.tls_certificate);
  readable("tls_key in [server]", c.server.tls_key);
  readable("tls_client_ca in [server]", c.server.tls_client_ca);
  for (const kind_settings& settings : c.kinds) {
    const kind& k = settings.registered;
    const std::string of = " of kind \"" + k.name + "\"";
    readable("key" + of, k.key);
    readable("verification_key" + of, k.verification_key);
    readable("circuit" + of, k.circuit);
    readable("signal_names" + of, k.signal_names);
  }
  if (!wrong.none()) return wrong.error();
  return {};
}

}  // namespace prover::daemon
