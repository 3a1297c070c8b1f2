// The doors that aren't submit(): waits, looks, and what is asked for by hand.
#include "prover/daemon/service.hpp"

#include <algorithm>
#include <telltale/core/telltale.hpp>

#include "prover/daemon/service_inside.hpp"

TELLTALE_MODULE("prover::daemon");

namespace prover::daemon {

using namespace telltale::literals;
using std::chrono::steady_clock;
using telltale::text;

service::subscription service::inside::await(const job_id& id, std::optional<nanoseconds> timeout,
                                             notices::await_function f) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto j = scheduler_.find(id); j && running_) {
      // Its result is there, and only the journal is not.
      if (j->result && j->store_failed) {
        return notices_.tell({awaited::answer::finished, id, j->result}, std::move(f));
      }
      std::optional<steady_time> until;
      if (timeout)
        until = steady_clock::now() + std::clamp<nanoseconds>(*timeout, nanoseconds{0}, std::chrono::hours{24 * 365});
      return notices_.await(id, until, std::move(f));
    }
  }
  awaited a{awaited::answer::unknown, id, nullptr};
  auto found = journal_.find(id);
  if (!found) TELLTALE_WARN("{problem}", "problem"_a = text{found.error().message});
  if (found && *found && (**found).result) {
    a = {awaited::answer::finished, id, std::make_shared<const job_result>(std::move(*(**found).result))};
  } else if (found && *found) {
    a.what = awaited::answer::stopping;  // in the journal, and nobody runs it
  }
  return notices_.tell(std::move(a), std::move(f));
}

service::subscription service::inside::watch(const job_id& id, notices::watch_function f) {
  const std::lock_guard lock(mutex_);
  if (!scheduler_.find(id)) return 0;
  return notices_.watch(id, std::move(f));
}

cancel_answer service::inside::cancel(const job_id& id) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto j = scheduler_.find(id)) {
      if (!scheduler_.cancel(*j, steady_clock::now())) return cancel_answer::already_finished;
      settle();
      return j->result ? cancel_answer::cancelled : cancel_answer::at_next_boundary;
    }
  }
  const auto found = journal_.find(id);
  return found && *found ? cancel_answer::already_finished : cancel_answer::unknown;
}

namespace {

job_view view_of(const journalled_job& j) {
  job_view v;
  v.id = j.entry.id;
  v.kind = j.entry.kind;
  v.state = j.result ? job_state::finished : job_state::queued;
  v.priority = j.entry.priority;
  v.payloads = j.entry.parts.size();
  v.accepted = j.entry.when;
  if (j.result) {
    v.how = j.result->how;
    v.done = j.result->proofs.size();
    v.attempts = j.result->attempts;
    v.device = j.result->device;
    v.age = j.result->times.total;
  }
  return v;
}

}  // namespace

std::optional<job_view> service::inside::find_unfinished(const job_id& id) {
  const std::lock_guard lock(mutex_);
  const auto j = scheduler_.find(id);
  if (!j) return std::nullopt;
  return scheduler_.view(*j, steady_clock::now());
}

std::optional<job_view> service::inside::find(const job_id& id) {
  if (auto v = find_unfinished(id)) return v;
  const auto found = journal_.find(id);
  if (!found || !*found) return std::nullopt;
  return view_of(**found);
}

std::vector<job_view> service::inside::list(const job_filter& filter) {
  std::vector<job_view> all;
  const auto wanted = [&](const std::string& kind) { return filter.kind.empty() || filter.kind == kind; };
  {
    const std::lock_guard lock(mutex_);
    const auto now = steady_clock::now();
    for (const auto& j : scheduler_.jobs()) {
      if (all.size() < filter.at_most && wanted(j->entry.kind)) all.push_back(scheduler_.view(*j, now));
    }
  }
  if (!filter.finished || all.size() >= filter.at_most) return all;
  const auto ended = journal_.finished(filter.at_most - all.size());
  if (!ended) {
    TELLTALE_WARN("{problem}", "problem"_a = text{ended.error().message});
    return all;
  }
  for (const auto& j : *ended) {
    if (wanted(j.entry.kind)) all.push_back(view_of(j));
  }
  return all;
}

status service::inside::get_status() {
  status s;
  const std::lock_guard lock(mutex_);
  scheduler_.describe(s, steady_clock::now());
  s.draining = draining_;
  s.total = total_;
  s.by_kind = by_kind_;
  return s;
}

telltale::result<preload_answer> service::inside::preload(const std::string& kind) {
  const auto number = number_of(kind);
  if (!number) return telltale::error{"cannot preload \"" + kind + "\": no such kind is registered."};
  lock_type lock(mutex_);
  if (!scheduler_.knows_sizes(*number)) {
    lock.unlock();
    if (const auto found = estimate(*number); !found) return found.error();
    lock.lock();
  }
  const auto there = scheduler_.preload(*number, steady_clock::now());
  settle();
  if (!there) return there.error();
  return *there ? preload_answer::already_loaded : preload_answer::loading;
}

telltale::result<std::size_t> service::inside::evict(const std::string& kind) {
  const auto number = number_of(kind);
  if (!number) return telltale::error{"cannot evict \"" + kind + "\": no such kind is registered."};
  const std::lock_guard lock(mutex_);
  auto freed = scheduler_.evict(*number, steady_clock::now());
  settle();
  return freed;
}

// ---- what the header promises

service::service(limits l, std::vector<kind> kinds, std::vector<std::unique_ptr<device>> devices, journal& j,
                 witness_source& witnesses)
    : inside_(std::make_unique<inside>(std::move(l), std::move(kinds), std::move(devices), j, witnesses)) {}
service::~service() = default;

telltale::result<void> service::start() {
  return inside_->start();
}
std::variant<accepted, refusal> service::submit(request r) {
  return inside_->submit(std::move(r));
}
service::subscription service::await(const job_id& id, std::optional<nanoseconds> timeout,
                                     std::function<void(const awaited&)> f) {
  return inside_->await(id, timeout, std::move(f));
}
service::subscription service::watch(const job_id& id, std::function<void(const progress&)> f) {
  return inside_->watch(id, std::move(f));
}
void service::unsubscribe(subscription s) {
  inside_->told().unsubscribe(s);
}
cancel_answer service::cancel(const job_id& id) {
  return inside_->cancel(id);
}
std::vector<job_view> service::list(const job_filter& filter) const {
  return inside_->list(filter);
}
std::optional<job_view> service::find(const job_id& id) const {
  return inside_->find(id);
}
status service::get_status() const {
  return inside_->get_status();
}
const std::vector<kind>& service::kinds() const noexcept {
  return inside_->kinds();
}
telltale::result<preload_answer> service::preload(const std::string& kind) {
  return inside_->preload(kind);
}
telltale::result<std::size_t> service::evict(const std::string& kind) {
  return inside_->evict(kind);
}
std::size_t service::drain(nanoseconds at_most) {
  return inside_->drain(at_most);
}
void service::stop() {
  inside_->stop();
}

}  // namespace prover::daemon
