// Sinks whose code needs libraries that core doesn't: they live in a library of their own, which is loaded when a
// specification asks for one, so that TELLTALE_SINKS=otlp:… works for every program.
#pragma once

#include <memory>
#include <telltale/core/sink.hpp>

#include "specification.hpp"

namespace telltale::detail {

// "otlp:ENDPOINT": from libtelltale_otlp. Null when the environment switches it off.
result<std::shared_ptr<sink>> make_otlp_sink(sink_words words);

// What such a library exports; its name ends with the version of sink_words and sink that it was built with. It has C
// linkage, so it returns nothing: the words are used up and the sink is put into `made`.
using sink_maker = void (*)(sink_words& words, result<std::shared_ptr<sink>>& made);
inline constexpr char otlp_library[] = "libtelltale_otlp.so.1";
inline constexpr char otlp_maker[] = "telltale_make_otlp_sink_1";

}  // namespace telltale::detail
