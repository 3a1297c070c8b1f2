// The hub's HTTP server, on GNU libmicrohttpd: one or more addresses, one router. A thread per connection, since
// handlers wait for the disk; how many, and how many bytes are held for all of them, is bounded.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <telltale/core/result.hpp>
#include <vector>

#include "hub/http/router.hpp"

namespace telltale::hub {

struct http_settings {
  std::vector<std::string> listen{"127.0.0.1:4318", "127.0.0.1:4320"};  // HOST:PORT or [IPV6]:PORT; port 0 finds one
  std::string token;                                                    // where set, "Authorization: Bearer TOKEN"
  std::string tls_certificate;                                          // PEM text, with tls_key: HTTPS
  std::string tls_key;
  std::uint64_t max_body = 16u << 20;        // of a request, unpacked
  std::uint64_t max_in_flight = 128u << 20;  // of all requests together; more are answered 503
  unsigned connections = 256;                // per address
  unsigned idle_seconds = 60;
};

class http_server {
 public:
  // Serves until it is destroyed, which waits for requests that are being answered. The router must outlive it.
  static result<std::unique_ptr<http_server>> start(http_settings settings, const router& routes);
  ~http_server();

  const std::vector<std::uint16_t>& ports() const noexcept;  // as found, in the order of `listen`
  std::uint64_t requests() const noexcept;
  std::uint64_t refused() const noexcept;  // answered 4xx or 503 before a handler saw them

 private:
  struct state;
  explicit http_server(std::unique_ptr<state> s) noexcept;
  std::unique_ptr<state> state_;
};

// Whether an address like "127.0.0.1:4320" can be reached from this machine only.
bool is_loopback(std::string_view address);

}  // namespace telltale::hub
