// Traces for timeline viewers: Perfetto's protobuf format and Chrome's JSON, a track per thread, arrows for links.
// docs/formats.md has what becomes what.
#pragma once

#include <memory>
#include <telltale/core/sink.hpp>

#include "output.hpp"

namespace telltale::detail {

enum class timeline : std::uint8_t { perfetto, chrome };

// Where `target` is new: what stands before everything. (A forked child goes on in its parent's file.)
result<void> begin_timeline(line_target& target, timeline format);
std::shared_ptr<sink> make_timeline_sink(std::unique_ptr<output> out, timeline format);

}  // namespace telltale::detail
