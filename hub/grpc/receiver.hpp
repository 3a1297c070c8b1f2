// OTLP over gRPC. Requests are taken as raw bytes: there is no generated code, and protobuf's library never sees them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <telltale/core/result.hpp>
#include <vector>

#include "hub/receive/receiver.hpp"

namespace telltale::hub {

struct grpc_settings {
  std::vector<std::string> listen{"127.0.0.1:4317"};  // empty: no gRPC
  std::string token;
  std::string tls_certificate;  // PEM text, with tls_key
  std::string tls_key;
  std::uint64_t max_body = 16u << 20;
  std::uint64_t max_memory = 128u << 20;  // of all that is being received
};

class grpc_server {
 public:
  static result<std::unique_ptr<grpc_server>> start(const grpc_settings& settings, receiver& to);
  ~grpc_server();
  const std::vector<int>& ports() const noexcept;

 private:
  struct state;
  explicit grpc_server(std::unique_ptr<state> s) noexcept;
  std::unique_ptr<state> state_;
};

}  // namespace telltale::hub
