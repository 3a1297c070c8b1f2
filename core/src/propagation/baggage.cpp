// The header baggage (W3C Baggage): keys and percent-encoded values.
#include <optional>
#include <telltale/core/propagation.hpp>

#include "../format.hpp"
#include "characters.hpp"

namespace telltale {

namespace {

using namespace detail;

constexpr std::size_t max_bytes = 8192;
constexpr std::size_t max_members = 180;

error bad_baggage(std::string_view why) {
  return error{"cannot read the header baggage: " + std::string(why) +
               ". It is ignored as a whole. Look at what the caller sends."};
}

// baggage-octet: printable ASCII without the space, quotation mark, comma, semicolon and backslash.
constexpr bool is_octet(char c) noexcept {
  return c > 0x20 && c < 0x7f && c != '"' && c != ',' && c != ';' && c != '\\';
}

std::optional<unsigned> hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

// A percent sign that begins no escape stands for itself; bytes that are no UTF-8 become U+FFFD.
std::string decoded(std::string_view s) {
  std::string bytes;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const auto high = s[i] == '%' && i + 2 < s.size() ? hex_digit(s[i + 1]) : std::nullopt;
    const auto low = high ? hex_digit(s[i + 2]) : std::nullopt;
    if (low) {
      bytes += static_cast<char>(static_cast<unsigned char>(*high << 4 | *low));
      i += 2;
    } else {
      bytes += s[i];
    }
  }
  std::string out;
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::size_t whole = sequence_length(rest);
    out += whole != 0 ? rest.substr(0, whole) : std::string_view{"\xef\xbf\xbd"};
    rest.remove_prefix(std::max<std::size_t>(whole, 1));
  }
  return out;
}

void append_encoded(std::string& out, std::string_view s) {
  constexpr char digits[] = "0123456789ABCDEF";
  for (const char c : s) {
    if (is_octet(c) && c != '%') {
      out += c;
    } else {
      const auto b = static_cast<unsigned char>(c);
      out += {'%', digits[b >> 4], digits[b & 15]};
    }
  }
}

bool is_value(std::string_view s) noexcept {
  return std::all_of(s.begin(), s.end(), is_octet);
}

// ";key" or ";key=value", any number; nothing is done with them.
bool are_properties(std::string_view s) noexcept {
  while (!s.empty()) {
    std::string_view value = trim(take_until(s, ';'));
    const std::string_view key = trim(take_until(value, '='));
    if (!is_token(key) || !is_value(trim(value))) return false;
  }
  return true;
}

}  // namespace

result<std::vector<baggage_member>> parse_baggage(std::string_view text) {
  if (text.size() > max_bytes) return bad_baggage("it has more than 8192 bytes");
  std::vector<baggage_member> members;
  std::size_t count = 0;
  while (!text.empty()) {
    std::string_view properties = trim(take_until(text, ','));
    if (properties.empty()) continue;
    if (++count > max_members) return bad_baggage("it has more than 180 members");
    std::string_view value = trim(take_until(properties, ';'));
    if (value.find('=') == std::string_view::npos) return bad_baggage("a member has no value");
    const std::string_view key = trim(take_until(value, '='));
    value = trim(value);
    if (!is_token(key)) return bad_baggage("a key is not a token");
    if (!is_value(value)) return bad_baggage("a value has a character that must be percent-encoded");
    if (!are_properties(properties)) return bad_baggage("a property is not one");
    const auto same = std::find_if(members.begin(), members.end(), [&](const auto& m) { return m.key == key; });
    if (same != members.end()) {
      same->value = decoded(value);
    } else {
      members.push_back({std::string(key), decoded(value)});
    }
  }
  return members;
}

std::string to_string(const std::vector<baggage_member>& members) {
  std::string out;
  std::size_t count = 0;
  for (const baggage_member& m : members) {
    if (!is_token(m.key) || count == max_members) continue;
    std::string member = (out.empty() ? "" : ",") + m.key + "=";
    append_encoded(member, m.value);
    if (out.size() + member.size() > max_bytes) continue;
    out += member;
    ++count;
  }
  return out;
}

}  // namespace telltale
