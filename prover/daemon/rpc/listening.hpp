// Addresses to listen on: what gRPC wants them to look like, why one can't be had, and the claim on a unix socket.
#pragma once

#include <string>
#include <utility>

#include "telltale/core/result.hpp"

namespace prover::daemon {

// "127.0.0.1:9820: the port is in use …": tries it, to say what gRPC doesn't.
std::string why_not(const std::string& address);

// A unix socket's path belongs to who has locked PATH.lock. gRPC removes the file that it finds at the path, also one
// that another daemon listens on; so nobody may come that far.
class socket_claim {
 public:
  // Of "unix:/path". Fails where another process has it, or where the path holds something that is no socket.
  static telltale::result<socket_claim> take(const std::string& address);
  ~socket_claim();  // removes the socket and gives up the claim
  socket_claim(socket_claim&& other) noexcept : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}
  socket_claim& operator=(socket_claim&&) = delete;

 private:
  socket_claim(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;
};

}  // namespace prover::daemon
