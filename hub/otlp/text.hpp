// Text as the store keeps it: valid UTF-8 without NUL, and JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <telltale/core/result.hpp>
#include <vector>

#include "hub/model.hpp"

namespace telltale::hub {

// Whether `s` is UTF-8 (no surrogates, nothing overlong) without NUL.
bool is_clean(std::string_view s) noexcept;
// `s` with U+FFFD for each byte that has no place in it.
std::string cleaned(std::string_view s);
// The longest part from the start that has at most `limit` bytes and ends between characters.
std::string_view cut_to(std::string_view s, std::size_t limit) noexcept;

// Appends `s` as a JSON string, quotes included. Any bytes are taken.
void append_json(std::string& out, std::string_view s);
void append_json(std::string& out, std::int64_t v);
// A number that is whole has ".0" behind it, so that its type comes back; one that JSON hasn't is "NaN", "Infinity"
// or "-Infinity", a string.
void append_json(std::string& out, double v);
void append_json(std::string& out, const attribute_value& v);
std::string object_text(const attribute_list& attributes);

// Attributes out of a JSON object as text: numbers without a point or exponent are int64, nested values stay JSON as
// text, null is left out. Of a key that comes twice the first value counts. Text that is no object is an error.
result<attribute_list> parse_attributes(std::string_view json);
result<std::vector<span_event>> parse_events(std::string_view json);
result<std::vector<span_link>> parse_links(std::string_view json);

std::string to_hex(trace_id id);
std::string to_hex(span_id id);
// 32 and 16 digits, either case; anything else is nothing. Zero is no id.
std::optional<trace_id> trace_id_of(std::string_view hex) noexcept;
std::optional<span_id> span_id_of(std::string_view hex) noexcept;

}  // namespace telltale::hub
