// Rows for tests, short to write.
#pragma once

#include <string>

#include "hub/model.hpp"

namespace telltale::hub::test {

inline span_row row(std::uint64_t id, std::uint64_t parent, std::string name, std::int64_t start, std::int64_t end) {
  span_row r;
  r.trace = {1, 1};
  r.id = {id};
  r.parent = {parent};
  r.name = std::move(name);
  r.start_ns = start;
  r.duration_ns = end - start;
  return r;
}

}  // namespace telltale::hub::test
