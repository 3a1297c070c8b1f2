// The ways of asking.
#include "prover/load/run.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "prover/load/process_memory.hpp"

namespace prover::load {

namespace {

using clock = std::chrono::steady_clock;
using daemon::answered;
using daemon::call_failure;
using daemon::client;
using daemon::remote_result;
using nlohmann::json;

telltale::result<json> status_of(client& c) {
  auto a = c.status();
  if (const auto* failed = std::get_if<call_failure>(&a)) return telltale::error{failed->message};
  json j = json::parse(std::get<std::string>(a), nullptr, false);
  if (!j.is_object()) return telltale::error{"the daemon's status can't be read"};
  return j;
}

std::size_t number(const json& j, const char* section, const char* key) {
  const json s = j.value(section, json::object());
  return s.value(key, std::size_t{0});
}

// Where the daemon's memory is read: from outside where it runs on this machine, else by asking it.
class observed_memory {
 public:
  explicit observed_memory(client& c, const json& status) : client_(c) {
    const pid_t pid = status.value("pid", pid_t{0});
    std::error_code none;
    const auto program = std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", none);
    if (pid > 0 && program.filename() == "prover-daemon") pid_ = pid;
  }
  bool from_outside() const { return pid_ != 0; }
  std::optional<std::size_t> now() const {
    if (pid_ != 0) return anonymous_memory(pid_);
    const auto s = status_of(client_);
    return s ? std::optional(number(*s, "memory", "measured")) : std::nullopt;
  }
  std::chrono::milliseconds interval() const { return std::chrono::milliseconds(pid_ != 0 ? 10 : 100); }

 private:
  client& client_;
  pid_t pid_ = 0;
};

// Collects answers from whichever thread.
class collector {
 public:
  explicit collector(const plan& p) : plan_(p) {}
  void add(const std::string& group, clock::time_point from, std::size_t payloads, const answered<remote_result>& a) {
    sample s;
    s.group = group;
    s.latency = clock::now() - from;
    if (const auto* failed = std::get_if<call_failure>(&a)) {
      s.outcome = failed->refusal.empty() ? failed->code : "refused: " + failed->refusal;
      s.problem = failed->message;
    } else {
      const daemon::job_result& r = std::get<remote_result>(a).result;
      s.outcome = telltale_name(r.how);
      s.proofs = r.how == daemon::outcome::completed ? payloads : 0;
      s.times = r.times;
      s.problem = r.why.message;
    }
    const std::lock_guard lock(mutex_);
    samples_.push_back(std::move(s));
    plan_.progress(samples_.size(), plan_.count);
    changed_.notify_all();
  }
  std::vector<sample> wait_for(std::size_t n) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return samples_.size() >= n; });
    return samples_;
  }

 private:
  const plan& plan_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<sample> samples_;
};

daemon::request request_of(const plan& p, std::size_t number, bool faulty) {
  const job& j = p.jobs[number % p.jobs.size()];
  daemon::request r;
  r.kind = j.kind;
  for (std::size_t i = 0; i < p.payloads; ++i) {
    r.payloads.push_back({daemon::payload_form::wtns, j.witness});
    // The last value becomes another one below the prime: well formed, and no witness.
    if (faulty && j.witness.size() > 32) r.payloads.back().content[j.witness.size() - 32] ^= std::byte{1};
  }
  return r;
}

// Asked for and not waited for; then cancelled, then waited for.
answered<remote_result> cancelled(client& c, const daemon::request& r, nanoseconds after) {
  auto a = c.submit(r);
  if (auto* failed = std::get_if<call_failure>(&a)) return std::move(*failed);
  const daemon::job_id id = std::get<daemon::accepted>(a).id;
  std::this_thread::sleep_for(after);
  (void)c.cancel(id);
  return c.await(id, std::nullopt);
}

void closed_loop(client& c, const plan& p, collector& into) {
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < p.concurrency; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(p.seed + t);
      std::uniform_real_distribution<double> share(0, 1);
      for (std::size_t i = next++; i < p.count; i = next++) {
        const bool faulty = share(random) < p.faulty;
        const bool cancel = share(random) < p.cancelled;
        const daemon::request r = request_of(p, i, faulty);
        const auto begin = clock::now();
        const auto a =
            cancel ? cancelled(c, r, std::chrono::milliseconds(random() % 200)) : c.prove(r, std::nullopt, false);
        into.add(r.kind, begin, p.payloads, a);
      }
    });
  }
}

// Sent when its time comes, whether or not earlier ones have their answer. Latency counts from that time: a daemon that
// falls behind can't hide it.
void open_loop(client& c, const plan& p, collector& into) {
  const auto begin = clock::now();
  for (std::size_t i = 0; i < p.count; ++i) {
    const auto due = begin + std::chrono::duration_cast<clock::duration>(
                                 std::chrono::duration<double>(static_cast<double>(i) / p.rate));
    std::this_thread::sleep_until(due);
    const daemon::request r = request_of(p, i, false);
    c.prove(r, std::nullopt,
            [&into, &p, due, kind = r.kind](const answered<remote_result>& a) { into.add(kind, due, p.payloads, a); });
  }
}

// The daemon's memory before, during and after what `run` does.
template <class Run>
telltale::result<figures> measured(client& c, const char* mode, Run run) {
  figures f;
  f.mode = mode;
  const auto status = status_of(c);
  if (!status) return status.error();
  const observed_memory memory(c, *status);
  f.memory_from_outside = memory.from_outside();
  f.budget = number(*status, "memory", "budget");
  f.memory_before = memory.now().value_or(0);
  const memory_watch watch([&] { return memory.now(); }, memory.interval());
  const auto begin = clock::now();
  if (telltale::result<void> ran = run(f); !ran) return ran.error();
  f.wall = clock::now() - begin;
  f.memory_after = memory.now().value_or(0);
  f.memory_peak = std::max({watch.peak(), f.memory_before, f.memory_after});
  if (f.memory_peak > f.budget) f.findings.push_back("the daemon's memory exceeded its budget");
  if (std::ranges::none_of(f.samples, [](const sample& s) { return s.outcome == "completed"; })) {
    f.findings.push_back("no job was completed; the first: " + f.samples.front().problem);
  }
  return f;
}

// The key is gone when this returns. It is in use for a moment after its last answer.
telltale::result<void> evicted(client& c, const std::string& kind) {
  for (int tries = 0;; ++tries) {
    const auto gone = c.evict(kind);
    const auto* failed = std::get_if<call_failure>(&gone);
    if (failed == nullptr) return {};
    if (failed->code != "FAILED_PRECONDITION" || tries == 50) return telltale::error{failed->message};
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
}

// An idle daemon gives back what its heap keeps (service.cpp).
constexpr std::chrono::seconds settling{3};

std::size_t ended(const json& status, const char* how) {
  return number(status.value("total", json::object()), "ended", how);
}

}  // namespace

telltale::result<figures> run_load(client& c, const plan& p, const std::string& mode) {
  return measured(c, mode.c_str(), [&](figures& f) -> telltale::result<void> {
    collector answers(p);
    if (p.rate > 0) {
      open_loop(c, p, answers);
    } else {
      closed_loop(c, p, answers);
    }
    f.samples = answers.wait_for(p.count);
    return {};
  });
}

telltale::result<figures> run_cold(client& c, const plan& p) {
  return measured(c, "cold", [&](figures& f) -> telltale::result<void> {
    plan twice = p;
    twice.count = 2 * p.count;
    collector answers(twice);
    for (std::size_t i = 0; i < p.count; ++i) {
      const daemon::request r = request_of(p, i, false);
      if (auto gone = evicted(c, r.kind); !gone) return gone.error();
      for (const char* how : {" cold", " warm"}) {
        const auto from = clock::now();
        answers.add(r.kind + how, from, p.payloads, c.prove(r, std::nullopt, false));
      }
    }
    f.samples = answers.wait_for(twice.count);
    return {};
  });
}

telltale::result<figures> run_soak(client& c, const plan& p) {
  // Keys, pools and caches are there before memory is measured: a tenth of the jobs, some of them spoiled and
  // cancelled.
  plan warm_up = p;
  warm_up.count = std::max(2 * p.jobs.size(), p.count / 10);
  warm_up.progress = [](std::size_t, std::size_t) {};
  if (auto warmed = run_load(c, warm_up, "warm-up"); !warmed) return warmed.error();
  std::this_thread::sleep_for(settling);

  const auto before = status_of(c);
  if (!before) return before.error();
  auto f = run_load(c, p, "soak");
  if (!f) return f;
  std::this_thread::sleep_for(settling);
  const auto after = status_of(c);
  if (!after) return after.error();
  f->memory_after = observed_memory(c, *after).now().value_or(0);
  for (const char* how : {"completed", "failed", "cancelled", "expired"}) {
    const std::size_t theirs = ended(*after, how) - ended(*before, how);
    const auto ours = static_cast<std::size_t>(
        std::ranges::count(f->samples, std::string(how), [](const sample& s) { return s.outcome; }));
    if (theirs != ours) {
      f->findings.push_back("the daemon counts " + std::to_string(theirs) + " jobs that " + how + ", the client " +
                            std::to_string(ours));
    }
  }
  if (f->memory_after > f->memory_before + f->memory_before / 20) {
    f->findings.push_back("the daemon's memory grew by more than 5 %");
  }
  return f;
}

}  // namespace prover::load
