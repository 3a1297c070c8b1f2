#include "prover/daemon/metrics.hpp"

#include <telltale/core/callback.hpp>
#include <telltale/core/counter.hpp>
#include <telltale/core/histogram.hpp>
#include <utility>

namespace prover::daemon::metrics {

using namespace telltale::literals;
using telltale::text;

namespace {

// From a small proof with a resident key to the largest with a key that must be loaded.
constexpr telltale::bucket_bounds seconds_bounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                                 1,     2.5,    5,     10,   25,    50,   100, 250,  500};

constinit telltale::counter jobs_accepted{"prover.jobs.accepted", "jobs that were accepted", "{job}"};
constinit telltale::counter jobs_ended{"prover.jobs.ended", "jobs that ended, by outcome", "{job}"};
constinit telltale::counter jobs_failed{"prover.jobs.failed", "jobs that failed, by the class of their failure",
                                        "{job}"};
constinit telltale::counter jobs_refused{"prover.jobs.refused", "submissions that were refused, by reason", "{job}"};
constinit telltale::histogram job_duration{
    "prover.job.duration", "from acceptance to the end; cold: it waited for its key", "s", seconds_bounds};
constinit telltale::histogram phase_duration{"prover.phase.duration", "a job's share of wall time in a phase", "s",
                                             seconds_bounds};
constinit telltale::histogram load_duration{"prover.key.load.duration", "how long loading a key took", "s",
                                            seconds_bounds};
constinit telltale::counter loads_failed{"prover.key.load.failures", "keys that could not be loaded", "{key}"};

double in_seconds(nanoseconds d) {
  return static_cast<double>(d.count()) / 1e9;
}

text name(auto value) {
  return text{telltale_name(value)};
}

}  // namespace

void accepted(const std::string& kind) {
  jobs_accepted.add(1, "kind"_a = text{kind});
}

void ended(const std::string& kind, const job_result& r) {
  jobs_ended.add(1, "kind"_a = text{kind}, "outcome"_a = name(r.how));
  if (r.how == outcome::failed) jobs_failed.add(1, "kind"_a = text{kind}, "reason"_a = name(r.why.what));
  job_duration.record(in_seconds(r.times.total), "kind"_a = text{kind}, "outcome"_a = name(r.how), "cold"_a = r.cold);
  for (const phase_time& p : r.times.phases) {
    phase_duration.record(in_seconds(p.wall), "kind"_a = text{kind}, "phase"_a = text{p.name}, "cold"_a = r.cold);
  }
}

void refused(const std::string& kind, refusal_reason why) {
  // A name that nobody registered is the caller's text, and no label.
  const std::string_view label =
      why == refusal_reason::unknown_kind ? std::string_view("unknown") : std::string_view(kind);
  jobs_refused.add(1, "kind"_a = text{label}, "reason"_a = name(why));
}

void loaded(const std::string& kind, const std::string& device, nanoseconds took, bool well) {
  if (well) {
    load_duration.record(in_seconds(took), "kind"_a = text{kind}, "device"_a = text{device});
  } else {
    loads_failed.add(1, "kind"_a = text{kind}, "device"_a = text{device});
  }
}

using telltale::callback_counter;
using telltale::callback_gauge;
using telltale::observer;

// Every value from `first` to `last`, 0 where there is none of it: a series that comes and goes can't be alerted on.
template <class E, class Key>
void observe_all(observer& o, const std::map<E, std::size_t>& counts, Key key, E last, E first = E{}) {
  for (auto i = static_cast<unsigned>(first); i <= static_cast<unsigned>(last); ++i) {
    const auto found = counts.find(static_cast<E>(i));
    o.observe(found == counts.end() ? 0 : found->second, key = name(static_cast<E>(i)));
  }
}

struct gauges::all {
  explicit all(std::function<status()> f) : read(std::move(f)) {}

  // One snapshot of the metrics asks once, not a dozen times: it takes milliseconds, and comes one gauge at a time.
  const status& ask() {
    const auto now = std::chrono::steady_clock::now();
    if (now - when > std::chrono::milliseconds{50}) {
      last = read();
      when = now;
    }
    return last;
  }
  std::function<status()> read;
  status last;
  steady_time when;

  callback_gauge queued{"prover.queue.length", "jobs that wait to be admitted", "{job}",
                        [this] { return static_cast<std::int64_t>(ask().queued_jobs); }};
  callback_gauge queued_bytes{"prover.queue.size", "payloads of jobs that wait", "By",
                              [this] { return static_cast<std::int64_t>(ask().queued_bytes); }};
  callback_gauge oldest{"prover.queue.oldest", "age of the oldest job that waits to be admitted", "s",
                        [this] { return in_seconds(ask().oldest_wait); }};
  callback_gauge states{"prover.jobs", "jobs that have not ended, by state", "{job}", [this](observer& o) {
                          const status& s = ask();
                          observe_all(o, s.jobs_by_state, "state"_a, job_state::finishing);
                        }};
  callback_gauge waits{"prover.waits", "jobs that wait, by reason", "{job}", [this](observer& o) {
                         const status& s = ask();
                         observe_all(o, s.waits, "reason"_a, wait_reason::journal, wait_reason::turn);
                       }};
  callback_gauge slow{"prover.stages.slow", "stages and key loads that last longer than jobs.slow_stage", "{stage}",
                      [this] { return static_cast<std::int64_t>(ask().slow); }};
  callback_gauge keys{"prover.keys.resident", "memory of resident keys, 0 where cold", "By", [this](observer& o) {
                        const status& s = ask();
                        for (const auto& k : s.keys) {
                          o.observe(k.bytes, "kind"_a = text{k.kind}, "device"_a = text{k.device},
                                    "tier"_a = name(k.tier));
                        }
                      }};
  callback_gauge budget{"prover.memory.budget", "the memory budget", "By",
                        [this] { return static_cast<std::int64_t>(ask().ledger.budget); }};
  // A job is no label: there would be no end of them.
  callback_gauge reserved{"prover.memory.reserved", "memory that is reserved, by owner", "By", [this](observer& o) {
                            const status& s = ask();
                            std::size_t jobs = 0;
                            for (const auto& [owner, bytes] : s.ledger.by_owner) {
                              if (owner.starts_with("job ")) {
                                jobs += bytes;
                              } else {
                                o.observe(bytes, "owner"_a = text{owner});
                              }
                            }
                            o.observe(jobs, "owner"_a = "jobs");
                          }};
  callback_gauge high{"prover.memory.high_water", "the most that was reserved at once", "By",
                      [this] { return static_cast<std::int64_t>(ask().ledger.high_water); }};
  callback_counter busy{"prover.device.busy", "time that a device was proving", "s", [this](observer& o) {
                          const status& s = ask();
                          for (const auto& d : s.devices) o.observe(in_seconds(d.busy), "device"_a = text{d.name});
                        }};
  callback_counter faults{"prover.device.faults", "faults of a device", "{fault}", [this](observer& o) {
                            const status& s = ask();
                            for (const auto& d : s.devices) o.observe(d.faults, "device"_a = text{d.name});
                          }};
  callback_gauge quarantined{"prover.device.quarantined", "1 while a device is quarantined", "1", [this](observer& o) {
                               const status& s = ask();
                               for (const auto& d : s.devices)
                                 o.observe(d.quarantined ? 1 : 0, "device"_a = text{d.name});
                             }};
};

gauges::gauges(std::function<status()> ask) : all_(new all{std::move(ask)}) {}
gauges::~gauges() = default;

}  // namespace prover::daemon::metrics
