// prometheus-cpp as a peer of our metrics.
#include "core/bench/metrics_peer.hpp"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

namespace telltale::bench {

namespace {

prometheus::Registry& registry() {
  static prometheus::Registry r;
  return r;
}

}  // namespace

const bool has_metrics_peer = true;

void peer_increment(std::uint64_t) {
  static prometheus::Counter& c = prometheus::BuildCounter().Name("plain").Register(registry()).Add({});
  c.Increment();
}

void peer_labelled_increment(std::uint64_t i) {
  static auto& family = prometheus::BuildCounter().Name("labelled").Register(registry());
  family.Add({{"job", std::to_string(i % 512)}, {"kind", "groth16"}}).Increment();
}

void peer_observe(double v) {
  static prometheus::Histogram& h =
      prometheus::BuildHistogram()
          .Name("latency")
          .Register(registry())
          .Add({}, prometheus::Histogram::BucketBoundaries{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1,
                                                           2.5, 5, 7.5, 10});
  h.Observe(v);
}

}  // namespace telltale::bench
