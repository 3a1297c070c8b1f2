#include "hub/store/data_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "hub/store/duckdb_dialect.hpp"
#include "hub/store/durations_file.hpp"
#include "hub/store/schema.hpp"

namespace telltale::hub {

namespace {

// A trace is read by the group: small ones are read sooner, large ones are packed better.
constexpr int rows_per_group = 6'144;

std::uint32_t fingerprint(trace_id id) noexcept {
  return static_cast<std::uint32_t>((id.high ^ id.low) >> 32);
}

}  // namespace

result<std::shared_ptr<data_file>> data_file::open(const duck::connection& c, const std::string& directory,
                                                   file_entry e) {
  std::string path = directory + "/" + e.name;
  const std::shared_ptr<data_file> f(new data_file(std::move(path), std::move(e)));
  const bool spans = f->entry_.kind == file_kind::spans;
  if (!spans && f->entry_.kind != file_kind::links) return f;
  std::string durations = directory + "/" + durations_of(f->entry_.name);
  if (spans && ::access(durations.c_str(), R_OK) == 0) f->durations_path_ = std::move(durations);
  const std::string id = spans ? "trace_hi, trace_lo" : "to_trace_hi, to_trace_lo";
  const auto read = c.each(
      "SELECT DISTINCT (xor(" + id + ") >> 32)::UINTEGER FROM read_parquet(" + duckdb_dialect().text(f->path_) + ")",
      [&](const duck::rows& r) {
        for (std::size_t i = 0; i < r.size(); ++i) {
          f->traces_.push_back(r.get<std::uint32_t>(0, i));
        }
      });
  if (!read) return error{"cannot read " + f->path_ + ": " + read.error().message};
  std::sort(f->traces_.begin(), f->traces_.end());
  return f;
}

data_file::~data_file() {
  if (!unwanted_) return;
  ::unlink(path_.c_str());
  if (!durations_path_.empty()) ::unlink(durations_path_.c_str());
}

bool data_file::may_hold(trace_id id) const noexcept {
  return std::binary_search(traces_.begin(), traces_.end(), fingerprint(id));
}

result<void> write_parquet(const duck::connection& c, const std::string& select, const std::string& path) {
  const std::string beside = path + ".tmp";
  const auto fail = [&](const std::string& why) {
    ::unlink(beside.c_str());
    return error{"cannot write " + path + ": " + why};
  };
  const auto copied = c.run("COPY (" + select + ") TO " + duckdb_dialect().text(beside) +
                            " (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE " +
                            std::to_string(rows_per_group) + ")");
  if (!copied) return fail(copied.error().message);
  const int file = ::open(beside.c_str(), O_RDONLY | O_CLOEXEC);
  const bool kept = file >= 0 && ::fsync(file) == 0;
  const int code = errno;
  if (file >= 0) ::close(file);
  if (!kept) return fail(std::generic_category().message(code));
  if (::rename(beside.c_str(), path.c_str()) != 0) return fail(std::generic_category().message(errno));
  return {};
}

result<void> write_file(const duck::connection& c, const std::string& directory, const std::string& select,
                        std::uint64_t number, file_entry& e, const durations_by_name* durations) {
  std::string digits = std::to_string(number);
  digits.insert(0, digits.size() < 8 ? 8 - digits.size() : 0, '0');
  e.name = std::string(name_of(e.kind)) + "-" + digits + ".parquet";
  const std::string path = directory + "/" + e.name;
  const auto written =
      write_parquet(c, "SELECT * FROM (" + select + ") ORDER BY " + std::string(relation_of(e.kind).order), path);
  if (!written) return written;
  std::error_code ignored;
  e.bytes = std::filesystem::file_size(path, ignored);
  if (durations == nullptr) return {};
  const std::string beside = directory + "/" + durations_of(e.name);
  const auto also = write_durations(c, beside, *durations);
  if (!also) {
    remove_file(directory, e);
    return also.error();
  }
  if (*also) e.bytes += std::filesystem::file_size(beside, ignored);
  return {};
}

void remove_file(const std::string& directory, const file_entry& e) {
  ::unlink((directory + "/" + e.name).c_str());
  if (e.kind == file_kind::spans) ::unlink((directory + "/" + durations_of(e.name)).c_str());
}

}  // namespace telltale::hub
