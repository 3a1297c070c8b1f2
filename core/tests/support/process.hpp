// Runs a program as a child: its output, how it ended, and whether it had to be killed because it hung.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TELLTALE_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define TELLTALE_THREAD_SANITIZER 1
#endif

namespace telltale::testing {

#if defined(TELLTALE_THREAD_SANITIZER)
inline constexpr bool under_thread_sanitizer = true;
#else
inline constexpr bool under_thread_sanitizer = false;
#endif

// A directory for the length of a test.
class temporary_directory {
 public:
  temporary_directory() {
    std::string pattern = ::testing::TempDir() + "telltale-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
    path_ = pattern;
  }
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  return all.str();
}

inline std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

struct ended {
  bool hung = false;  // it was killed after the limit
  int code = -1;      // of exit(), -1 where a signal ended it
  int signal = 0;
  std::string out;
  std::string err;
};
inline std::ostream& operator<<(std::ostream& o, const ended& e) {
  return o << (e.hung ? "hung" : "ended") << ", code " << e.code << ", signal " << e.signal << "\nstdout: " << e.out
           << "\nstderr: " << e.err;
}

using environment = std::map<std::string, std::string>;

struct how_to_run {
  std::chrono::seconds limit{60};
  int err = -1;  // a descriptor to use as stderr instead of capturing it
};

// The environment of this process without what steers Telltale, plus `extra`; the governor is off where that doesn't
// say otherwise, because tests that flood want each record.
inline std::vector<std::string> child_environment(const environment& extra) {
  std::vector<std::string> all;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view v{*e};
    if (v.starts_with("TELLTALE_") || v.starts_with("RUST_LOG=")) continue;
    if (extra.contains(std::string(v.substr(0, v.find('='))))) continue;
    all.emplace_back(v);
  }
  for (const auto& [name, value] : extra) all.push_back(name + "=" + value);
  if (!extra.contains("TELLTALE_OVERHEAD")) all.emplace_back("TELLTALE_OVERHEAD=off");
  return all;
}

inline bool wait_for(pid_t pid, std::chrono::seconds limit, int& status) {
  const auto until = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (::waitpid(pid, &status, WNOHANG) == pid) return true;
    if (std::chrono::steady_clock::now() > until) {
      ::kill(-pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      return false;
    }
    ::usleep(2000);
  }
}

inline ended run(const std::string& program, const std::vector<std::string>& arguments, const environment& extra = {},
                 how_to_run how = {}) {
  const temporary_directory dir;
  const std::string out = dir / "out";
  const std::string err = dir / "err";
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = child_environment(extra);
  std::vector<char*> argv;
  std::vector<char*> envp;
  for (std::string& w : words) argv.push_back(w.data());
  for (std::string& v : variables) envp.push_back(v.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (how.err >= 0) {
    ::posix_spawn_file_actions_adddup2(&files, how.err, 2);
  } else {
    ::posix_spawn_file_actions_addopen(&files, 2, err.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  }
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // so that its children can be killed with it
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, program.c_str(), &files, &attributes, argv.data(), envp.data());
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) throw std::runtime_error("cannot run " + program);

  ended e;
  int status = 0;
  e.hung = !wait_for(pid, how.limit, status);
  e.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  e.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  e.out = contents(out);
  e.err = contents(err);
  return e;
}

}  // namespace telltale::testing
