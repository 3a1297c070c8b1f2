// Text for people: log lines, and the ends of spans, one line each.
#pragma once

#include <memory>
#include <telltale/core/sink.hpp>

#include "output.hpp"

namespace telltale::detail {

struct text_options {
  bool colour = false;
  bool ids = false;   // trace and span ids behind each line
  bool spans = true;  // ends of spans, not only log lines
};

std::shared_ptr<sink> make_text_sink(std::unique_ptr<output> out, text_options o);

}  // namespace telltale::detail
