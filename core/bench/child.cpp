#include "core/bench/child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <stdexcept>

namespace telltale::bench {

ended run_child(const std::vector<std::string>& words) {
  ended result;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return result;

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<std::string> copies = words;
  std::vector<char*> argv;
  argv.reserve(copies.size() + 1);
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int failed = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);

  std::array<char, 4096> some{};
  for (ssize_t n = 0; failed == 0;) {
    n = ::read(ends[0], some.data(), some.size());
    if (n == 0 || (n < 0 && errno != EINTR)) break;
    if (n > 0) result.output.append(some.data(), static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  if (failed != 0) return result;

  int status = 0;
  rusage used{};
  while (::wait4(pid, &status, 0, &used) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  result.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  return result;
}

std::string beside(const std::string& name) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto there = self.parent_path() / name;
  return !failed && std::filesystem::exists(there, failed) ? there.string() : std::string{};
}

scratch_directory::scratch_directory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "telltale-bench-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
  path_ = pattern;
}
scratch_directory::~scratch_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace telltale::bench
