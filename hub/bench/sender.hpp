// The process that sends the generator's spans to a hub, over OTLP/gRPC.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace telltale::hub::bench {

class sender {
 public:
  // Eight calls at a time, each again until it is taken. To be made while the caller has one thread.
  sender(int grpc_port, std::uint64_t spans, std::uint64_t first_trace);
  sender(const sender&) = delete;
  sender& operator=(const sender&) = delete;
  ~sender();  // ends it, whatever is left

  // Waits until all is acknowledged; throws where the hub refused for good.
  void wait();

 private:
  pid_t pid_;
};

}  // namespace telltale::hub::bench
