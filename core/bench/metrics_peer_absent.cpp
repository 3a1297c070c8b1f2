// No prometheus-cpp here: its figures are said to be absent.
#include "core/bench/metrics_peer.hpp"

namespace telltale::bench {

const bool has_metrics_peer = false;
void peer_increment(std::uint64_t) {}
void peer_labelled_increment(std::uint64_t) {}
void peer_observe(double) {}

}  // namespace telltale::bench
