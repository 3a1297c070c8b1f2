// The command `telltale serve` as a process of its own: asked over HTTP, and watched from outside.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace telltale::hub::bench {

// Its ports are free ones. Whatever fails throws std::runtime_error with the reason.
class hub_under_test {
 public:
  // `folder` is where its configuration is written; `configuration` is TOML beyond the ports.
  hub_under_test(const std::filesystem::path& folder, const std::string& configuration);
  hub_under_test(const hub_under_test&) = delete;
  hub_under_test& operator=(const hub_under_test&) = delete;
  ~hub_under_test();  // ends it, and waits

  pid_t pid() const noexcept { return pid_; }
  int grpc_port() const noexcept { return grpc_port_; }
  // User and system time of all its threads.
  double cpu_seconds() const;

  // The body of an answer with status 200, over a connection that stays.
  std::string get(const std::string& path) const;
  std::string ask_sql(const std::string& select) const;
  // A number on the top level of `/api/v1/store`.
  double store_figure(std::string_view name) const;

 private:
  struct client;
  std::string perform(const std::string& path, const std::string* body) const;

  pid_t pid_ = -1;
  int grpc_port_ = 0;
  std::unique_ptr<client> client_;
};

// What a process holds in memory, twenty times a second, until it is asked.
class memory_watch {
 public:
  explicit memory_watch(pid_t pid) : thread_([this, pid] { watch(pid); }) {}
  ~memory_watch() { stop(); }
  struct sample {
    double resident_mb = 0;   // VmRSS
    double anonymous_mb = 0;  // RssAnon: without what is mapped from files
  };
  const std::vector<sample>& stop();  // in order

 private:
  void watch(pid_t pid);

  std::atomic<bool> stopping_{false};
  std::vector<sample> samples_;
  std::thread thread_;
};

}  // namespace telltale::hub::bench
