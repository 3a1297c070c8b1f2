// What of the ordinary is kept.
#pragma once

#include <cstdint>

namespace telltale::hub {

struct sampling_settings {
  double keep = 1;                 // share of ordinary traces that stay; 1: nothing is thinned
  double slow = 2;                 // a span is slow from so many times its name's 95th percentile on
  std::int64_t wait_seconds = 30;  // a trace whose last span ended later than so long ago is not judged: it stays
};

}  // namespace telltale::hub
