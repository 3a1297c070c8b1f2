// Two pipes and a process.
#include "prover/bench/peer.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>

namespace prover::bench {
namespace {

std::string line_from(std::FILE* file) {
  std::string line;
  for (int c; (c = std::fgetc(file)) != EOF && c != '\n';) line += static_cast<char>(c);
  return line;
}

}  // namespace

peer::peer(const std::vector<std::string>& command) : name_(command.front()) {
  std::signal(SIGPIPE, SIG_IGN);  // a peer that died is an answer that doesn't come
  std::array<int, 2> requests{};
  std::array<int, 2> answers{};
  if (::pipe2(requests.data(), O_CLOEXEC) != 0 || ::pipe2(answers.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "no pipe for " + name_);
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, requests[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, answers[1], STDOUT_FILENO);
  std::vector<std::string> copies = command;
  std::vector<char*> argv;
  for (auto& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int failed = ::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(requests[0]);
  ::close(answers[1]);
  to_ = ::fdopen(requests[1], "w");
  from_ = ::fdopen(answers[0], "r");
  if (failed != 0) {
    std::fclose(to_);
    std::fclose(from_);
    throw std::system_error(failed, std::generic_category(), "cannot start " + name_);
  }
}

peer::~peer() {
  std::fclose(to_);
  std::fclose(from_);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

milliseconds peer::ask(const std::string& request) {
  std::fputs((request + "\n").c_str(), to_);
  std::fflush(to_);
  const std::string answer = line_from(from_);
  milliseconds taken;
  if (std::sscanf(answer.c_str(), "%lf %lf", &taken.cpu, &taken.wall) != 2) {
    throw std::runtime_error(name_ + " answered \"" + request + "\" with \"" + answer + "\"");
  }
  return taken;
}

std::string last_line_of(const std::string& command) {
  std::FILE* const out = ::popen(command.c_str(), "re");
  if (out == nullptr) return {};
  std::string last;
  while (std::feof(out) == 0) {
    if (std::string line = line_from(out); !line.empty()) last = std::move(line);
  }
  return ::pclose(out) == 0 ? last : std::string();
}

}  // namespace prover::bench
