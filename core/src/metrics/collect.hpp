// What a snapshot is put together from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <telltale/core/metric_snapshot.hpp>
#include <vector>

namespace telltale::detail {

// The library's own figures (telltale.*). `overflows`: by name of the metric.
std::vector<metric> own_figures(const std::map<std::string, std::uint64_t>& overflows, std::uint64_t callback_errors);

// In the child of a fork: everything counts from now on, and no snapshot is being taken.
void reset_collection_after_fork() noexcept;

}  // namespace telltale::detail
