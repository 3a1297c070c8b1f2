// Where an OTLP sink sends, and how: the words of its specification, then the standard OTEL_* variables.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <telltale/core/otlp/fields.hpp>
#include <telltale/core/result.hpp>
#include <utility>
#include <vector>

#include "sinks/specification.hpp"

namespace telltale::otlp {

enum class protocol : std::uint8_t { grpc, http_protobuf, http_json };

// One signal's receiver.
struct target {
  bool on = true;
  otlp::protocol protocol = protocol::http_protobuf;
  std::string url;  // with the path of the signal
  std::vector<std::pair<std::string, std::string>> headers;
  bool gzip = false;
  std::chrono::milliseconds timeout{10'000};
  std::string ca_file;  // PEM; empty: the system's
  std::string client_certificate;
  std::string client_key;
};

struct settings {
  target targets[signals];
  detail::queue_options queue;  // what may wait in memory, and what happens above it
  std::size_t batch_records = 8192;
  std::size_t batch_bytes = std::size_t{1} << 20;  // receivers of gRPC refuse requests above 4 MiB by default
  std::chrono::milliseconds delay{1000};           // how long a record may wait for company
  std::chrono::milliseconds metric_interval{60'000};
  std::string spool;  // a folder; empty: nothing goes to disk
  std::uint64_t spool_bytes = std::uint64_t{256} << 20;

  bool encrypts() const noexcept;
};

// Takes the options out of `words`. An error names the option or the variable.
result<settings> read_settings(detail::sink_words words);
// Whether OTEL_SDK_DISABLED says that nothing is to be sent.
result<bool> switched_off();

}  // namespace telltale::otlp
