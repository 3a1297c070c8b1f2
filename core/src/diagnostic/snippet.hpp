// The part of a source text that labels point at, with the labels drawn beneath it.
#pragma once

#include <cstddef>
#include <telltale/core/diagnostic.hpp>
#include <vector>

#include "canvas.hpp"

namespace telltale::detail {

struct snippet_options {
  severity of = severity::error;
  std::size_t width = 100;  // columns of the terminal
  std::size_t tab = 4;
  std::size_t margin = 1;  // digits of the largest line number
};

// Draws all of `labels`, which are of one file. Every row begins with the margin and its bar.
void draw_snippet(painter& p, const source_file& file, const std::vector<const label*>& labels,
                  const snippet_options& o);

}  // namespace telltale::detail
