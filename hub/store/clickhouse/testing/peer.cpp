#include "hub/store/clickhouse/testing/peer.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace telltale::hub::testing {

clickhouse_peer::clickhouse_peer(const std::string& password, const std::string& config) : password_(password) {
  std::vector<std::string> words = {TELLTALE_SOURCE_DIR "/scripts/chdb",
                                    TELLTALE_SOURCE_DIR "/hub/store/clickhouse/testing/front.py", "--directory",
                                    directory_.path()};
  if (!password.empty()) words.insert(words.end(), {"--user", "telltale", "--password", password});
  if (!config.empty()) words.insert(words.end(), {"--config", config});
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  int in[2];
  int out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  process_ = ::fork();
  if (process_ == 0) {
    ::unsetenv("LD_PRELOAD");  // NOLINT(concurrency-mt-unsafe): this process has one thread
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(out[1], STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  input_ = in[1];
  std::string line;
  for (char c = 0; ::read(out[0], &c, 1) == 1 && c != '\n';) line += c;
  ::close(out[0]);
  port_ = static_cast<std::uint16_t>(std::atoi(line.c_str()));
  if (port_ != 0) return;
  int status = 0;
  ::waitpid(std::exchange(process_, -1), &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    why_not_ = line;
    return;
  }
  throw std::runtime_error("the front of chDB ended: " + line);
}

clickhouse_peer::~clickhouse_peer() {
  if (input_ >= 0) ::close(input_);
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);  // its data goes with it
  ::waitpid(process_, nullptr, 0);
}

clickhouse_options clickhouse_peer::options() const {
  clickhouse_options o;
  o.url = "http://127.0.0.1:" + std::to_string(port_) + "/telltale";
  if (!password_.empty()) o.user = "telltale";
  o.password = password_;
  return o;
}

std::unique_ptr<store> clickhouse_peer::opened(std::int64_t max_age_seconds) const {
  clickhouse_options o = options();
  o.max_age_seconds = max_age_seconds;
  if (const auto made = init_clickhouse(o); !made) {
    ADD_FAILURE() << made.error().message;
    std::abort();
  }
  auto s = open_clickhouse(o);
  if (!s) {
    ADD_FAILURE() << s.error().message;
    std::abort();
  }
  return std::move(*s);
}

}  // namespace telltale::hub::testing
