// The journal's tables, and the statements over them: one connection reads, another writes.
#pragma once

#include "prover/daemon/journal.hpp"
#include "prover/daemon/journal/sqlite.hpp"

namespace prover::daemon::sqlite {

// Makes the tables in an empty database. Throws where it is another program's, or of a version that this one can't
// read.
void prepare_tables(connection& c);

// Nanoseconds of the wall clock since 1970, as times stand in the tables.
std::int64_t since_epoch(wall_time t);

// About what a result takes in the database.
std::size_t bytes_of(const job_result& r);

class reader {
 public:
  explicit reader(const connection& c);

  std::optional<journalled_job> find(const job_id& id) { return one(by_id_.use(id.value)); }
  std::optional<journalled_job> find_key(const std::string& key) { return one(by_key_.use(key)); }
  std::vector<journalled_job> unfinished() { return all(unfinished_.use()); }
  std::vector<journalled_job> finished(std::size_t at_most) { return all(finished_.use(at_most)); }

 private:
  std::optional<journalled_job> one(statement& s);
  std::vector<journalled_job> all(statement& s);
  journalled_job read(const statement& s);

  statement by_id_;
  statement by_key_;
  statement unfinished_;
  statement finished_;
  statement parts_;
  statement proofs_;
  statement phases_;
};

// Each of its functions runs in a transaction of its caller's.
class writer {
 public:
  explicit writer(const connection& c);

  void add(const journal_entry& entry);
  void started(const job_id& id) { count_start_.use(id.value).run(); }
  void put_back(const job_id& id) { take_back_.use(id.value).run(); }
  // The payloads that the job had; nothing where it has ended already: the first answer stands.
  std::vector<digest> finish(const job_id& id, const job_result& result, std::size_t bytes);
  // Whether a job that hasn't ended has such a payload.
  bool is_wanted(const digest& content);
  // Forgets the result that is the oldest, if `due` says so of the time when it ended; says its bytes.
  template <class Due>
  std::optional<std::uint64_t> forget_oldest(Due due) {
    oldest_.use();
    std::optional<std::uint64_t> gone;
    if (oldest_.next()) {
      const std::int64_t number = oldest_.integer(0);
      const auto bytes = static_cast<std::uint64_t>(oldest_.integer(1));
      const std::int64_t finished = oldest_.integer(2);
      oldest_.reset();
      if (due(finished)) {
        forget_.use(number).run();
        gone = bytes;
      }
    }
    return gone;
  }

 private:
  const connection& connection_;
  statement add_job_, add_part_, count_start_, take_back_, number_of_, end_, add_proof_, add_phase_, contents_, wanted_,
      oldest_, forget_;
};

}  // namespace prover::daemon::sqlite
