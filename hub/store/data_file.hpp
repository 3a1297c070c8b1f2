// Parquet files of the store: how one is written, and what is kept in memory of one that is asked.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <telltale/core/context.hpp>
#include <vector>

#include "hub/store/duck.hpp"
#include "hub/store/durations.hpp"
#include "hub/store/manifest.hpp"

namespace telltale::hub {

// A file that is asked. The last who uses it removes it, when it is no longer wanted.
class data_file {
 public:
  // Reads what an index needs.
  static result<std::shared_ptr<data_file>> open(const duck::connection& c, const std::string& directory, file_entry e);
  data_file(const data_file&) = delete;
  data_file& operator=(const data_file&) = delete;
  ~data_file();

  const file_entry& entry() const noexcept { return entry_; }
  const std::string& path() const noexcept { return path_; }
  const std::string& durations_path() const noexcept { return durations_path_; }  // of spans; empty: it has none
  // Whether spans of the trace are in it, or links to it; of the other kinds nothing is known. Now and then true where
  // there are none.
  bool may_hold(trace_id id) const noexcept;
  void unwant() noexcept { unwanted_ = true; }

 private:
  data_file(std::string path, file_entry e) : entry_(std::move(e)), path_(std::move(path)) {}

  file_entry entry_;
  std::string path_;
  std::string durations_path_;
  std::vector<std::uint32_t> traces_;  // fingerprints, sorted
  std::atomic<bool> unwanted_{false};
};

// Writes what `select` gives to a Parquet file, on the disk when it returns. Nothing is left of it where it fails.
result<void> write_parquet(const duck::connection& c, const std::string& select, const std::string& path);
// The same in the order of a relation, to the file that `e` then names; `e` has its rows and times, name and size are
// filled in. Of spans with `durations`, where they aren't null.
result<void> write_file(const duck::connection& c, const std::string& directory, const std::string& select,
                        std::uint64_t number, file_entry& e, const durations_by_name* durations);
void remove_file(const std::string& directory, const file_entry& e);

}  // namespace telltale::hub
