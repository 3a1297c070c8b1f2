// One request to one receiver, over libcurl: gRPC (HTTP/2 and gRPC's frames), HTTP with protobuf or JSON; gzip; TLS.
// Used by one thread; interrupt() by any.
#pragma once

#include <memory>
#include <string_view>

#include "answer.hpp"
#include "settings.hpp"

namespace telltale::otlp {

class transport {
 public:
  transport();
  ~transport();
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;

  // Waits for the answer, at most the target's timeout. Every failure is an answer.
  answer send(const target& t, signal_kind s, std::string_view body);
  // Ends a send() at once, now and for ever: what can't be delivered any more is a retry.
  void interrupt() noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace telltale::otlp
