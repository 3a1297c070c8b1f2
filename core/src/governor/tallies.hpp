// The sheets of all threads, and the numbers of the sites counted in them.
#pragma once

#include <telltale/core/detail/tally.hpp>

namespace telltale::detail {

// Once, when the library is loaded.
void prepare_tallies() noexcept;

// The sheet made last; `next` leads to the others. Only ever grows at this end.
tally_sheet* first_sheet() noexcept;

// The calling thread's sheet, made or taken over where it has none; null where no memory is left.
tally_sheet* own_sheet() noexcept;

// Calls counted in a tally so far; false where it is just being written.
bool read_tally(const tally& t, std::uint64_t& calls) noexcept;

// Of how many calls one is timed, by the number of the site's tally. At least 1.
std::uint64_t calls_per_sample(std::size_t tally) noexcept;
void set_calls_per_sample(std::size_t tally, std::uint64_t calls) noexcept;

// How many calls to the next that is timed, this one included.
std::uint64_t draw_distance(std::uint64_t calls_per_sample, std::uint64_t random) noexcept;

// In the child of a fork: nothing has been counted yet.
void reset_tallies_after_fork() noexcept;

}  // namespace telltale::detail
