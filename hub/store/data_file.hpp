// Parquet files of the store: how one is written, and what is kept in memory of one that is asked.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <telltale/core/context.hpp>
#include <vector>

#include "hub/store/duck.hpp"
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
  bool may_hold(trace_id id) const noexcept;  // of spans; now and then true where it doesn't
  void unwant() noexcept { unwanted_ = true; }

 private:
  data_file(std::string path, file_entry e) : entry_(std::move(e)), path_(std::move(path)) {}

  file_entry entry_;
  std::string path_;
  std::vector<std::uint32_t> traces_;  // fingerprints, sorted
  std::atomic<bool> unwanted_{false};
};

// Writes what `select` gives in the order of its relation to the file that `e` then names, on the disk when it
// returns. `e` has its rows and times; name and size are filled in.
result<void> write_file(const duck::connection& c, const std::string& directory, const std::string& select,
                        std::uint64_t number, file_entry& e);

}  // namespace telltale::hub
