// Spans that run now, as core's telltale.span.open and heartbeats tell of them. Not kept over a restart: the next
// heartbeat tells again. Every function may be called from any thread.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "hub/model.hpp"
#include "hub/otlp/batch.hpp"

namespace telltale::hub {

class open_spans {
 public:
  using clock = std::chrono::steady_clock;

  // Spans that the batch opens, and ends.
  void follow(const batch& b);
  // Takes out those without a sign of life for `patience`: batches that end each as lost, to be kept like any other.
  std::vector<std::shared_ptr<const batch>> take_lost(clock::time_point now, std::chrono::seconds patience);

  std::vector<span_row> all() const;  // by start
  std::vector<span_row> of(trace_id id) const;
  std::size_t size() const;

 private:
  static constexpr std::size_t most = 100'000;  // more are not followed

  struct which {
    trace_id trace;
    span_id span;
    bool operator==(const which&) const = default;
  };
  struct hash {
    std::size_t operator()(const which& k) const noexcept { return k.trace.low ^ (k.span.value * 0x9e3779b97f4a7c15u); }
  };
  struct open_span {
    span_row row;
    clock::time_point seen;
  };

  mutable std::mutex mutex_;
  std::unordered_map<which, open_span, hash> open_;
};

}  // namespace telltale::hub
