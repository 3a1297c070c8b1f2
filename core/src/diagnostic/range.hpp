// Where a span lies: lines and columns instead of offsets.
#pragma once

#include <telltale/core/source.hpp>

namespace telltale::detail {

struct place_range {
  source_file::place begin;
  source_file::place end;  // behind the last code point, on its line
};
// Half a code point counts as the whole one; a line's end that is taken along belongs to its line. The span's file must
// be there.
place_range range_of(const source_span& s) noexcept;

source_position position_of(const source_file& file, const source_file::place& p) noexcept;

}  // namespace telltale::detail
