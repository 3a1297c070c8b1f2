// traceparent and tracestate (W3C Trace Context, Recommendation of 23 November 2021).
#include <telltale/core/propagation.hpp>

#include "../ids.hpp"
#include "characters.hpp"

namespace telltale {

namespace {

using namespace detail;

error bad_traceparent(std::string_view why) {
  return error{"cannot read the header traceparent: " + std::string(why) +
               ". It is ignored, and a trace of its own begins. Look at what the caller sends."};
}
error bad_tracestate(std::string_view why) {
  return error{"cannot read the header tracestate: " + std::string(why) +
               ". It is ignored as a whole. Look at what the caller sends."};
}

constexpr bool is_hex(std::string_view s) noexcept {
  for (const char c : s) {
    if (!is_digit(c) && !(c >= 'a' && c <= 'f')) return false;
  }
  return true;
}
constexpr std::uint64_t hex_value(std::string_view s) noexcept {
  std::uint64_t v = 0;
  for (const char c : s) v = v << 4 | static_cast<std::uint64_t>(is_digit(c) ? c - '0' : c - 'a' + 10);
  return v;
}

// key = lcalpha 0*255(keychar) / tenant "@" system, the tenant beginning with a digit or letter, at most 241
// characters, the system with a letter, at most 14.
bool is_tracestate_key(std::string_view key) noexcept {
  const auto rest_is_valid = [](std::string_view s) {
    for (const char c : s) {
      if (!is_lower(c) && !is_digit(c) && c != '_' && c != '-' && c != '*' && c != '/') return false;
    }
    return true;
  };
  const std::size_t at = key.find('@');
  if (at == std::string_view::npos) {
    return !key.empty() && key.size() <= 256 && is_lower(key[0]) && rest_is_valid(key.substr(1));
  }
  const std::string_view tenant = key.substr(0, at);
  const std::string_view system = key.substr(at + 1);
  return !tenant.empty() && tenant.size() <= 241 && (is_lower(tenant[0]) || is_digit(tenant[0])) &&
         rest_is_valid(tenant) && !system.empty() && system.size() <= 14 && is_lower(system[0]) &&
         rest_is_valid(system);
}
bool is_tracestate_value(std::string_view value) noexcept {
  if (value.empty() || value.size() > 256 || value.back() == ' ') return false;
  for (const char c : value) {
    if (c < 0x20 || c > 0x7e || c == ',' || c == '=') return false;
  }
  return true;
}

}  // namespace

result<traceparent> parse_traceparent(std::string_view text) {
  constexpr std::size_t size = 55;  // 2-32-16-2
  text = trim(text);
  if (text.size() < size) return bad_traceparent("it has fewer than 55 characters");
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace = text.substr(3, 32);
  const std::string_view parent = text.substr(36, 16);
  const std::string_view flags = text.substr(53, 2);
  if (text[2] != '-' || text[35] != '-' || text[52] != '-')
    return bad_traceparent("its dashes are not in their places");
  if (!is_hex(version) || !is_hex(trace) || !is_hex(parent) || !is_hex(flags)) {
    return bad_traceparent("a field is not lower-case hexadecimal");
  }
  if (version == "ff") return bad_traceparent("the version ff is forbidden");
  if (version == "00" && text.size() != size) return bad_traceparent("version 00 has exactly 55 characters");
  if (text.size() > size && text[size] != '-') return bad_traceparent("what follows the flags begins without a dash");
  const traceparent t{{hex_value(trace.substr(0, 16)), hex_value(trace.substr(16))},
                      {hex_value(parent)},
                      static_cast<std::uint8_t>(hex_value(flags))};
  if (!t.trace) return bad_traceparent("the trace id is zero");
  if (!t.parent) return bad_traceparent("the parent id is zero");
  return t;
}

std::string to_string(const traceparent& t) {
  if (!t.trace || !t.parent) return {};
  return "00-" + hex(t.trace) + "-" + hex(t.parent) + ((t.flags & 1) != 0 ? "-01" : "-00");
}

result<std::vector<tracestate_member>> parse_tracestate(std::string_view text) {
  constexpr std::size_t max_members = 32;
  std::vector<tracestate_member> members;
  while (!text.empty()) {
    std::string_view value = trim(take_until(text, ','));
    if (value.empty()) continue;  // allowed, and counts for nothing
    const bool has_value = value.find('=') != std::string_view::npos;
    const std::string_view key = take_until(value, '=');
    if (!has_value || !is_tracestate_value(value)) return bad_tracestate("a value is not one");
    if (!is_tracestate_key(key)) return bad_tracestate("a key is not one");
    if (members.size() == max_members) return bad_tracestate("it has more than 32 members");
    if (std::any_of(members.begin(), members.end(), [&](const tracestate_member& m) { return m.key == key; })) {
      return bad_tracestate("a key stands in it twice");
    }
    members.push_back({std::string(key), std::string(value)});
  }
  return members;
}

std::string to_string(const std::vector<tracestate_member>& members) {
  constexpr std::size_t max_size = 512;
  const auto size_of = [](const tracestate_member& m) { return m.key.size() + 1 + m.value.size(); };
  std::vector<const tracestate_member*> kept;
  std::size_t size = 0;
  for (const tracestate_member& m : members) {
    kept.push_back(&m);
    size += size_of(m) + (kept.size() > 1 ? 1 : 0);
  }
  const auto drop_last = [&](auto which) {
    while (size > max_size) {
      const auto last = std::find_if(kept.rbegin(), kept.rend(), which);
      if (last == kept.rend()) return;
      size -= std::min(size, size_of(**last) + 1);
      kept.erase(std::next(last).base());
    }
  };
  drop_last([&](const tracestate_member* m) { return size_of(*m) > 128; });
  drop_last([](const tracestate_member*) { return true; });
  std::string out;
  for (const tracestate_member* m : kept) out += (out.empty() ? "" : ",") + m->key + "=" + m->value;
  return out;
}

}  // namespace telltale
