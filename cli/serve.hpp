// `telltale serve`: the hub, until it is told to end.
#pragma once

#include <string>
#include <telltale/core/result.hpp>
#include <vector>

#include "hub/server.hpp"

namespace telltale::cli {

struct serve_words {
  std::string config;     // path of a TOML file; empty: defaults
  std::string directory;  // these win over the file where they are given
  std::string forward;
  std::vector<std::string> listen;
  std::vector<std::string> grpc;
  bool check = false;  // --check-config
  bool print = false;  // --print-config
};

// Serves until SIGINT or SIGTERM. The exit code, or why it could not begin.
result<int> serve(const serve_words& words, const hub::server::add_routes& questions);

// Makes or migrates the tables of the store that the configuration names.
result<int> init_store(const serve_words& words);

}  // namespace telltale::cli
