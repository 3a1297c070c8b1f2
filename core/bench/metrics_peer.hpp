// prometheus-cpp doing the same: metrics_peer.cpp where it is installed, metrics_peer_absent.cpp elsewhere.
#pragma once

#include <cstdint>

namespace telltale::bench {

extern const bool has_metrics_peer;
void peer_increment(std::uint64_t);
void peer_labelled_increment(std::uint64_t i);  // a family's Add() with two labels of 512 series, then Increment()
void peer_observe(double v);                    // 14 bounds, those of our default for seconds

}  // namespace telltale::bench
