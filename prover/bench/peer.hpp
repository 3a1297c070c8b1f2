// A peer's program that runs beside us and measures itself, so that its runs and ours alternate in one benchmark: it
// answers every line that we write with a line of two numbers, milliseconds of processor time and of time, or with what
// is wrong.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace prover::bench {

struct milliseconds {
  double cpu = 0;
  double wall = 0;
};

// For one thread. Not to be copied: it owns a process.
class peer {
 public:
  // Throws std::system_error where the program can't be started.
  explicit peer(const std::vector<std::string>& command);
  ~peer();  // ends its input, which ends it
  peer(const peer&) = delete;
  peer& operator=(const peer&) = delete;

  // Throws std::runtime_error with the peer's words where they aren't two numbers.
  milliseconds ask(const std::string& request);

 private:
  std::string name_;
  pid_t pid_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

// The last line that a script writes to standard output, or nothing where it fails (it says why on standard error).
std::string last_line_of(const std::string& command);

}  // namespace prover::bench
