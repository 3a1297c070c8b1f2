// The keeper: files that are too old or too many go, small ones become larger ones.
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "hub/store/duckdb_store.hpp"
#include "hub/store/durations_file.hpp"
#include "hub/store/priority.hpp"
#include "hub/store/schema.hpp"

namespace telltale::hub {

namespace {

// About as many files of a kind there are at most; beyond, larger ones are made.
constexpr std::uint64_t most_files = 64;
// As many small ones are merged, however little there is in them.
constexpr std::size_t many = 16;

bool holds(const std::vector<file_entry>& files, const std::string& name) {
  return std::any_of(files.begin(), files.end(), [&](const file_entry& e) { return e.name == name; });
}

}  // namespace

void duckdb_store::keep_loop() {
  yield_to_questions(nice_upkeep);
  const duck::connection c(db_.get());
  auto merge_after = clock::now();
  for (;;) {
    {
      std::unique_lock lock(queue_mutex_);
      if (stopped_.wait_for(lock, std::chrono::seconds(1), [&] { return stopping_ || !broken_.empty(); })) return;
    }
    // Without room for a manifest nothing changes, and a second later it may.
    (void)retain(c);
    for (std::size_t i = 0; i < file_kinds; ++i) {
      const auto k = static_cast<file_kind>(i);
      if (clock::now() < merge_after) continue;
      if (!merge_small(c, k)) merge_after = clock::now() + std::chrono::minutes(1);
    }
  }
}

// Oldest first.
result<void> duckdb_store::retain(const duck::connection& c) {
  if (options_.max_bytes == 0 && options_.max_age_seconds == 0) return {};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t oldest =
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - options_.max_age_seconds * 1'000'000'000;
  const std::lock_guard lock(files_mutex_);
  std::uint64_t bytes = journal_->bytes();
  for (const file_entry& e : manifest_.files) bytes += e.bytes;
  auto next = manifest_;
  std::erase_if(next.files, [&](const file_entry& e) {
    const bool too_old = options_.max_age_seconds != 0 && e.max_ns < oldest;
    const bool too_much = options_.max_bytes != 0 && bytes > options_.max_bytes;
    if (too_old || too_much) bytes -= e.bytes;
    return too_old || too_much;
  });
  if (next.files.size() == manifest_.files.size()) return {};
  return replace_files(c, std::move(next), nullptr);
}

// The oldest files side by side that are small and make a larger one together; none where there are none. Times stay
// close enough for retention.
std::vector<file_entry> duckdb_store::worth_merging(file_kind k) const {
  const std::lock_guard lock(files_mutex_);
  std::uint64_t rows = 0;
  for (const file_entry& e : manifest_.files) rows += e.kind == k ? e.rows : 0;
  const std::uint64_t wanted = std::max(options_.rows_per_file, rows / most_files);
  std::vector<file_entry> group;
  std::uint64_t together = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  for (const file_entry& e : manifest_.files) {
    if (e.kind != k) continue;
    const std::int64_t begin = group.empty() ? e.min_ns : std::min(first, e.min_ns);
    const std::int64_t end = group.empty() ? e.max_ns : std::max(last, e.max_ns);
    const bool fits = e.rows <= wanted / 2 && together + e.rows <= wanted &&
                      (options_.max_age_seconds == 0 || end - begin <= options_.max_age_seconds * 1'000'000'000 / 8) &&
                      (options_.max_bytes == 0 || e.bytes <= options_.max_bytes / 32);
    if (!fits) {
      group.clear();
      together = 0;
      continue;
    }
    group.push_back(e);
    together += e.rows;
    first = begin;
    last = end;
    if (group.size() >= many || (group.size() > 1 && together > wanted / 2)) return group;
  }
  return {};
}

result<void> duckdb_store::merge_small(const duck::connection& c, file_kind k) {
  const std::vector<file_entry> small = worth_merging(k);
  if (small.empty()) return {};
  file_entry e;
  e.kind = k;
  e.min_ns = small[0].min_ns;
  e.max_ns = small[0].max_ns;
  std::string paths;
  std::vector<std::string> histograms;
  for (const file_entry& s : small) {
    e.rows += s.rows;
    e.min_ns = std::min(e.min_ns, s.min_ns);
    e.max_ns = std::max(e.max_ns, s.max_ns);
    paths += (paths.empty() ? "" : ", ") + sql_.text(directory_->path() + "/" + s.name);
    const std::string beside = directory_->path() + "/" + durations_of(s.name);
    if (k == file_kind::spans && ::access(beside.c_str(), R_OK) == 0) histograms.push_back(beside);
  }
  durations_by_name durations;
  const bool all_have = histograms.size() == small.size();
  if (all_have) {
    if (const auto read = read_durations(c, histograms, durations); !read) return read;
  }
  const auto written =
      write_file(c, directory_->path(), "SELECT " + columns_of(k) + " FROM read_parquet([" + paths + "])",
                 next_number(), e, all_have ? &durations : nullptr);
  if (!written) return written;
  auto f = data_file::open(c, directory_->path(), e);
  if (!f) {
    remove_file(directory_->path(), e);
    return f.error();
  }
  const std::lock_guard lock(files_mutex_);
  auto next = manifest_;
  const auto first = std::find_if(next.files.begin(), next.files.end(),
                                  [&](const file_entry& one) { return one.name == small[0].name; });
  *first = e;
  std::erase_if(next.files, [&](const file_entry& one) { return holds(small, one.name); });
  auto replaced = replace_files(c, std::move(next), *f);
  if (!replaced) (*f)->unwant();
  return replaced;
}

// The manifest becomes `next`, and what is asked follows. `added` is new in it, or null.
result<void> duckdb_store::replace_files(const duck::connection& c, manifest next,
                                         const std::shared_ptr<data_file>& added) {
  if (const auto written = write_manifest(directory_->path(), next); !written) return written;
  manifest_ = std::move(next);
  auto l = *current();
  std::vector<std::shared_ptr<data_file>> gone;
  std::vector<std::shared_ptr<data_file>> files;
  for (const auto& f : l.files) {
    if (!holds(manifest_.files, f->entry().name)) gone.push_back(f);
  }
  for (const file_entry& e : manifest_.files) {
    const auto at =
        std::find_if(l.files.begin(), l.files.end(), [&](const auto& f) { return f->entry().name == e.name; });
    files.push_back(at != l.files.end() ? *at : added);
  }
  l.files = std::move(files);
  if (const auto made = make_views(c, l); !made) {
    fail(made.error().message);
    return {};
  }
  {
    const std::lock_guard lock(layout_mutex_);
    layout_ = std::make_shared<const layout>(std::move(l));
  }
  for (const auto& f : gone) f->unwant();
  return {};
}

}  // namespace telltale::hub
