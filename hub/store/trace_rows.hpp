// What every store does with the rows of a trace that it read.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hub/model.hpp"

namespace telltale::hub {

// The spans by start, each once: of a span that came twice ended before lost before open. At most `limit`.
std::vector<span_row> as_trace(std::vector<span_row> rows, std::uint64_t limit);

// The links that they carry; with a span, only that one's.
std::vector<link_row> links_of(const std::vector<span_row>& rows, std::optional<span_id> span);

}  // namespace telltale::hub
