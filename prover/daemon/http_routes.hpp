// What stands beside /metrics and /healthz: /readyz, /status and /debug/filter.
#pragma once

#include <telltale/core/serve_metrics.hpp>
#include <vector>

#include "prover/daemon/service.hpp"
#include "prover/daemon/status_json.hpp"

namespace prover::daemon {

// `s` must outlive them. `may_change`: whether PUT /debug/filter is answered.
std::vector<telltale::http_route> http_routes(const service& s, const about_daemon& about, bool may_change);

}  // namespace prover::daemon
