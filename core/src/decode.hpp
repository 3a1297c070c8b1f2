// Reading a payload back: the mirror of detail/write.hpp.
#pragma once

#include <telltale/core/sink.hpp>
#include <vector>

#include "memory.hpp"

namespace telltale::detail {

// Appends the attributes of a payload to `out`: the site's own first (unless `static_elsewhere`), then late ones. Views
// point into the payload. A payload that ends in the middle of a value yields what is whole.
void decode_attributes(const memory_map& m, const std::vector<site_info::attribute>& own, bool static_elsewhere,
                       const std::uint64_t* payload, std::size_t words, std::vector<attribute_view>& out);

// A later value of a key replaces an earlier one (set() twice), which keeps the earlier one's place.
void keep_last_of_each_key(std::vector<attribute_view>& attributes);

}  // namespace telltale::detail
