// The status document: what GET /status and the Status call answer.
#pragma once

#include <string>
#include <vector>

#include "prover/daemon/status.hpp"

namespace prover::daemon {

// What doesn't change while the daemon runs.
struct about_daemon {
  std::string version;
  std::string sandbox;  // what confines witness generators
  std::vector<kind> kinds;
};

// Sizes are bytes and times seconds, both as numbers.
std::string status_json(const status& s, const about_daemon& about);

}  // namespace prover::daemon
