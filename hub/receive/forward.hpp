// Sends requests on, as they came, to another OTLP receiver over HTTP (Jaeger, a Collector, another hub).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <telltale/core/otlp/fields.hpp>
#include <telltale/core/result.hpp>
#include <thread>

namespace telltale::hub {

struct forward_settings {
  std::string url;                      // http://HOST:4318; /v1/traces and so on is appended
  std::string token;                    // Authorization: Bearer
  std::uint64_t max_queue = 64u << 20;  // bytes that wait; more is refused
};

class forwarder {
 public:
  explicit forwarder(forward_settings settings);
  ~forwarder();  // what waits gets two seconds

  // Fails where too much waits: whoever can't have it sent again counts it with lose(). What can't be sent is tried
  // again as the other side asks (429, 502, 503, 504, or no answer), for five minutes; what it refuses is counted as
  // lost.
  result<void> send(otlp::signal_kind signal, std::string request);
  void lose() noexcept { ++lost_; }

  std::uint64_t sent() const noexcept { return sent_; }  // requests
  std::uint64_t lost() const noexcept { return lost_; }
  std::uint64_t waiting_bytes() const noexcept { return bytes_; }

 private:
  struct item {
    otlp::signal_kind signal;
    std::string body;
  };
  void run();
  bool deliver(void* curl, const item& i);

  const forward_settings settings_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<item> queue_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> lost_{0};
  std::thread thread_;
};

}  // namespace telltale::hub
