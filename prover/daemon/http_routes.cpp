// What stands beside /metrics and /healthz.
#include "prover/daemon/http_routes.hpp"

#include <algorithm>
#include <telltale/core/runtime.hpp>

namespace prover::daemon {

namespace {

using telltale::http_answer;

// Ready: a job that comes now is accepted and can run.
http_answer readiness(const status& s) {
  if (s.draining) return {503, "draining: no new jobs\n"};
  const bool all_faulty =
      !s.devices.empty() && std::ranges::all_of(s.devices, [](const auto& d) { return d.quarantined; });
  if (all_faulty) return {503, "every device is quarantined after faults\n"};
  return {200, "ready\n"};
}

std::string filters() {
  return "log=" + telltale::log_filter() + "\ntrace=" + telltale::trace_filter() + "\n";
}

// Lines of log=… and trace=…, as filters() gives them.
http_answer set_filters(std::string_view body) {
  bool any = false;
  while (!body.empty()) {
    const std::string_view line = body.substr(0, body.find('\n'));
    body.remove_prefix(std::min(body.size(), line.size() + 1));
    if (line.empty()) continue;
    telltale::result<void> set = telltale::error{"write log=DIRECTIVES or trace=DIRECTIVES, as log=info,prover=debug"};
    if (line.starts_with("log=")) set = telltale::set_log_filter(line.substr(4));
    if (line.starts_with("trace=")) set = telltale::set_trace_filter(line.substr(6));
    if (!set) return {400, set.error().message + "\n"};
    any = true;
  }
  if (!any) return {400, "nothing to set: write log=DIRECTIVES or trace=DIRECTIVES\n"};
  return {200, filters()};
}

}  // namespace

std::vector<telltale::http_route> http_routes(const service& s, const about_daemon& about, bool may_change) {
  std::vector<telltale::http_route> routes;
  routes.push_back({"/readyz", [&s] { return readiness(s.get_status()); }, {}});
  routes.push_back({"/status",
                    [&s, about] { return http_answer{200, status_json(s.get_status(), about), "application/json"}; },
                    {}});
  routes.push_back({"/debug/filter", [] { return http_answer{200, filters()}; }, {}});
  if (may_change) routes.back().put = set_filters;
  return routes;
}

}  // namespace prover::daemon
