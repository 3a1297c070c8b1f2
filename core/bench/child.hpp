// A program run as a child, for what only a whole process can show: its output, its exit code, its processor time.
#pragma once

#include <string>
#include <vector>

namespace telltale::bench {

struct ended {
  int code = -1;           // of exit(); -1 where it could not be started or a signal ended it
  std::string output;      // standard output and error together
  double cpu_seconds = 0;  // user and system, of its children as well
};
ended run_child(const std::vector<std::string>& words);

// "/path/to/NAME" beside the running program; empty where there is none.
std::string beside(const std::string& name);

// A directory that goes with the object.
class scratch_directory {
 public:
  scratch_directory();
  ~scratch_directory();
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace telltale::bench
