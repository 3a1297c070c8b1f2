// The directory of flight records.
#include "files.hpp"

#include <errno.h>  // program_invocation_short_name
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "../units.hpp"

namespace telltale::detail {

namespace {

constexpr std::string_view extension = ".flight";
constexpr std::string_view kept_extension = ".flight.kept";

std::string why(int error_number) {
  return std::strerror(error_number);
}  // NOLINT(concurrency-mt-unsafe): glibc's is

// What may stand in a file's name; anything else becomes '_'.
std::string as_file_name(std::string_view s) {
  std::string out;
  for (const char c : s.substr(0, 60)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_' || (c == '.' && !out.empty());
    out += plain ? c : '_';
  }
  return out;
}

bool is_number(std::string_view s) noexcept {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Of "SERVICE.PID.MILLISECONDS" + `ending` of this service: the milliseconds; else nothing.
std::string_view born(std::string_view name, std::string_view service, std::string_view ending) noexcept {
  if (!name.starts_with(service) || !name.ends_with(ending)) return {};
  if (name.size() < service.size() + 1 + ending.size() || name[service.size()] != '.') return {};
  name = name.substr(service.size() + 1, name.size() - ending.size() - service.size() - 1);
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || !is_number(name.substr(0, dot)) || !is_number(name.substr(dot + 1))) return {};
  return name.substr(dot + 1);
}

// Paths of this service's files with that ending, oldest first.
std::vector<std::string> files(const flight_options& o, std::string_view ending) {
  std::vector<std::pair<std::uint64_t, std::string>> found;
  const std::string service = as_file_name(o.service);
  std::error_code failed;
  for (auto at = std::filesystem::directory_iterator(o.directory, failed);
       !failed && at != std::filesystem::directory_iterator(); at.increment(failed)) {
    const std::string name = at->path().filename().string();
    const std::string_view digits = born(name, service, ending);
    if (digits.empty()) continue;
    std::uint64_t ms = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), ms);
    found.emplace_back(ms, at->path().string());
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (auto& f : found) paths.push_back(std::move(f.second));
  return paths;
}

}  // namespace

result<flight_options> parse_flight(std::string_view specification) {
  const std::string whole{specification};
  const auto bad = [&](const std::string& what) {
    return error{"cannot use \"" + whole + "\": " + what + ". It is DIR?keep=2&service=NAME, for example " +
                 "\"/run/telltale?keep=5\""};
  };
  flight_options o;
  const std::size_t question = specification.find('?');
  o.directory = std::string(specification.substr(0, question));
  if (o.directory.empty()) return bad("it names no directory");
  std::string_view rest = question == std::string_view::npos ? std::string_view{} : specification.substr(question + 1);
  while (!rest.empty()) {
    const std::size_t next = rest.find_first_of(",&");
    const std::string_view option = rest.substr(0, next);
    rest = next == std::string_view::npos ? std::string_view{} : rest.substr(next + 1);
    const std::size_t equals = option.find('=');
    if (equals == std::string_view::npos) return bad("option \"" + std::string(option) + "\" has no value");
    const std::string_view name = option.substr(0, equals);
    const std::string_view value = option.substr(equals + 1);
    if (name == "keep") {
      const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), o.keep);
      if (failed != std::errc{} || end != value.data() + value.size() || o.keep > 1000) {
        return bad("option keep is a whole number up to 1000, not \"" + std::string(value) + "\"");
      }
    } else if (name == "service") {
      if (value.empty()) return bad("option service is empty");
      o.service = std::string(value);
    } else {
      return bad("it has no option \"" + std::string(name) + "\"; it has keep, service");
    }
  }
  if (o.service.empty()) {
    const char* service = std::getenv("OTEL_SERVICE_NAME");  // NOLINT(concurrency-mt-unsafe): once, at start
    o.service = service != nullptr && *service != '\0' ? service : program_invocation_short_name;
  }
  return o;
}

flight_file::flight_file(flight_file&& o) noexcept : fd_(std::exchange(o.fd_, -1)), path_(std::move(o.path_)) {}

flight_file& flight_file::operator=(flight_file&& o) noexcept {
  if (this == &o) return *this;
  if (fd_ >= 0) ::close(fd_);
  fd_ = std::exchange(o.fd_, -1);
  path_ = std::move(o.path_);
  return *this;
}

flight_file::~flight_file() {
  if (fd_ >= 0) ::close(fd_);
}

void flight_file::remove() noexcept {
  ::unlink(path_.c_str());
}

void flight_file::keep_as_done() noexcept {
  const std::string to = path_.substr(0, path_.size() - extension.size()) + std::string(kept_extension);
  if (::rename(path_.c_str(), to.c_str()) != 0) remove();
}

result<flight_file> make_flight_file(const flight_options& o, std::size_t bytes, std::size_t reserved) {
  std::error_code failed;
  std::filesystem::create_directories(o.directory, failed);
  auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
                .count();
  const std::string start = o.directory + "/" + as_file_name(o.service) + "." + std::to_string(::getpid()) + ".";
  for (;;) {
    std::string path = start + std::to_string(ms) + std::string(extension);
    flight_file file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), path);
    if (!file && errno == EEXIST) {
      ++ms;
      continue;
    }
    if (!file) {
      return error{"cannot make \"" + path + "\": " + why(errno) +
                   ". Check that the directory exists and that this user may write there."};
    }
    // Locked before it has a size: a reader that finds it empty leaves it alone.
    if (::flock(file.fd(), LOCK_EX | LOCK_NB) != 0 || ::ftruncate(file.fd(), static_cast<off_t>(bytes)) != 0) {
      const int e = errno;
      file.remove();
      return error{"cannot prepare \"" + path + "\": " + why(e)};
    }
    if (const int e = ::posix_fallocate(file.fd(), 0, static_cast<off_t>(reserved)); e != 0) {
      file.remove();
      return error{"cannot get " + std::to_string(reserved >> 20) + " MiB for \"" + path + "\": " + why(e) +
                   ". Free some space, or name a directory on another file system."};
    }
    return file;
  }
}

std::vector<flight_file> claim_dead_files(const flight_options& o) {
  std::vector<flight_file> claimed;
  for (const std::string& path : files(o, extension)) {
    flight_file file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW), path);
    struct stat s{};
    // Somebody who has the lock lives, or is exporting it; a file without a name was exported since we listed it.
    if (!file || ::flock(file.fd(), LOCK_EX | LOCK_NB) != 0) continue;
    struct stat named{};
    if (::fstat(file.fd(), &s) != 0 || ::stat(path.c_str(), &named) != 0 || s.st_ino != named.st_ino) continue;
    if (!S_ISREG(s.st_mode) || s.st_size == 0) continue;
    claimed.push_back(std::move(file));
  }
  return claimed;
}

void remove_old_files(const flight_options& o) {
  std::vector<std::string> kept = files(o, kept_extension);
  for (std::size_t i = 0; i + o.keep < kept.size(); ++i) ::unlink(kept[i].c_str());
}

}  // namespace telltale::detail
