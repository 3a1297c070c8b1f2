// The folder of waiting requests.
#include "spool.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace telltale::otlp {

namespace {

constexpr std::string_view magic = "TTOTLP\1\n";
constexpr std::size_t header_bytes = 24;
constexpr std::string_view extension = ".otlp";
constexpr std::uint64_t max_file = std::uint64_t{64} << 20;

std::uint32_t checksum(std::string_view s) noexcept {
  return static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(s.data()), s.size()));
}

void put(std::string& to, std::uint32_t v) {
  for (int shift = 0; shift < 32; shift += 8) to += static_cast<char>(v >> shift);
}
std::uint32_t get(std::string_view from) noexcept {
  std::uint32_t v = 0;
  for (std::size_t i = 0; i < 4; ++i) v |= std::uint32_t{static_cast<unsigned char>(from[i])} << (8 * i);
  return v;
}

std::string why(int error_number) {
  return std::generic_category().message(error_number);
}

error cannot(const std::string& what, const std::string& path) {
  return error{"cannot " + what + " \"" + path + "\" of the spool: " + why(errno)};
}

bool write_all(int fd, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::string read_all(int fd) {
  std::string out;
  struct stat s{};
  if (::fstat(fd, &s) != 0 || s.st_size < 0 || static_cast<std::uint64_t>(s.st_size) > max_file) return out;
  out.resize(static_cast<std::size_t>(s.st_size));
  std::size_t have = 0;
  while (have < out.size()) {
    const ssize_t n = ::pread(fd, out.data() + have, out.size() - have, static_cast<off_t>(have));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    have += static_cast<std::size_t>(n);
  }
  out.resize(have);
  return out;
}

}  // namespace

std::string to_file(const spooled& s) {
  std::string out(magic);
  out += static_cast<char>(s.signal);
  out += static_cast<char>(s.protocol);
  out += std::string_view("\0\0", 2);
  put(out, s.records);
  put(out, static_cast<std::uint32_t>(s.body.size()));
  put(out, checksum(s.body));
  return out += s.body;
}

std::optional<spooled> from_file(std::string_view bytes) {
  if (bytes.size() < header_bytes || !bytes.starts_with(magic)) return std::nullopt;
  const auto signal = static_cast<unsigned char>(bytes[8]);
  const auto protocol_ = static_cast<unsigned char>(bytes[9]);
  if (signal >= signals || protocol_ > 2 || bytes[10] != 0 || bytes[11] != 0) return std::nullopt;
  const std::string_view body = bytes.substr(header_bytes);
  if (get(bytes.substr(16)) != body.size() || get(bytes.substr(20)) != checksum(body)) return std::nullopt;
  return spooled{static_cast<signal_kind>(signal), static_cast<protocol>(protocol_), get(bytes.substr(12)),
                 std::string(body)};
}

result<spool> spool::open(std::string folder, std::uint64_t cap) {
  spool s;
  s.folder_ = std::move(folder);
  s.cap_ = cap;
  std::error_code failed;
  std::filesystem::create_directories(s.folder_, failed);
  if (failed) return error{"cannot make the folder \"" + s.folder_ + "\" of the spool: " + failed.message()};
  for (const auto& entry : std::filesystem::directory_iterator(s.folder_, failed)) {
    std::error_code gone;
    const std::uint64_t size = entry.file_size(gone);
    if (entry.path().extension() == extension && !gone) s.files_.push_back({entry.path().filename(), size});
  }
  if (failed) return error{"cannot read the folder \"" + s.folder_ + "\" of the spool: " + failed.message()};
  std::sort(s.files_.begin(), s.files_.end(), [](const file& a, const file& b) { return a.name < b.name; });
  for (const file& f : s.files_) s.bytes_ += f.size;
  return s;
}

result<spool::outcome> spool::store(const spooled& s) {
  const std::string bytes = to_file(s);
  if (bytes_ + bytes.size() > cap_) return outcome::full;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::string time = std::to_string(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec);
  time.insert(0, 23 - std::min<std::size_t>(23, time.size()), '0');
  const std::string name = time + "-" + std::to_string(::getpid()) + "-" + std::to_string(number_++);
  const std::string path = folder_ + "/" + name;
  const int fd = ::open((path + ".part").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return cannot("write", path);
  const bool written = write_all(fd, bytes);
  const int problem = errno;
  ::close(fd);
  if (!written || ::rename((path + ".part").c_str(), (path + std::string(extension)).c_str()) != 0) {
    if (!written) errno = problem;
    const error e = cannot("write", path);
    ::unlink((path + ".part").c_str());
    return e;
  }
  files_.push_back({name + std::string(extension), bytes.size()});
  bytes_ += bytes.size();
  return outcome::stored;
}

std::optional<spooled> spool::take_oldest() {
  for (std::size_t looked = files_.size(); looked != 0; --looked) {
    const std::string path = folder_ + "/" + files_.front().name;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {  // another process sent it
      forget_first();
      continue;
    }
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {  // another process sends it just now
      ::close(fd);
      std::rotate(files_.begin(), files_.begin() + 1, files_.end());
      continue;
    }
    struct stat s{};
    if (::fstat(fd, &s) != 0 || s.st_nlink == 0) {
      ::close(fd);
      forget_first();
      continue;
    }
    if (auto found = from_file(read_all(fd))) {
      held_ = fd;
      return found;
    }
    ++unreadable;
    ::unlink(path.c_str());
    ::close(fd);
    forget_first();
  }
  return std::nullopt;
}

void spool::done() {
  ::unlink((folder_ + "/" + files_.front().name).c_str());
  ::close(std::exchange(held_, -1));
  forget_first();
}

void spool::put_back() {
  ::close(std::exchange(held_, -1));
}

void spool::forget_first() {
  bytes_ -= files_.front().size;
  files_.pop_front();
}

}  // namespace telltale::otlp
