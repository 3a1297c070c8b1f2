#include "hub/store/data_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "hub/store/duckdb_dialect.hpp"
#include "hub/store/schema.hpp"

namespace telltale::hub {

namespace {

std::uint32_t fingerprint(trace_id id) noexcept {
  return static_cast<std::uint32_t>((id.high ^ id.low) >> 32);
}

}  // namespace

result<std::shared_ptr<data_file>> data_file::open(const duck::connection& c, const std::string& directory,
                                                   file_entry e) {
  std::string path = directory + "/" + e.name;
  const std::shared_ptr<data_file> f(new data_file(std::move(path), std::move(e)));
  if (f->entry_.kind != file_kind::spans) return f;
  const auto read = c.each("SELECT DISTINCT (xor(trace_hi, trace_lo) >> 32)::UINTEGER FROM read_parquet(" +
                               duckdb_dialect().text(f->path_) + ")",
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
  if (unwanted_) ::unlink(path_.c_str());
}

bool data_file::may_hold(trace_id id) const noexcept {
  return std::binary_search(traces_.begin(), traces_.end(), fingerprint(id));
}

result<void> write_file(const duck::connection& c, const std::string& directory, const std::string& select,
                        std::uint64_t number, file_entry& e) {
  std::string digits = std::to_string(number);
  digits.insert(0, digits.size() < 8 ? 8 - digits.size() : 0, '0');
  e.name = std::string(name_of(e.kind)) + "-" + digits + ".parquet";
  const std::string path = directory + "/" + e.name;
  const std::string beside = path + ".tmp";
  const auto fail = [&](const std::string& why) {
    ::unlink(beside.c_str());
    return error{"cannot write " + path + ": " + why};
  };
  const auto copied =
      c.run("COPY (SELECT * FROM (" + select + ") ORDER BY " + std::string(relation_of(e.kind).order) + ") TO " +
            duckdb_dialect().text(beside) + " (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20480)");
  if (!copied) return fail(copied.error().message);
  const int file = ::open(beside.c_str(), O_RDONLY | O_CLOEXEC);
  const bool kept = file >= 0 && ::fsync(file) == 0;
  const int code = errno;
  if (file >= 0) ::close(file);
  if (!kept) return fail(std::generic_category().message(code));
  if (::rename(beside.c_str(), path.c_str()) != 0) return fail(std::generic_category().message(errno));
  std::error_code ignored;
  e.bytes = std::filesystem::file_size(path, ignored);
  return {};
}

}  // namespace telltale::hub
