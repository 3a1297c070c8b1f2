// A scheduler in a world without threads, whose clock moves when told: actions begin when they are taken, and end when
// the test ends them, in any order.
#pragma once

#include <algorithm>
#include <deque>
#include <map>

#include "prover/daemon/request_digest.hpp"
#include "prover/daemon/scheduler.hpp"
#include "prover/daemon/testing/fake_device.hpp"
#include "prover/daemon/testing/tiny_witness.hpp"

namespace prover::daemon::testing {

using namespace std::chrono_literals;

inline kind kind_named(const std::string& name) {
  kind k;
  k.name = name;
  return k;
}

class simulation {
 public:
  struct setting {
    std::vector<kind> kinds;
    std::vector<size_estimate> sizes;  // of each kind, as estimated and as they are
    unsigned devices = 1;
    limits bounds;
  };
  explicit simulation(setting s) : sizes(s.sizes), plan(s.bounds, s.kinds, traits(s.devices), now), proving(s.devices) {
    for (std::size_t k = 0; k < s.kinds.size(); ++k) plan.estimated(k, s.sizes[k]);
  }

  static limits bounds(std::size_t memory) {
    limits l;
    l.memory = memory;
    l.request_memory = 10;
    l.process_memory = 0;
    return l;
  }

  job_pointer submit(std::size_t kind, priority p = priority::normal, std::optional<nanoseconds> deadline = {},
                     std::size_t pieces = 1) {
    journal_entry e;
    e.id = {"job" + std::to_string(submitted_++)};
    e.kind = plan.kinds()[kind].name;
    e.priority = p;
    e.deadline = deadline;
    e.parts.resize(pieces);
    for (auto& part : e.parts) {
      part.size = 1;
      part.form = form;
    }
    auto j = plan.add(std::move(e), kind, now, now);
    settle();
    return j;
  }

  // Takes every action that there is; what is taken runs until the test ends it.
  void settle() {
    plan.plan(now);
    while (auto w = plan.next_unload()) unloading.push_back(std::move(*w));
    while (loading.size() < load_threads) {
      auto w = plan.next_load(now);
      if (!w) break;
      loading.push_back(*w);
    }
    const auto reading = [&] {
      return static_cast<std::size_t>(std::count_if(preparing.begin(), preparing.end(), [](const auto& w) {
        return w.job->entry.parts[w.piece].form == payload_form::wtns;
      }));
    };
    while (reading() < preparing_threads) {
      auto w = plan.next_preparation(payload_form::wtns, now);
      if (!w) break;
      preparing.push_back(std::move(*w));
    }
    while (auto w = plan.next_preparation(payload_form::inputs, now)) preparing.push_back(std::move(*w));
    for (std::size_t d = 0; d < proving.size(); ++d) {
      while (auto w = plan.next_proof(d, now)) proving[d].push_back(std::move(*w));
    }
    while (auto j = plan.next_store(now)) storing.push_back(std::move(*j));
  }

  void end_load(std::size_t i, std::optional<failure> why = {}, nanoseconds took = 100ms) {
    const auto w = taken(loading, i);
    if (why) {
      plan.loaded(w, *why, {}, took, now);
    } else {
      plan.loaded(w, std::make_shared<const fake_key>(sizes[w.kind].key + w.table_bytes, w.table_bytes != 0, alive), {},
                  took, now);
    }
    settle();
  }
  void end_unload(std::size_t i) {
    auto w = taken(unloading, i);
    w.key.reset();
    plan.unloaded(w, now);
    settle();
  }
  void end_preparation(std::size_t i, std::optional<failure> why = {}) {
    const auto w = taken(preparing, i);
    std::vector<interval> parts{{"witness", w.job->pieces[w.piece].since, now}};
    if (why) {
      plan.prepared(w, *why, parts, now);
    } else {
      plan.prepared(w, tiny_witness(), parts, now);
    }
    settle();
  }
  void end_proof(std::size_t device, device::proved what = proof_text{"proof", "signals"}) {
    auto w = taken(proving[device], 0);
    std::vector<interval> parts{{"msm", w.job->pieces[w.piece].since, now}};
    plan.proved(w, std::move(what), {}, parts, now);
    settle();
  }
  void end_store(std::size_t i, bool well = true) {
    const auto j = taken(storing, i);
    if (well) ++answers[j->entry.id.value];
    plan.stored(j, well, now);
    settle();
  }
  void pass(nanoseconds d) {
    now += d;
    settle();
  }

  // Ends everything that runs, well, until nothing runs any more.
  void run_dry() {
    for (;;) {
      if (!unloading.empty()) {
        end_unload(0);
      } else if (!loading.empty()) {
        end_load(0);
      } else if (!preparing.empty()) {
        end_preparation(0);
      } else if (!storing.empty()) {
        end_store(0);
      } else {
        std::size_t d = 0;
        while (d < proving.size() && proving[d].empty()) ++d;
        if (d == proving.size()) return;
        end_proof(d);
      }
    }
  }

  steady_time now{1000h};
  std::vector<size_estimate> sizes;
  payload_form form = payload_form::wtns;  // of the next job
  std::size_t load_threads = 2, preparing_threads = 2;
  std::atomic<int> alive{0};
  scheduler plan;
  std::deque<scheduler::load_work> loading;
  std::deque<scheduler::unload_work> unloading;
  std::deque<scheduler::preparation> preparing;
  std::vector<std::deque<scheduler::proof_work>> proving;
  std::deque<job_pointer> storing;
  std::map<std::string, int> answers;

 private:
  static std::vector<device_traits> traits(unsigned n) {
    std::vector<device_traits> all;
    for (unsigned i = 0; i < n; ++i) all.push_back({"gpu" + std::to_string(i), "a fake", 1});
    return all;
  }
  template <class T>
  static T taken(std::deque<T>& from, std::size_t i) {
    T w = std::move(from[i]);
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(i));
    return w;
  }
  std::size_t submitted_ = 0;
};

}  // namespace prover::daemon::testing
