// How a job gets in: what is refused and why, what joins another job, and what is written down before it is accepted.
#include <algorithm>
#include <random>

#include "prover/daemon/request_digest.hpp"
#include "prover/daemon/service_inside.hpp"

namespace prover::daemon {

using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

job_id new_job_id() {
  static thread_local std::random_device random;
  std::string digits(16, '0');
  for (std::size_t i = 0; i < 16; i += 8) {
    const unsigned number = random();
    for (std::size_t k = 0; k < 8; ++k) digits[i + k] = "0123456789abcdef"[(number >> (4 * k)) & 15];
  }
  return {digits};
}

}  // namespace

refusal service::inside::refuse(const std::string& kind, refusal_reason why, std::string message,
                                std::optional<nanoseconds> retry) {
  metrics::refused(kind, why);
  const std::lock_guard lock(mutex_);
  ++total_.refused[why];
  if (why != refusal_reason::unknown_kind) ++by_kind_[kind].refused[why];
  return {why, std::move(message), retry};
}

// What can be said of a request without looking at how things stand.
std::optional<refusal> service::inside::check(const request& r, std::optional<std::size_t> number) const {
  if (!number) {
    std::string names;
    for (const auto& k : scheduler_.kinds()) names += (names.empty() ? "" : ", ") + k.name;
    return refusal{
        refusal_reason::unknown_kind, "no kind \"" + r.kind + "\" is registered. Registered are: " + names + ".", {}};
  }
  const kind& k = scheduler_.kinds()[*number];
  if (r.payloads.empty()) return refusal{refusal_reason::bad_request, "the request has no payload. Send one.", {}};
  if (r.payloads.size() > k.max_batch) {
    return refusal{refusal_reason::bad_request,
                   "the request has " + std::to_string(r.payloads.size()) + " payloads, and kind \"" + k.name +
                       "\" takes at most " + std::to_string(k.max_batch) + ". Divide it.",
                   {}};
  }
  if (r.deadline && r.deadline->count() <= 0) {
    return refusal{refusal_reason::bad_request, "the deadline has passed already. Give the job some time.", {}};
  }
  for (const auto& p : r.payloads) {
    if (p.content.empty())
      return refusal{refusal_reason::bad_request, "a payload is empty. Send a witness or inputs.", {}};
    if (p.content.size() > k.max_payload) {
      return refusal{refusal_reason::too_large,
                     "a payload has " + std::to_string(p.content.size()) + " bytes, and kind \"" + k.name +
                         "\" takes at most " + std::to_string(k.max_payload) + ". Check that it is the right file.",
                     {}};
    }
  }
  return std::nullopt;
}

std::variant<accepted, refusal> service::inside::submit(request r) {
  const auto number = number_of(r.kind);
  if (const auto wrong = check(r, number)) return refuse(r.kind, wrong->why, wrong->message);
  {
    lock_type lock(mutex_);
    const bool known = scheduler_.knows_sizes(*number);
    lock.unlock();
    if (!known) {
      if (const auto found = estimate(*number); !found)
        return refuse(r.kind, refusal_reason::key, found.error().message);
    }
  }
  std::size_t size = 0;
  std::size_t largest = 0;
  for (const auto& p : r.payloads) {
    size += p.content.size();
    largest = std::max(largest, p.content.size());
  }
  {
    lock_type lock(mutex_);
    if (draining_) {
      lock.unlock();
      return refuse(r.kind, refusal_reason::draining,
                    "the daemon is stopping, and takes no new jobs. Ask again when it is back.");
    }
    const auto room = scheduler_.largest_payload(*number);
    if (!room || largest > *room || size > limits_.request_memory) {
      const std::string why = "the job can never fit: with its key it needs " +
                              std::to_string(scheduler_.needed(*number)) + " bytes of memory and its payloads " +
                              std::to_string(size) + ", and of the budget of " + std::to_string(limits_.memory) +
                              " bytes " + std::to_string(scheduler_.usable()) + " are for jobs and keys and " +
                              std::to_string(limits_.request_memory) +
                              " for requests. Raise the budget, or divide the request.";
      lock.unlock();
      return refuse(r.kind, refusal_reason::too_large, why);
    }
    if (size > limits_.request_memory - arriving_bytes_) {
      lock.unlock();
      return refuse(r.kind, refusal_reason::queue_full, "too many requests arrive at once. Send it again.",
                    std::chrono::milliseconds{200});
    }
    arriving_bytes_ += size;
  }
  auto answer = accept(std::move(r), *number, size);
  const std::lock_guard lock(mutex_);
  arriving_bytes_ -= size;
  return answer;
}

// The job that has this idempotency key, if there is one.
std::variant<accepted, refusal, std::monostate> service::inside::known(const request& r, const digest& of_request) {
  const auto found = journal_.find_key(r.idempotency_key);
  if (!found) return refuse(r.kind, refusal_reason::journal, found.error().message);
  if (!*found) return std::monostate{};
  const journal_entry& e = (**found).entry;
  if (e.request != of_request) {
    return refuse(r.kind, refusal_reason::key_conflict,
                  "idempotency key \"" + r.idempotency_key + "\" belongs to job " + e.id.value +
                      ", whose request was another one. Use a new key.");
  }
  const std::lock_guard lock(mutex_);
  ++total_.joined;
  ++by_kind_[r.kind].joined;
  return accepted{e.id, true, 0};
}

std::variant<accepted, refusal> service::inside::accept(request r, std::size_t number, std::size_t size) {
  const kind& k = scheduler_.kinds()[number];
  journal_entry e;
  e.id = new_job_id();
  e.idempotency_key = r.idempotency_key;
  e.kind = r.kind;
  e.priority = r.priority.value_or(k.default_priority);
  e.deadline = r.deadline ? r.deadline : k.default_deadline;
  for (const auto& p : r.payloads) e.parts.push_back({p.form, p.content.size(), digest_of_payload(p)});
  e.request = digest_of_request(e);

  lock_type lock(mutex_);
  const bool keyed = !r.idempotency_key.empty();
  if (keyed) {
    accepted_.wait(lock, [&] { return !accepting_.contains(r.idempotency_key); });
    accepting_.insert(r.idempotency_key);
  }
  const auto leave = [&](auto answer) -> std::variant<accepted, refusal> {
    if (lock.owns_lock()) lock.unlock();
    {
      const std::lock_guard again(mutex_);
      accepting_.erase(r.idempotency_key);
    }
    accepted_.notify_all();
    return answer;
  };
  if (keyed) {
    lock.unlock();
    auto before = known(r, e.request);
    if (auto* joined = std::get_if<accepted>(&before)) return leave(std::move(*joined));
    if (auto* refused = std::get_if<refusal>(&before)) return leave(std::move(*refused));
    lock.lock();
  }
  if (draining_) {
    lock.unlock();
    return leave(refuse(r.kind, refusal_reason::draining,
                        "the daemon is stopping, and takes no new jobs. Ask again when it is back."));
  }
  const std::size_t jobs = scheduler_.queued_jobs() + accepting_jobs_;
  const std::size_t waiting = scheduler_.queued_bytes() + accepting_bytes_;
  if (jobs >= limits_.queued_jobs || size > limits_.queued_bytes - std::min(waiting, limits_.queued_bytes)) {
    const auto retry = scheduler_.expected_turn();
    lock.unlock();
    return leave(refuse(r.kind, refusal_reason::queue_full,
                        "the queue is full: " + std::to_string(jobs) + " jobs with " + std::to_string(waiting) +
                            " bytes wait. Send it again later.",
                        retry));
  }
  ++accepting_jobs_;
  accepting_bytes_ += size;
  lock.unlock();
  e.when = std::chrono::system_clock::now();
  const auto written = journal_.accept(e, r.payloads);
  r.payloads.clear();
  if (written) metrics::accepted(r.kind);
  lock.lock();
  --accepting_jobs_;
  accepting_bytes_ -= size;
  if (!written) {
    lock.unlock();
    return leave(refuse(r.kind, refusal_reason::journal, written.error().message, seconds{1}));
  }
  ++total_.accepted;
  ++by_kind_[r.kind].accepted;
  const auto now = steady_clock::now();
  const auto j = scheduler_.add(std::move(e), number, now, now);
  const accepted answer{j->entry.id, false, scheduler_.ahead_of(*j, now)};
  settle();
  return leave(answer);
}

}  // namespace prover::daemon
