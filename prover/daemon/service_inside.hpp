// What the service is made of: the scheduler behind one lock, and the threads that do what it says. Nothing slow
// happens under the lock: no file, no key, no proof, no callback.
//
// Its functions are in four files: service_life.cpp (start, threads, end), service_submit.cpp (how a job gets in),
// service_work.cpp (what the threads do), service.cpp (the other doors).
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "prover/daemon/file_watch.hpp"
#include "prover/daemon/metrics.hpp"
#include "prover/daemon/notices.hpp"
#include "prover/daemon/scheduler.hpp"
#include "prover/daemon/service.hpp"

namespace prover::daemon {

class service::inside {
 public:
  inside(limits l, std::vector<kind> kinds, std::vector<std::unique_ptr<device>> devices, journal& j,
         witness_source& witnesses);

  ~inside() { stop(); }

  telltale::result<void> start();
  std::variant<accepted, refusal> submit(request r);
  subscription await(const job_id& id, std::optional<nanoseconds> timeout, notices::await_function f);
  subscription watch(const job_id& id, notices::watch_function f);
  cancel_answer cancel(const job_id& id);
  std::vector<job_view> list(const job_filter& filter);
  std::optional<job_view> find(const job_id& id);
  std::optional<job_view> find_unfinished(const job_id& id);
  status get_status();
  telltale::result<preload_answer> preload(const std::string& kind);
  telltale::result<std::size_t> evict(const std::string& kind);
  std::size_t drain(nanoseconds at_most);
  std::size_t stop();
  notices& told() { return notices_; }
  const std::vector<kind>& kinds() const { return scheduler_.kinds(); }

 private:
  using lock_type = std::unique_lock<std::mutex>;

  std::vector<device_traits> traits() const;
  std::optional<std::size_t> number_of(const std::string& kind) const;

  // Under the lock, after every change: decides, and wakes whom it concerns.
  void settle();
  template <class Next, class Do>
  void work(const char* name, std::condition_variable& wake, const bool& until, Next next, Do act);
  void load(const scheduler::load_work& w, lock_type& lock);
  void unload(scheduler::unload_work w, lock_type& lock);
  void prepare(const scheduler::preparation& w, lock_type& lock);
  void prove(scheduler::proof_work w, lock_type& lock);
  void store(const job_pointer& j, lock_type& lock);
  void keep_time();
  void say_what_is_slow();
  void look_at_files();

  std::variant<witness, failure> make_witness(const scheduler::preparation& w, std::vector<interval>& parts);
  telltale::result<void> estimate(std::size_t kind);
  std::optional<refusal> check(const request& r, std::optional<std::size_t> kind) const;
  refusal refuse(const std::string& kind, refusal_reason why, std::string message,
                 std::optional<nanoseconds> retry = std::nullopt);
  std::variant<accepted, refusal> accept(request r, std::size_t kind, std::size_t size);
  std::variant<accepted, refusal, std::monostate> known(const request& r, const digest& of_request);
  void recover(journal_entry e);

  // Peaks are the process's: one is taken only where nothing else ran from begin to end.
  bool begin_action() {
    ++actions_begun_;
    return ++actions_running_ == 1;
  }

  const limits limits_;
  const std::vector<std::unique_ptr<device>> devices_;
  journal& journal_;
  witness_source& witnesses_;

  std::mutex mutex_;
  scheduler scheduler_;
  status::counts total_;
  std::map<std::string, status::counts> by_kind_;
  std::set<std::string> accepting_;  // idempotency keys
  std::size_t accepting_jobs_ = 0, accepting_bytes_ = 0;
  std::size_t arriving_bytes_ = 0;  // of requests that are being submitted
  std::uint64_t actions_begun_ = 0;
  unsigned actions_running_ = 0;
  bool draining_ = false, stopping_ = false, storing_ends_ = false, running_ = false;
  steady_time timer_target_ = steady_time::max();
  std::condition_variable to_load_, to_unload_, to_prepare_, to_prove_, to_store_, timer_, accepted_, ended_;

  file_watch files_;
  notices notices_;
  std::vector<std::thread> threads_;
  std::thread storekeeper_;  // ends last: what the others end still has to be written down
  std::unique_ptr<metrics::gauges> gauges_;
  std::once_flag stopped_;
  std::size_t left_ = 0;
};

}  // namespace prover::daemon
