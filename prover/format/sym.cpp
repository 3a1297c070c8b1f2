// Reading .sym files line by line.
#include "prover/format/sym.hpp"

#include <algorithm>
#include <charconv>
#include <set>

namespace prover::format {
namespace {

constexpr std::string_view advice = "Compile the circuit again, with --sym";
constexpr std::size_t longest_line = std::size_t{1} << 16;

// What circom's names consist of. Others could write anything on the terminal.
bool is_name(std::string_view s) noexcept {
  return !s.empty() && std::ranges::all_of(s, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_$.[]").find(c) != std::string_view::npos;
  });
}

// The number up to the next comma, which is taken away with it.
std::optional<std::int64_t> take_number(std::string_view& line) noexcept {
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (failed != std::errc{} || end == line.data() + line.size() || *end != ',') return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()) + 1);
  return number;
}

}  // namespace

telltale::result<std::map<std::uint32_t, std::string>> read_names(const byte_source& source,
                                                                  std::span<const std::uint32_t> wires) {
  const std::set<std::uint32_t> wanted(wires.begin(), wires.end());
  std::map<std::uint32_t, std::string> names;
  u64 number = 0;
  const auto read_line = [&](std::string_view line) -> telltale::result<void> {
    ++number;
    const auto wrong = [&](const char* what) { return source.wrong("line " + grouped(number) + " " + what, advice); };
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto label = take_number(line);
    const auto wire = take_number(line);
    const auto component = take_number(line);
    if (!label || !wire || !component || *label < 0 || *wire < -1 || *component < 0) {
      return wrong("is not \"label,wire,component,name\"");
    }
    if (!is_name(line)) return wrong("has a name that no signal can have");
    if (*wire >= 0 && *wire <= 0xffff'ffff && wanted.contains(static_cast<std::uint32_t>(*wire))) {
      names.try_emplace(static_cast<std::uint32_t>(*wire), line);
    }
    return {};
  };

  std::string window;  // begins with the rest of a line
  for (u64 at = 0; at < source.size();) {
    const auto some = static_cast<std::size_t>(std::min<u64>(source.size() - at, u64{1} << 20));
    const std::size_t kept = window.size();
    window.resize(kept + some);
    if (auto done = source.read(at, std::as_writable_bytes(std::span(window)).subspan(kept)); !done) {
      return done.error();
    }
    at += some;
    std::string_view rest = window;
    for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
      if (auto done = read_line(rest.substr(0, end)); !done) return done.error();
    }
    if (rest.size() > longest_line) return source.wrong("line " + grouped(number + 1) + " is too long", advice);
    window.erase(0, window.size() - rest.size());
  }
  if (!window.empty()) {
    if (auto done = read_line(window); !done) return done.error();
  }
  return names;
}

}  // namespace prover::format
