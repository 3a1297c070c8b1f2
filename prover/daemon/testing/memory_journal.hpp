// A journal in memory, for tests: outlives services as a file would, and fails when told.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "prover/daemon/journal.hpp"

namespace prover::daemon::testing {

class memory_journal final : public journal {
 public:
  telltale::result<void> accept(const journal_entry& entry, std::span<const payload> payloads) override {
    const std::lock_guard lock(mutex_);
    if (full) return no_space();
    if (!entry.idempotency_key.empty()) {
      for (const auto& [id, r] : records_) {
        if (r.job.entry.idempotency_key == entry.idempotency_key) return telltale::error{"the key is there already"};
      }
    }
    record r;
    r.job.entry = entry;
    r.payloads.assign(payloads.begin(), payloads.end());
    order_.push_back(entry.id);
    records_.emplace(entry.id, std::move(r));
    return {};
  }
  telltale::result<std::vector<std::byte>> load_payload(const job_id& id, std::size_t index) override {
    const std::lock_guard lock(mutex_);
    const auto found = records_.find(id);
    if (found == records_.end() || index >= found->second.payloads.size()) return telltale::error{"no such payload"};
    return found->second.payloads[index].content;
  }
  telltale::result<void> started(const job_id& id) override {
    const std::lock_guard lock(mutex_);
    ++records_.at(id).job.entry.starts;
    return {};
  }
  telltale::result<void> put_back(const job_id& id) override {
    const std::lock_guard lock(mutex_);
    --records_.at(id).job.entry.starts;
    return {};
  }
  telltale::result<void> finish(const job_id& id, const job_result& result) override {
    const std::lock_guard lock(mutex_);
    if (full) return no_space();
    record& r = records_.at(id);
    ++r.finishes;
    r.job.result = result;
    r.payloads.clear();
    return {};
  }
  telltale::result<std::optional<journalled_job>> find(const job_id& id) override {
    const std::lock_guard lock(mutex_);
    const auto found = records_.find(id);
    if (found == records_.end()) return std::optional<journalled_job>();
    return std::optional(found->second.job);
  }
  telltale::result<std::optional<journalled_job>> find_key(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, r] : records_) {
      if (r.job.entry.idempotency_key == key) return std::optional(r.job);
    }
    return std::optional<journalled_job>();
  }
  telltale::result<std::vector<journal_entry>> unfinished() override {
    const std::lock_guard lock(mutex_);
    std::vector<journal_entry> all;
    for (const auto& id : order_) {
      if (!records_.at(id).job.result) all.push_back(records_.at(id).job.entry);
    }
    return all;
  }
  telltale::result<std::vector<journalled_job>> finished(std::size_t at_most) override {
    const std::lock_guard lock(mutex_);
    std::vector<journalled_job> all;
    for (auto i = order_.rbegin(); i != order_.rend() && all.size() < at_most; ++i) {
      if (records_.at(*i).job.result) all.push_back(records_.at(*i).job);
    }
    return all;
  }

  // How often a result was stored for it.
  unsigned finishes(const job_id& id) {
    const std::lock_guard lock(mutex_);
    return records_.at(id).finishes;
  }
  unsigned starts(const job_id& id) {
    const std::lock_guard lock(mutex_);
    return records_.at(id).job.entry.starts;
  }
  std::atomic<bool> full{false};  // nothing can be written

 private:
  static telltale::error no_space() { return {"cannot write the journal: No space left on device. Free some."}; }
  struct record {
    journalled_job job;
    std::vector<payload> payloads;
    unsigned finishes = 0;
  };
  std::mutex mutex_;
  std::map<job_id, record> records_;
  std::vector<job_id> order_;
};

}  // namespace prover::daemon::testing
