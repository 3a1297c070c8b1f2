// The daemon's gRPC server. Nothing generated and nothing of gRPC is in this header.
//
// Waits cost no thread: handlers are callbacks, and a call that waits is a line in the service's book.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "prover/daemon/config.hpp"
#include "prover/daemon/service.hpp"
#include "prover/daemon/status_json.hpp"
#include "telltale/core/result.hpp"

namespace prover::daemon {

class rpc_server {
 public:
  // Listens on every address of `settings` or on none. Fails where one can't be listened on (another daemon has it), or
  // where a token or certificate can't be read. `s` must outlive it.
  static telltale::result<std::unique_ptr<rpc_server>> start(const server_settings& settings, service& s,
                                                             const about_daemon& about);
  ~rpc_server();

  // The addresses with the ports that were found where 0 was asked for.
  const std::vector<std::string>& addresses() const noexcept;

  // gRPC's health service says NOT_SERVING from now on; calls are still answered.
  void stop_serving();
  // Ends: no new calls, and those that are open are given up after `grace`.
  void stop(std::chrono::milliseconds grace);

 private:
  struct state;
  explicit rpc_server(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace prover::daemon
