// Which files go: those that are too old, or too many.
#include <algorithm>
#include <chrono>

#include "hub/store/duckdb_store.hpp"

namespace telltale::hub {

// Oldest first.
result<void> duckdb_store::retain() {
  if (options_.max_bytes == 0 && options_.max_age_seconds == 0) return {};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t oldest =
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - options_.max_age_seconds * 1'000'000'000;
  std::uint64_t bytes = journal_ ? journal_->bytes() : 0;
  for (const file_entry& e : manifest_.files) bytes += e.bytes;
  auto next = manifest_;
  std::erase_if(next.files, [&](const file_entry& e) {
    const bool too_old = options_.max_age_seconds != 0 && e.max_ns < oldest;
    const bool too_much = options_.max_bytes != 0 && bytes > options_.max_bytes;
    if (too_old || too_much) bytes -= e.bytes;
    return too_old || too_much;
  });
  if (next.files.size() == manifest_.files.size()) return {};
  if (const auto written = write_manifest(directory_->path(), next); !written) return {};  // no room: again in a second
  manifest_ = std::move(next);
  auto l = *current();
  std::vector<std::shared_ptr<data_file>> gone;
  std::erase_if(l.files, [&](const std::shared_ptr<data_file>& f) {
    const bool kept = std::any_of(manifest_.files.begin(), manifest_.files.end(),
                                  [&](const file_entry& e) { return e.name == f->entry().name; });
    if (!kept) gone.push_back(f);
    return !kept;
  });
  if (const auto made = make_views(l); !made) return made;
  {
    const std::lock_guard lock(layout_mutex_);
    layout_ = std::make_shared<const layout>(std::move(l));
  }
  for (const auto& f : gone) f->unwant();
  return {};
}

}  // namespace telltale::hub
