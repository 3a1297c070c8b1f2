// What happens to a request that came in, however it came: decoded, kept or forwarded, answered.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <telltale/core/otlp/fields.hpp>

#include "hub/http/router.hpp"
#include "hub/otlp/decode.hpp"
#include "hub/store/store.hpp"

namespace telltale::hub {

class forwarder;

struct received {
  enum class outcome : std::uint8_t {
    kept,         // all of it but `rejected` records
    malformed,    // sending it again won't help
    unavailable,  // it may, a little later
  } what = outcome::kept;
  std::uint64_t rejected = 0;
  std::string why;  // for a person; empty where all is well
};

class receiver {
 public:
  // `to` may be null: what comes is only forwarded then. Both must outlive it.
  receiver(store* to, forwarder* onwards, decode_limits limits) : store_(to), forward_(onwards), limits_(limits) {}

  // A request in protobuf. Any thread; returns when it is durable.
  received receive(otlp::signal_kind signal, std::string request);
  received receive_json(otlp::signal_kind signal, std::string_view request);

  // POST /v1/traces, /v1/logs, /v1/metrics.
  void add_routes(router& r);

  struct counts {
    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::uint64_t> records{0};  // kept or forwarded
    std::atomic<std::uint64_t> rejected{0};
    std::atomic<std::uint64_t> shortened{0};
    std::atomic<std::uint64_t> malformed{0};    // requests
    std::atomic<std::uint64_t> unavailable{0};  // requests
  };
  const counts& counted(otlp::signal_kind s) const noexcept { return counts_[static_cast<std::size_t>(s)]; }

 private:
  store* store_;
  forwarder* forward_;
  decode_limits limits_;
  std::array<counts, otlp::signals> counts_;
};

}  // namespace telltale::hub
