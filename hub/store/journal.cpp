#include "hub/store/journal.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

namespace telltale::hub {

namespace fs = std::filesystem;

struct journal::group {
  bool done = false;
  std::string error;
};

namespace {

constexpr std::string_view magic = "telltale journal 1\n";
constexpr std::size_t header_bytes = 8;

std::string why(int code) {
  return std::generic_category().message(code);
}

std::uint32_t sum(std::string_view bytes, std::uint32_t before = 0) {
  return static_cast<std::uint32_t>(::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::optional<std::uint64_t> number_of(const fs::path& p) {
  const std::string name = p.filename().string();
  if (!name.ends_with(".journal")) return std::nullopt;
  std::uint64_t n = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size() - 8, n);
  if (failed != std::errc{} || end != name.data() + name.size() - 8) return std::nullopt;
  return n;
}

// The records of a segment, up to the first that isn't whole. False where the file can't be read at all.
bool read_segment(const fs::path& path, const journal::reader& read) {
  std::ifstream in(path, std::ios::binary);
  std::string head(magic.size(), '\0');
  if (!in) return false;
  if (!in.read(head.data(), static_cast<std::streamsize>(head.size())) || head != magic) return true;
  std::error_code ignored;
  std::uint64_t left = fs::file_size(path, ignored) - magic.size();
  for (;;) {
    std::array<char, header_bytes> header{};
    std::uint32_t size = 0;
    std::uint32_t crc = 0;
    if (left < header_bytes || !in.read(header.data(), header_bytes)) return true;
    left -= header_bytes;
    std::memcpy(&size, header.data(), 4);
    std::memcpy(&crc, header.data() + 4, 4);
    if (size == 0 || size > left) return true;
    std::string payload(size, '\0');
    if (!in.read(payload.data(), size)) return true;
    left -= size;
    if (sum(payload) != crc || static_cast<unsigned char>(payload[0]) >= otlp::signals) return true;
    const auto signal = static_cast<otlp::signal_kind>(payload[0]);
    payload.erase(0, 1);
    read(signal, std::move(payload));
  }
}

std::string path_in(const std::string& directory, std::uint64_t segment) {
  std::string digits = std::to_string(segment);
  digits.insert(0, digits.size() < 10 ? 10 - digits.size() : 0, '0');
  return directory + "/" + digits + ".journal";
}

// The segments in a directory, in order.
result<std::vector<std::uint64_t>> segments_of(const std::string& directory) {
  std::vector<std::uint64_t> out;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(directory, code)) {
    if (const auto n = number_of(entry.path())) out.push_back(*n);
  }
  if (code) return error{"cannot read the journal's directory " + directory + ": " + code.message()};
  std::sort(out.begin(), out.end());
  return out;
}

// All of it, however often the kernel takes only a part. 0, or errno.
int write_all(int file, std::vector<iovec>& parts) {
  std::size_t at = 0;
  while (at < parts.size()) {
    const auto count = static_cast<int>(std::min<std::size_t>(parts.size() - at, 1024));
    ssize_t n = ::writev(file, &parts[at], count);
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    for (; at < parts.size() && n >= static_cast<ssize_t>(parts[at].iov_len); ++at) {
      n -= static_cast<ssize_t>(parts[at].iov_len);
    }
    if (n > 0) {
      parts[at].iov_base = static_cast<char*>(parts[at].iov_base) + n;
      parts[at].iov_len -= static_cast<std::size_t>(n);
    }
  }
  return 0;
}

iovec view_of(std::string_view s) {
  return {const_cast<char*>(s.data()), s.size()};  // writev doesn't write there
}

}  // namespace

result<std::unique_ptr<journal>> journal::open(std::string directory, bool sync_each, limits most,
                                               std::uint64_t through, const reader& read, taker take) {
  std::error_code code;
  fs::create_directories(directory, code);
  if (code) return error{"cannot make the journal's directory " + directory + ": " + code.message()};
  std::unique_ptr<journal> j(new journal(std::move(directory), sync_each, most, std::move(take)));
  const auto segments = segments_of(j->directory_);
  if (!segments) return segments.error();
  std::uint64_t last = through;
  for (const std::uint64_t n : *segments) {
    const std::string path = j->path_of(n);
    if (n <= through) {
      fs::remove(path, code);
      continue;
    }
    if (!read_segment(path, read)) return error{"cannot read the journal " + path};
    j->ended_.emplace_back(n, fs::file_size(path, code));
    last = n;
  }
  if (const auto begun = j->begin_segment(last + 1); !begun) return begun.error();
  return j;
}

journal::~journal() {
  if (file_ < 0) return;
  ::fdatasync(file_);
  ::close(file_);
}

result<void> journal::replay(const std::string& directory, std::uint64_t through, const reader& read) {
  const auto segments = segments_of(directory);
  if (!segments) return segments.error();
  for (const std::uint64_t n : *segments) {
    const std::string path = path_in(directory, n);
    if (n > through && !read_segment(path, read)) return error{"cannot read the journal " + path};
  }
  return {};
}

std::string journal::path_of(std::uint64_t segment) const {
  return path_in(directory_, segment);
}

result<void> journal::begin_segment(std::uint64_t number) {
  const std::string path = path_of(number);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (file < 0) return error{"cannot write the journal " + path + ": " + why(errno)};
  std::vector<iovec> parts{view_of(magic)};
  int failed = write_all(file, parts);
  if (failed == 0 && ::fsync(file) != 0) failed = errno;
  if (const int folder = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
  if (failed != 0) {
    ::close(file);
    ::unlink(path.c_str());
    return error{"cannot write the journal " + path + ": " + why(failed)};
  }
  if (file_ >= 0) {
    ::fdatasync(file_);
    ::close(file_);
    ended_.emplace_back(segment_, size_);
  }
  file_ = file;
  segment_ = number;
  size_ = magic.size();
  records_ = 0;
  return {};
}

result<void> journal::write(const std::vector<std::shared_ptr<const batch>>& batches) {
  std::vector<std::array<char, header_bytes + 1>> headers(batches.size());
  std::vector<iovec> parts;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const std::string_view body = batches[i]->body;  // never empty: it holds records
    headers[i][header_bytes] = static_cast<char>(batches[i]->signal);
    const auto size = static_cast<std::uint32_t>(body.size() + 1);
    const std::uint32_t crc = sum(body, sum({&headers[i][header_bytes], 1}));
    std::memcpy(headers[i].data(), &size, 4);
    std::memcpy(headers[i].data() + 4, &crc, 4);
    parts.push_back(view_of({headers[i].data(), headers[i].size()}));
    parts.push_back(view_of(body));
    total += headers[i].size() + body.size();
  }
  int failed = write_all(file_, parts);
  if (failed == 0 && sync_each_ && ::fdatasync(file_) != 0) failed = errno;
  if (failed == 0) {
    size_ += total;
    return {};
  }
  // What was written of the group must not be read again, since nobody was told that it was kept.
  if (::ftruncate(file_, static_cast<off_t>(size_)) == 0) ::lseek(file_, static_cast<off_t>(size_), SEEK_SET);
  return error{"cannot write the journal " + path_of(segment_) + ": " + why(failed) +
               (failed == ENOSPC ? ". Make room, or let the store keep less (store.max_bytes)" : "")};
}

result<void> journal::append(std::shared_ptr<const batch> b) {
  std::unique_lock lock(mutex_);
  waiting_.push_back(std::move(b));
  if (!next_) next_ = std::make_shared<group>();
  const std::shared_ptr<group> mine = next_;
  turn_.wait(lock, [&] { return mine->done || !writing_; });
  if (!mine->done) {  // nobody writes: the group is ours
    writing_ = true;
    const auto batches = std::move(waiting_);
    waiting_.clear();
    next_.reset();
    lock.unlock();
    const auto written = write(batches);
    if (written) {
      for (const auto& one : batches) take_(one, segment_);
    }
    lock.lock();
    for (const auto& one : batches) records_ += written ? one->records() : 0;
    // Where no segment can be begun this one goes on, until the next group.
    if (records_ >= most_.records || size_ >= most_.bytes) (void)end_current();
    mine->done = true;
    if (!written) mine->error = written.error().message;
    writing_ = false;
    turn_.notify_all();
  }
  if (!mine->error.empty()) return error{mine->error};
  return {};
}

result<void> journal::end_segment() {
  std::unique_lock lock(mutex_);
  turn_.wait(lock, [&] { return !writing_; });
  return end_current();
}

// With the lock.
result<void> journal::end_current() {
  const std::uint64_t ended = segment_;
  if (const auto begun = begin_segment(segment_ + 1); !begun) return begun;
  take_(nullptr, ended);
  return {};
}

void journal::remove_through(std::uint64_t segment) {
  const std::lock_guard lock(mutex_);
  std::erase_if(ended_, [&](const auto& one) {
    if (one.first > segment) return false;
    ::unlink(path_of(one.first).c_str());
    return true;
  });
}

void journal::sync() {
  std::unique_lock lock(mutex_);
  turn_.wait(lock, [&] { return !writing_; });
  ::fdatasync(file_);
}

std::uint64_t journal::bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t all = size_;
  for (const auto& [segment, size] : ended_) all += size;
  return all;
}

}  // namespace telltale::hub
