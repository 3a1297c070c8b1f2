// An HTTP endpoint for a scraper, in one line. In the library telltale::http (find_package(telltale), then link it).
//
//   const auto metrics = telltale::serve_metrics("127.0.0.1:9464");
//   if (!metrics) return complain(metrics.error());
//
// GET and HEAD of /metrics (Prometheus text or OpenMetrics, as the Accept header asks) and of /healthz; one thread,
// which takes the snapshot and renders it. Bounds: 16 connections, 16 KiB of a request, 10 s without progress.
// Paths of your own stand beside them: http_route.
// There is no TLS and no password: listen on a loopback address or in a network that you trust.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <telltale/core/prometheus.hpp>
#include <telltale/core/result.hpp>
#include <vector>

namespace telltale {

struct http_answer {
  unsigned status = 200;
  std::string body;
  std::string type = "text/plain; charset=utf-8";
};

// What answers at a path. Called on the server's thread, one at a time, under no lock; what it throws becomes a closed
// connection. HEAD is answered like GET.
struct http_route {
  std::string path;                                       // "/status"; the whole of it, without a query
  std::function<http_answer()> get;                       // empty: not allowed
  std::function<http_answer(std::string_view body)> put;  // empty: not allowed; the body has 16 KiB at most
};

// Serves for as long as it lives. Its end waits for the request that is being answered. In a forked child it serves
// nothing, and the parent goes on undisturbed; the child may start one of its own.
class TELLTALE_EXPORT metrics_server {
 public:
  metrics_server(metrics_server&&) noexcept;
  metrics_server& operator=(metrics_server&&) noexcept;
  ~metrics_server();

  std::uint16_t port() const noexcept;          // the one that was found where 0 was asked for
  const std::string& address() const noexcept;  // "127.0.0.1:9464", "[::1]:9464"

 private:
  struct state;
  friend result<metrics_server> serve_metrics(std::string_view, const resource_attributes&, std::vector<http_route>);
  explicit metrics_server(std::unique_ptr<state> s) noexcept;
  std::unique_ptr<state> state_;
};

// `address` is HOST:PORT, [IPV6]:PORT or, for all addresses, :PORT. Port 0 takes any that is free. `resource` becomes
// target_info. A route wins over /metrics and /healthz where it has their path. Any thread; fails where the address
// cannot be understood or listened on.
TELLTALE_EXPORT result<metrics_server> serve_metrics(std::string_view address, const resource_attributes& resource = {},
                                                     std::vector<http_route> routes = {});

// On OTEL_EXPORTER_PROMETHEUS_HOST (localhost) and OTEL_EXPORTER_PROMETHEUS_PORT (9464).
TELLTALE_EXPORT result<metrics_server> serve_metrics();

}  // namespace telltale
