// A prover-daemon as a process of its own, for tests: started, killed, started again on the same journal.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "prover/load/process_memory.hpp"

namespace prover::daemon::testing {

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class daemon_process {
 public:
  // A directory for its journal, socket and log; removed at the end.
  daemon_process() {
    std::string pattern = std::filesystem::temp_directory_path().string() + "/pd-XXXXXX";
    directory = ::mkdtemp(pattern.data());
    journal = directory + "/journal";
  }
  ~daemon_process() {
    end(SIGKILL);
    std::filesystem::remove_all(directory);
  }
  daemon_process(const daemon_process&) = delete;
  daemon_process& operator=(const daemon_process&) = delete;

  std::string directory;
  std::string journal;                   // the journal's own, below it unless told otherwise
  std::string server;                    // lines for [server]
  std::string tcp;                       // a second address to listen on
  std::string sections;                  // further sections, [[kind]]s among them
  std::vector<std::string> prefix;       // a program that starts it, as prlimit
  std::vector<std::string> environment;  // NAME=VALUE

  pid_t pid() const { return pid_; }
  // The most that any of them had at once, as the kernel says: bytes that no file stands behind.
  std::size_t peak_memory() {
    if (memory_) peak_ = std::max(peak_, memory_->peak());
    return peak_;
  }
  std::string address() const { return "unix:" + directory + "/s"; }
  std::string log() const { return file_text(directory + "/log"); }
  // A number of /proc/PID/status, in bytes: VmRSS, VmHWM.
  std::size_t memory(const std::string& name) const {
    const std::string text = file_text("/proc/" + std::to_string(pid_) + "/status");
    const std::size_t at = text.find(name + ":");
    return at == std::string::npos ? 0 : std::stoul(text.substr(at + name.size() + 1)) << 10;
  }
  // The address behind `tcp`, with its port.
  std::string tcp_address() const {
    const std::string text = log();
    const std::size_t at = text.find("gRPC on 127.0.0.1:");
    return at == std::string::npos ? "" : text.substr(at + 8, text.find('\n', at) - at - 8);
  }
  // The port of the HTTP side, from the log.
  std::string http() const {
    const std::string text = log();
    const std::size_t at = text.rfind("HTTP on ");
    return at == std::string::npos ? "" : text.substr(at + 8, text.find('\n', at) - at - 8);
  }

  // Whether it came up. Says nothing and waits for nothing where `wait` is false.
  bool start(bool wait = true) {
    peak_memory();
    std::ofstream(directory + "/c.toml") << "[server]\nlisten = [\"" << address() << "\""
                                         << (tcp.empty() ? "" : ", \"" + tcp + "\"") << "]\nhttp = \"127.0.0.1:0\"\n"
                                         << server << "\n[journal]\ndirectory = \"" << journal << "\"\n"
                                         << sections;
    std::vector<std::string> command = prefix;
    command.insert(command.end(), {PROVER_DAEMON, "--config", directory + "/c.toml"});
    std::vector<char*> arguments;
    for (std::string& a : command) arguments.push_back(a.data());
    arguments.push_back(nullptr);
    // What it says at start is read from its log.
    std::vector<std::string> variables = environment;
    variables.emplace_back("TELLTALE_LOG=info");
    for (char** v = environ; *v != nullptr; ++v) {
      if (!std::string_view(*v).starts_with("TELLTALE_")) variables.emplace_back(*v);
    }
    std::vector<char*> variable_pointers;
    for (std::string& v : variables) variable_pointers.push_back(v.data());
    variable_pointers.push_back(nullptr);
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    const std::string file = directory + "/log";
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int failed = ::posix_spawnp(&pid_, arguments[0], &files, nullptr, arguments.data(), variable_pointers.data());
    ::posix_spawn_file_actions_destroy(&files);
    if (failed != 0) pid_ = -1;
    memory_.emplace([pid = pid_] { return load::anonymous_memory(pid); }, std::chrono::milliseconds(5));
    for (int i = 0; wait && i < 3000 && running(); ++i) {
      if (log().find("HTTP on ") != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return !wait;
  }

  bool running() {
    if (pid_ <= 0) return false;
    if (::waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
    return pid_ > 0;
  }
  void signal(int number) {
    if (pid_ > 0) ::kill(pid_, number);
  }
  // Its exit code, or 128 + the signal; waits for it.
  int wait() {
    if (pid_ > 0) ::waitpid(pid_, &status_, 0);
    pid_ = -1;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }
  int end(int number) {
    signal(number);
    return wait();
  }

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  std::optional<load::memory_watch> memory_;
  std::size_t peak_ = 0;
};

}  // namespace prover::daemon::testing
