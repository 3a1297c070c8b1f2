// The status document.
#include "prover/daemon/status_json.hpp"

#include <unistd.h>

#include <nlohmann/json.hpp>

namespace prover::daemon {

namespace {

using json = nlohmann::ordered_json;

double seconds(nanoseconds d) {
  return std::chrono::duration<double>(d).count();
}

template <class Key, class Value>
json by_name(const std::map<Key, Value>& counts) {
  json j = json::object();
  for (const auto& [key, value] : counts) j[std::string(telltale_name(key))] = value;
  return j;
}

json ids(const std::vector<job_id>& jobs) {
  json j = json::array();
  for (const job_id& id : jobs) j.push_back(id.value);
  return j;
}

json of(const job_view& v) {
  json j{{"id", v.id.value},
         {"kind", v.kind},
         {"state", telltale_name(v.state)},
         {"priority", telltale_name(v.priority)},
         {"age", seconds(v.age)}};
  if (v.waits_for != wait_reason::none) {
    j["waits_for"] = telltale_name(v.waits_for);
    j["explanation"] = v.explanation;
  }
  if (!v.phase.empty()) {
    j["phase"] = v.phase;
    j["phase_age"] = seconds(v.phase_age);
  }
  if (v.slow) j["slow"] = true;
  if (!v.device.empty()) j["device"] = v.device;
  if (v.payloads > 1) {
    j["payloads"] = v.payloads;
    j["done"] = v.done;
  }
  if (v.attempts > 1) j["attempts"] = v.attempts;
  if (v.cancelling) j["cancelling"] = true;
  if (v.left) j["deadline_in"] = seconds(*v.left);
  return j;
}

json of(const status::counts& c) {
  return {{"accepted", c.accepted},    {"joined", c.joined},          {"recovered", c.recovered},
          {"ended", by_name(c.ended)}, {"failed", by_name(c.failed)}, {"refused", by_name(c.refused)}};
}

}  // namespace

std::string status_json(const status& s, const about_daemon& about) {
  json j;
  j["version"] = about.version;
  j["pid"] = ::getpid();
  j["draining"] = s.draining;
  j["uptime"] = seconds(s.uptime);
  j["sandbox"] = about.sandbox;
  j["queue"] = {{"jobs", s.queued_jobs}, {"bytes", s.queued_bytes}, {"oldest_wait", seconds(s.oldest_wait)}};
  j["jobs_by_state"] = by_name(s.jobs_by_state);
  j["waits"] = by_name(s.waits);
  j["slow_stages"] = s.slow;
  j["jobs"] = json::array();
  for (const job_view& v : s.jobs) j["jobs"].push_back(of(v));
  j["total"] = of(s.total);
  j["kinds"] = json::array();
  for (const kind& k : about.kinds) {
    json entry{{"name", k.name}, {"key", k.key}, {"priority", telltale_name(k.default_priority)}};
    if (const auto found = s.by_kind.find(k.name); found != s.by_kind.end()) entry["total"] = of(found->second);
    if (const auto found = s.sizes_by_kind.find(k.name); found != s.sizes_by_kind.end()) {
      const status::sizes& z = found->second;
      entry["sizes"] = {{"key", z.key},
                        {"loading", z.loading},
                        {"witness", z.witness},
                        {"working", z.working},
                        {"measured", z.measured}};
    }
    j["kinds"].push_back(std::move(entry));
  }
  j["keys"] = json::array();
  for (const status::resident_key& k : s.keys) {
    json entry{{"kind", k.kind},
               {"device", k.device},
               {"tier", telltale_name(k.tier)},
               {"bytes", k.bytes},
               {"users", ids(k.users)},
               {"idle", seconds(k.idle)},
               {"loads", k.loads},
               {"last_load", seconds(k.last_load)}};
    if (k.tier == residency_tier::loading) entry["loading_for"] = seconds(k.loading);
    if (!k.problem.empty()) entry["problem"] = k.problem;
    j["keys"].push_back(std::move(entry));
  }
  j["memory"] = {{"budget", s.ledger.budget},
                 {"reserved", s.ledger.reserved},
                 {"high_water", s.ledger.high_water},
                 {"measured", s.ledger.measured},
                 {"by_owner", json(s.ledger.by_owner)}};
  j["devices"] = json::array();
  for (const status::device_state& d : s.devices) {
    json entry{{"name", d.name},          {"description", d.description}, {"running", ids(d.running)},
               {"busy", seconds(d.busy)}, {"proofs", d.proofs},           {"faults", d.faults}};
    if (d.quarantined) entry["back_in"] = seconds(d.back_in);
    if (!d.last_fault.empty()) entry["last_fault"] = d.last_fault;
    j["devices"].push_back(std::move(entry));
  }
  // A fault's text may hold anything; the document is valid whatever it is.
  return j.dump(2, ' ', false, json::error_handler_t::replace);
}

}  // namespace prover::daemon
