// Spans found by what stands there.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <telltale/core/source.hpp>

namespace telltale::testing {

// The occurrence number `nth` (from 0) of `what`.
inline source_span at(const std::shared_ptr<const source_file>& file, std::string_view what, int nth = 0) {
  std::size_t p = file->text().find(what);
  while (p != std::string::npos && nth-- > 0) p = file->text().find(what, p + 1);
  if (p == std::string::npos) throw std::runtime_error("no " + std::string(what) + " in " + file->name());
  return {file, p, p + what.size()};
}

}  // namespace telltale::testing
