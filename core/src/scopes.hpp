// The drain's side of scopes: which ones have ended, and when their nodes may be used again.
#pragma once

#include <cstdint>

namespace telltale::detail {

using ended_scopes = std::uint32_t;  // the first of a list: index + 1, 0: empty

// Takes the list of scopes that ended since the last call. Only the drain calls it.
ended_scopes take_ended_scopes() noexcept;

// Makes their nodes available again. The drain calls it when a whole pass over the rings has passed since they ended.
void free_scopes(ended_scopes list) noexcept;

}  // namespace telltale::detail
