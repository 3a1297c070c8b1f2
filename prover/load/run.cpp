// The ways of asking.
#include "prover/load/run.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

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

// Looks at the daemon's memory ten times a second.
class memory_watch {
 public:
  explicit memory_watch(client& c) : client_(c), thread_([this](const std::stop_token& stop) { watch(stop); }) {}
  std::size_t peak() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    return peak_;
  }

 private:
  void watch(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (const auto s = status_of(client_)) peak_ = std::max(peak_, number(*s, "memory", "measured"));
      std::this_thread::sleep_for(std::chrono::milliseconds{100});
    }
  }
  client& client_;
  std::size_t peak_ = 0;
  std::jthread thread_;
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
    } else {
      const daemon::job_result& r = std::get<remote_result>(a).result;
      s.outcome = telltale_name(r.how);
      s.proofs = r.how == daemon::outcome::completed ? payloads : 0;
      s.times = r.times;
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

telltale::result<void> remember(client& c, std::size_t& memory, figures& f) {
  const auto s = status_of(c);
  if (!s) return s.error();
  memory = number(*s, "memory", "measured");
  f.budget = number(*s, "memory", "budget");
  return {};
}

std::size_t ended(const json& status, const char* how) {
  return number(status.value("total", json::object()), "ended", how);
}

}  // namespace

telltale::result<figures> run_load(client& c, const plan& p, const std::string& mode) {
  figures f;
  f.mode = mode;
  if (auto asked = remember(c, f.memory_before, f); !asked) return asked.error();
  memory_watch memory(c);
  collector answers(p);
  const auto begin = clock::now();
  if (p.rate > 0) {
    open_loop(c, p, answers);
  } else {
    closed_loop(c, p, answers);
  }
  f.samples = answers.wait_for(p.count);
  f.wall = clock::now() - begin;
  f.memory_peak = memory.peak();
  if (auto asked = remember(c, f.memory_after, f); !asked) return asked.error();
  return f;
}

telltale::result<figures> run_cold(client& c, const plan& p) {
  figures f;
  f.mode = "cold";
  if (auto asked = remember(c, f.memory_before, f); !asked) return asked.error();
  memory_watch memory(c);
  plan twice = p;
  twice.count = 2 * p.count;
  collector answers(twice);
  const auto begin = clock::now();
  for (std::size_t i = 0; i < p.count; ++i) {
    const daemon::request r = request_of(p, i, false);
    auto gone = c.evict(r.kind);
    if (const auto* failed = std::get_if<call_failure>(&gone)) return telltale::error{failed->message};
    for (const char* how : {" cold", " warm"}) {
      const auto from = clock::now();
      answers.add(r.kind + how, from, p.payloads, c.prove(r, std::nullopt, false));
    }
  }
  f.samples = answers.wait_for(twice.count);
  f.wall = clock::now() - begin;
  f.memory_peak = memory.peak();
  if (auto asked = remember(c, f.memory_after, f); !asked) return asked.error();
  return f;
}

telltale::result<figures> run_soak(client& c, const plan& p) {
  // Keys and pools are there before memory is measured.
  plan warm_up = p;
  warm_up.count = 2 * p.jobs.size();
  warm_up.faulty = warm_up.cancelled = 0;
  warm_up.progress = [](std::size_t, std::size_t) {};
  if (auto warmed = run_load(c, warm_up, "warm-up"); !warmed) return warmed.error();

  const auto before = status_of(c);
  if (!before) return before.error();
  auto f = run_load(c, p, "soak");
  if (!f) return f;
  const auto after = status_of(c);
  if (!after) return after.error();
  for (const char* how : {"completed", "failed", "cancelled", "expired"}) {
    const std::size_t theirs = ended(*after, how) - ended(*before, how);
    const auto ours = static_cast<std::size_t>(
        std::ranges::count(f->samples, std::string(how), [](const sample& s) { return s.outcome; }));
    if (theirs != ours) {
      f->findings.push_back("the daemon counts " + std::to_string(theirs) + " jobs that " + how + ", the client " +
                            std::to_string(ours));
    }
  }
  // What the heap keeps of a small process is more than a twentieth of it.
  constexpr std::size_t allowance = std::size_t{16} << 20;
  if (f->memory_after > f->memory_before + std::max(f->memory_before / 20, allowance)) {
    f->findings.push_back("the daemon's memory grew by more than 5 % and 16 MiB");
  }
  if (f->memory_peak > f->budget) f->findings.push_back("the daemon's memory exceeded its budget");
  return f;
}

}  // namespace prover::load
