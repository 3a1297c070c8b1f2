// What a receiver's answer means. The bytes come from outside: anything may stand in them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <telltale/core/otlp/fields.hpp>

#include "settings.hpp"

namespace telltale::otlp {

struct answer {
  enum class kind : std::uint8_t {
    delivered,  // all but `rejected` records
    retry,      // not now; `wait` says when, where the receiver said it
    refused,    // never: sending it again would change nothing
  };
  kind what = kind::retry;
  std::uint64_t rejected = 0;
  std::chrono::milliseconds wait{0};
  std::string message;  // for a person
};

// What the transport saw.
struct reply {
  long http_status = 0;
  bool speaks_grpc = false;  // by its content-type
  std::optional<int> grpc_status;
  std::string grpc_message;
  std::string grpc_details;  // base64 of a google.rpc.Status
  std::chrono::milliseconds retry_after{0};
  std::string body;
};
answer judge(const reply& r, signal_kind s, protocol p);

// What wasn't taken, of a successful answer; an unreadable body says nothing and is no error.
struct partial {
  std::uint64_t rejected = 0;
  std::string message;
};
partial read_partial_success(std::string_view body, signal_kind s, protocol p);
// The delay of a google.rpc.RetryInfo in a google.rpc.Status; none where there is none.
std::optional<std::chrono::milliseconds> read_retry_info(std::string_view base64_status);

}  // namespace telltale::otlp
