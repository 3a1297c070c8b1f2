// The catalogue: every call site and key that was ever hit, written into the mapped memory, so that a record needs
// only a number and a reader needs no address.
#pragma once

#include <cstdint>
#include <string_view>
#include <telltale/core/sink.hpp>

#include "filter.hpp"
#include "memory.hpp"

namespace telltale::detail {

// Puts both filters into force for every site, those registered later included. Needs registry_mutex.
void apply_filters_locked(const filter& log, const filter& trace) noexcept;

// Reads a site back. `id` must be below the number of published sites.
site_info read_site(const memory_map& m, std::uint32_t id);
std::string_view read_key(const memory_map& m, std::uint32_t number) noexcept;

// register_site() for a site of this library itself, which stays loaded anyway: never takes the loader's lock, which
// whoever waits for the drain may hold.
bool register_own_site(site& s, const attribute_description* attributes, std::uint32_t count) noexcept;

// Has the calls of a site counted in a tally rather than recorded; false where it is no span, or not recorded now.
bool count_site(std::uint32_t id, std::uint8_t tally) noexcept;
bool is_counted(std::uint32_t id) noexcept;
// The same for all of them: in the child of a fork nobody reads the counts. Needs registry_mutex.
void record_counted_sites_locked() noexcept;
// Has a site that is counted recorded again.
void record_site(std::uint32_t id) noexcept;

// A site made at run time (the C ABI): its description and attributes are copied and live for ever.
site* make_site(const site_description& d, const attribute_description* attributes, std::uint32_t count);

}  // namespace telltale::detail
