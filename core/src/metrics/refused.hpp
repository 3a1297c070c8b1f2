// Values that histograms refuse because they are not finite, counted.
#pragma once

#include <atomic>
#include <cstdint>

namespace telltale::detail {

extern constinit std::atomic<std::uint64_t> refused_values;

}  // namespace telltale::detail
