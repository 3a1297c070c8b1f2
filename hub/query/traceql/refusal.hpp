// Why a text is no query, on its way from where it is found to the message.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "parse.hpp"

namespace telltale::hub::traceql {

// Thrown by the readers and caught by parse().
struct refused {
  refusal kind;
  std::size_t at;  // bytes into the text
  std::string what;
};

// What is TraceQL and makes no sense: the first is told when the rest turned out to be TraceQL as well.
struct doubts {
  std::optional<refused> first;
  void add(std::size_t at, std::string what) {
    if (!first) first = refused{refusal::meaning, at, std::move(what)};
  }
};

// The message, and the line of the query with a mark below the place.
std::string explain(std::string_view text, const refused& r);

}  // namespace telltale::hub::traceql
