// The hub as a whole: a store, its receivers, and the HTTP server with whatever routes are added.
//
//   auto hub = hub::server::start(configuration, [](hub::router& r, hub::store* s) { …r.add(…)… });
//   if (!hub) …
//   …wait…                       // its end answers what is being answered, and closes the store
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <telltale/core/result.hpp>

#include "hub/grpc/receiver.hpp"
#include "hub/http/server.hpp"
#include "hub/receive/forward.hpp"
#include "hub/receive/receiver.hpp"
#include "hub/store/clickhouse/clickhouse.hpp"
#include "hub/store/store.hpp"

namespace telltale::hub {

struct configuration {
  store_options store{.directory = "telltale-data"};
  clickhouse_options clickhouse;  // with a url: in place of the embedded store
  http_settings http;
  grpc_settings grpc;
  decode_limits limits;
  forward_settings forward;      // url empty: nothing is forwarded
  bool keep = true;              // false, with forward: nothing is kept, and there is nothing to ask
  bool allow_anonymous = false;  // beyond loopback without a token
};

// A TOML file's text; docs/hub.md has the keys. Strict: an unknown key or a value of the wrong type is an error with
// its place, and all errors come at once. `name` is for messages. Files that it names (token, certificate) are read.
result<configuration> read_configuration(std::string_view text, const std::string& name);
// What holds now, as TOML that reads back; a token is not shown.
std::string print_configuration(const configuration& c);
// Whether its parts fit together: addresses beyond loopback need a token.
result<void> check_configuration(const configuration& c);

class server {
 public:
  using add_routes = std::function<void(router&, store*)>;  // the store is null where nothing is kept
  static result<std::unique_ptr<server>> start(configuration c, const add_routes& more = {});
  ~server();

  store* kept();  // null where nothing is kept
  const http_server& http() const;
  std::vector<int> grpc_ports() const;
  // The hub's own figures in Prometheus' text format; also at /metrics.
  std::string metrics() const;

 private:
  struct state;
  explicit server(std::unique_ptr<state> s) noexcept;
  std::unique_ptr<state> state_;
};

}  // namespace telltale::hub
