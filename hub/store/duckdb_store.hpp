// The embedded store: a journal, tables in memory, Parquet files. DuckDB is the engine of all three but the journal.
//
//   append ─ journal (durable, acknowledged) ─ queue ─ tables in memory ─ files, ordered by trace
//
// The tables in memory are what the journal holds: when they are full, the journal begins a new segment, they become
// files, the manifest names these, and the old segments go. No file grows or has to shrink; small ones are merged. Who
// asks sees views over the tables and the files. Three threads: requests append, the inserter fills tables and makes
// files of them, the keeper removes and merges files.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hub/sampling/thin.hpp"
#include "hub/store/data_file.hpp"
#include "hub/store/database.hpp"
#include "hub/store/directory.hpp"
#include "hub/store/duckdb_dialect.hpp"
#include "hub/store/journal.hpp"
#include "hub/store/listeners.hpp"
#include "hub/store/memory_tables.hpp"
#include "hub/store/open_spans.hpp"
#include "hub/store/store.hpp"

namespace telltale::hub {

class duckdb_store final : public store {
 public:
  explicit duckdb_store(store_options o) : options_(std::move(o)) {}
  ~duckdb_store() override;
  result<void> start();

  // duckdb_store.cpp: how records come in and become files.
  result<void> append(std::shared_ptr<const batch> b) override;
  bool overloaded() const override { return waiting_bytes_.load() > options_.max_waiting_bytes; }
  void settle() override;
  store_stats stats() const override;
  std::shared_ptr<void> watch(listener f) override { return listeners_.add(std::move(f)); }

  // questions.cpp
  result<std::vector<span_row>> trace(trace_id id, std::uint64_t limit) const override;
  result<std::vector<span_row>> spans(std::string_view where, std::string_view order,
                                      std::uint64_t limit) const override;
  result<std::vector<log_row>> logs(std::string_view where, std::string_view order, std::uint64_t limit) const override;
  result<std::vector<link_row>> links_from(trace_id trace, std::optional<span_id> span) const override;
  result<std::vector<link_row>> links_to(trace_id trace, std::optional<span_id> span) const override;
  std::vector<span_row> open_spans() const override { return open_.all(); }
  result<std::optional<durations_by_name>> durations(std::int64_t begin_ns, std::int64_t end_ns) const override;
  result<table> query(std::string_view sql, query_limits limits) const override;
  const dialect& sql() const override { return sql_; }

 private:
  using clock = std::chrono::steady_clock;

  // What is asked: replaced as a whole.
  struct layout {
    std::vector<std::shared_ptr<data_file>> files;  // oldest first
    std::uint64_t generation = 0;                   // of the tables in memory
    std::shared_ptr<const generation_index> known;  // of these
  };
  struct item {
    std::shared_ptr<const batch> what;  // null: the journal's segment ended
    std::uint64_t segment = 0;
  };

  std::shared_ptr<const layout> current() const;
  template <class F>
  result<void> with_layout(F f) const;
  std::string files_with(const layout& l, file_kind k, trace_id id) const;

  result<void> open_journal();
  void enqueue(std::shared_ptr<const batch> b, std::uint64_t segment);
  void insert_loop();
  bool is_due(clock::time_point now) const;
  result<void> insert(const std::shared_ptr<const batch>& b);
  result<void> flush();
  void tell_visible(std::uint64_t records);

  std::uint64_t bytes_at_once() const noexcept;
  result<void> seal(std::uint64_t segment);
  result<thinned_counts> choose_thinned() const;
  result<void> write_files(std::vector<std::shared_ptr<data_file>>& made);
  result<void> make_views(const duck::connection& c, const layout& l) const;
  result<void> new_generation(layout l, recent_spans before);
  recent_spans newest_spans(const layout& l) const;
  std::uint64_t next_number();
  void block(const std::string& why);

  void fail(const std::string& why);

  // upkeep.cpp
  void keep_loop();
  result<void> retain(const duck::connection& c);
  result<void> merge_small(const duck::connection& c, file_kind k);
  std::vector<file_entry> worth_merging(file_kind k) const;
  result<void> replace_files(const duck::connection& c, manifest next, const std::shared_ptr<data_file>& added);

  store_options options_;
  duckdb_dialect sql_;
  std::optional<directory> directory_;  // none: in memory only
  database db_;
  database reader_;  // for looking things up in files: it does nothing else, so that nobody waits for a writer there
  std::unique_ptr<journal> journal_;
  listeners listeners_;
  hub::open_spans open_;

  mutable std::mutex layout_mutex_;
  std::shared_ptr<const layout> layout_ = std::make_shared<layout>();
  row_counts in_memory_;  // of the tables in memory
  std::uint64_t repeated_ = 0;

  mutable std::mutex files_mutex_;  // whoever changes the manifest, the views and the layout
  manifest manifest_;

  // The inserter's.
  std::unique_ptr<duck::connection> writer_;
  std::uint64_t generation_ = 0;
  std::unique_ptr<memory_tables> tables_;
  clock::time_point begun_;  // the tables in memory
  clock::time_point retry_;  // not before, after what they became couldn't be written
  std::chrono::seconds patience_{0};
  std::uint64_t repeated_before_ = 0;  // these tables
  std::thread inserter_;
  std::thread keeper_;

  mutable std::mutex queue_mutex_;
  std::condition_variable queue_changed_;
  std::condition_variable visible_changed_;
  std::condition_variable stopped_;
  std::deque<item> queue_;
  std::atomic<std::uint64_t> waiting_bytes_{0};
  std::uint64_t enqueued_ = 0;  // records, as is visible_
  std::uint64_t visible_ = 0;
  bool flush_wanted_ = false;
  bool stopping_ = false;
  std::string blocked_;  // why files can't be written now: nothing is taken meanwhile
  std::string broken_;   // why nothing can be taken any more
};

// Calls `f` with files that stay until it returns. The views may have moved on in between, to a file that was then
// replaced: asked once more, they are newer.
template <class F>
result<void> duckdb_store::with_layout(F f) const {
  for (int attempt = 0;; ++attempt) {
    const auto l = current();
    auto answer = f(*l);
    if (answer || attempt == 2 || l == current()) return answer;
  }
}

}  // namespace telltale::hub
