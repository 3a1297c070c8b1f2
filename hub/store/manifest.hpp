// Which files belong to a store, and how far the journal is in them: `MANIFEST.json`, replaced as a whole. A file that
// isn't in it is left over from a crash, and is removed.
#pragma once

#include <cstdint>
#include <string>
#include <telltale/core/result.hpp>
#include <vector>

namespace telltale::hub {

// `thinned` is what is counted of spans whose detail was left out (hub/sampling).
enum class file_kind : std::uint8_t { spans = 0, logs = 1, metrics = 2, links = 3, thinned = 4 };
inline constexpr std::size_t file_kinds = 5;
std::string_view name_of(file_kind k) noexcept;

struct file_entry {
  file_kind kind = file_kind::spans;
  std::string name;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  std::int64_t min_ns = 0;  // starts of spans, times of lines and points
  std::int64_t max_ns = 0;
};

// The file of durations that belongs to a file of spans (hub/store/durations_file.hpp).
std::string durations_of(const std::string& spans_file);

struct manifest {
  std::uint64_t journal_through = 0;  // segments up to this one are in files
  std::uint64_t next = 1;             // number of the next file
  std::vector<file_entry> files;      // oldest first
};

// An empty manifest where the directory holds none yet. One of a newer version is refused.
result<manifest> read_manifest(const std::string& directory);
// Survives power failures: written beside it, synchronised, renamed.
result<void> write_manifest(const std::string& directory, const manifest& m);

}  // namespace telltale::hub
