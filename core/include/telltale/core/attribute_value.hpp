// The value of an attribute or a label as data that owns itself: what trace models and metric snapshots hold.
#pragma once

#include <cstdint>
#include <string>
#include <telltale/core/context.hpp>
#include <variant>

namespace telltale {

using attribute_value = std::variant<bool, std::int64_t, std::uint64_t, double, std::string>;
TELLTALE_EXPORT std::string to_string(const attribute_value& v);

}  // namespace telltale
