#include "hub/bench/hub_under_test.hpp"

#include <curl/curl.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

extern char** environ;

namespace telltale::hub::bench {

namespace {

// "telltale: the hub listens http:43210 grpc:43211, …"
int port_after(const std::string& line, const std::string& name) {
  const std::size_t at = line.find(" " + name + ":");
  if (at == std::string::npos) throw std::runtime_error("the hub names no port for " + name + ": " + line);
  return std::atoi(line.c_str() + at + name.size() + 2);
}

std::string first_line(int from) {
  std::string line;
  char c = 0;
  while (::read(from, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

}  // namespace

struct hub_under_test::client {
  CURL* handle = ::curl_easy_init();
  std::string address;
  ~client() { ::curl_easy_cleanup(handle); }
};

hub_under_test::hub_under_test(const std::filesystem::path& folder, const std::string& configuration)
    : client_(std::make_unique<client>()) {
  const std::string file = folder / "hub.toml";
  std::ofstream(file) << configuration << "[http]\nlisten = [\"127.0.0.1:0\"]\n[grpc]\nlisten = [\"127.0.0.1:0\"]\n";
  int output[2];
  if (::pipe2(output, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  std::string words[] = {TELLTALE_COMMAND, "serve", "--config", file};
  char* const arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  const int failed = ::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(output[1]);
  const std::string line = failed == 0 ? first_line(output[0]) : "";
  ::close(output[0]);
  if (line.empty()) {
    throw std::runtime_error(words[0] +
                             " serve did not start; ./bench hub builds it, and so does the target "
                             "telltale_command");
  }
  grpc_port_ = port_after(line, "grpc");
  client_->address = "http://127.0.0.1:" + std::to_string(port_after(line, "http"));
}

hub_under_test::~hub_under_test() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

double hub_under_test::cpu_seconds() const {
  clockid_t clock{};
  timespec t{};
  if (::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &t) != 0) {
    throw std::runtime_error("the hub's processor time cannot be read: it has ended");
  }
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

std::string hub_under_test::get(const std::string& path) const {
  return perform(path, nullptr);
}

std::string hub_under_test::ask_sql(const std::string& select) const {
  return perform("/api/v1/sql", &select);
}

std::string hub_under_test::perform(const std::string& path, const std::string* body) const {
  CURL* const c = client_->handle;
  const std::string url = client_->address + path;
  std::string answer;
  ::curl_easy_setopt(c, CURLOPT_URL, url.c_str());
  ::curl_easy_setopt(c, CURLOPT_WRITEDATA, &answer);
  ::curl_easy_setopt(
      c, CURLOPT_WRITEFUNCTION, +[](const char* data, std::size_t, std::size_t size, void* to) {
        static_cast<std::string*>(to)->append(data, size);
        return size;
      });
  ::curl_easy_setopt(c, CURLOPT_HTTPGET, 1L);
  if (body != nullptr) ::curl_easy_setopt(c, CURLOPT_COPYPOSTFIELDS, body->c_str());
  long status = 0;
  if (const CURLcode code = ::curl_easy_perform(c); code != CURLE_OK) {
    throw std::runtime_error(path + ": " + ::curl_easy_strerror(code));
  }
  ::curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) throw std::runtime_error(path + ": status " + std::to_string(status) + ": " + answer);
  return answer;
}

double hub_under_test::store_figure(std::string_view name) const {
  return nlohmann::json::parse(get("/api/v1/store")).at(std::string(name)).get<double>();
}

const std::vector<memory_watch::sample>& memory_watch::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  return samples_;
}

void memory_watch::watch(pid_t pid) {
  while (!stopping_) {
    std::ifstream in("/proc/" + std::to_string(pid) + "/status");
    sample s;
    for (std::string line; std::getline(in, line);) {
      const auto megabytes = [&] { return std::atof(line.c_str() + line.find(':') + 1) * 1024 / 1e6; };
      if (line.starts_with("VmRSS:")) s.resident_mb = megabytes();
      if (line.starts_with("RssAnon:")) s.anonymous_mb = megabytes();
    }
    samples_.push_back(s);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace telltale::hub::bench
