// The next start of a service: what processes of it that died left behind goes through this one's sinks.
#pragma once

#include "../drain.hpp"
#include "files.hpp"

namespace telltale::detail {

// Exports every file of a dead process of this service once, and keeps or removes it. Called by the drain's thread
// before its first pass. What cannot be read is said on stderr and kept.
void export_dead_flights(const flight_options& o, const sink_list& sinks);

}  // namespace telltale::detail
