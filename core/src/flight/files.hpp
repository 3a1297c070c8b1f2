// Files of the flight recorder: how they are named, made, found and kept. One per process and start:
// SERVICE.PID.MILLISECONDS.flight; a lock on it is held for as long as its process lives. What has been exported, or
// cannot be, is renamed to ….flight.kept, and the oldest of those are removed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <telltale/core/result.hpp>
#include <vector>

namespace telltale::detail {

struct flight_options {
  std::string directory;
  std::string service;
  unsigned keep = 2;  // how many files of processes that died stay for `telltale recover`
};

// "DIR?keep=2&service=prover". The service is OTEL_SERVICE_NAME, else the program's name, where it isn't said.
result<flight_options> parse_flight(std::string_view specification);

// An open file and what it is called. Closes its descriptor, and with it the lock.
class flight_file {
 public:
  flight_file() = default;
  flight_file(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  flight_file(flight_file&& o) noexcept;
  flight_file& operator=(flight_file&& o) noexcept;
  ~flight_file();

  int fd() const noexcept { return fd_; }
  const std::string& path() const noexcept { return path_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

  // Gone for good, or kept under its other name.
  void remove() noexcept;
  void keep_as_done() noexcept;

 private:
  int fd_ = -1;
  std::string path_;
};

// A new file of this process, locked, `bytes` long of which the first `reserved` are certain to be there.
result<flight_file> make_flight_file(const flight_options& o, std::size_t bytes, std::size_t reserved);

// The files of processes of this service that died, oldest first, each locked: they are the caller's.
std::vector<flight_file> claim_dead_files(const flight_options& o);
// Removes the oldest of what is kept beyond `keep`.
void remove_old_files(const flight_options& o);

}  // namespace telltale::detail
