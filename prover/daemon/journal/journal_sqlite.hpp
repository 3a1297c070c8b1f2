// The journal in SQLite: one file in WAL mode for jobs and results, and a folder of payloads beside it.
//
//   auto j = journal_sqlite::open({.directory = "/var/lib/telltale-prover"});
//   service s(…, **j, …);
//
// What a call has written is on the disk when it returns: it survives a kill of the process and a loss of power. Calls
// that come together are committed together. A full disk refuses what is new and harms nothing that is there.
// Results that are older or more than the settings allow are forgotten, the oldest first: at start, each minute, and
// when there are too many.
#pragma once

#include <memory>

#include "prover/daemon/config.hpp"
#include "prover/daemon/journal.hpp"

namespace prover::daemon {

class journal_sqlite final : public journal {
 public:
  // Fails where another process has it open, where it can't be read, and where a newer program wrote it.
  static telltale::result<std::unique_ptr<journal_sqlite>> open(const journal_settings& settings);
  ~journal_sqlite() override;

  telltale::result<void> accept(const journal_entry& entry, std::span<const payload> payloads) override;
  telltale::result<std::vector<std::byte>> load_payload(const job_id& id, std::size_t index) override;
  telltale::result<void> started(const job_id& id) override;
  telltale::result<void> put_back(const job_id& id) override;
  telltale::result<void> finish(const job_id& id, const job_result& result) override;
  telltale::result<std::optional<journalled_job>> find(const job_id& id) override;
  telltale::result<std::optional<journalled_job>> find_key(const std::string& idempotency_key) override;
  telltale::result<std::vector<journal_entry>> unfinished() override;
  telltale::result<std::vector<journalled_job>> finished(std::size_t at_most) override;

 private:
  struct state;
  explicit journal_sqlite(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace prover::daemon
