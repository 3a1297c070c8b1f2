#include "core/bench/report.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

namespace telltale::bench {
namespace {

// The shortest text without an exponent that reads back as the same number: 1.15, 0.7, 100000.
std::string shortest(double v) {
  std::array<char, 400> text{};  // enough for every double
  const auto end = std::to_chars(text.data(), text.data() + text.size(), v, std::chars_format::fixed).ptr;
  return {text.data(), end};
}

// Four digits that count, and thousands apart: 0.3012, 22.41, 1,034,003.
std::string number(double v) {
  const double size = std::fabs(v);
  if (!std::isfinite(v) || size >= 1e15) return shortest(v);
  std::array<char, 32> text{};
  const int decimals = size < 1 ? 4 : size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), v, std::chars_format::fixed, decimals).ptr;
  std::string digits(text.data(), end);
  if (decimals > 0) return digits;
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) digits.insert(i -= 3, ",");
  return digits;
}

// How many columns a terminal gives the text: code points, which is right for the letters we use.
std::size_t columns(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text) n += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  return n;
}

std::string padded(const std::string& text, std::size_t width, bool to_the_right) {
  const std::string gap(width - std::min(width, columns(text)), ' ');
  return to_the_right ? gap + text : text + gap;
}

}  // namespace

std::optional<double> ratio(const figure& f) {
  if (!f.reference_value || !std::isfinite(*f.reference_value) || *f.reference_value == 0) return std::nullopt;
  return f.value / *f.reference_value;
}

bool holds(const figure& f) {
  if (!std::isfinite(f.value)) return false;
  if (f.bar.what == bar::on::nothing) return true;
  const auto judged = f.bar.what == bar::on::value ? std::optional<double>(f.value) : ratio(f);
  if (!judged) return false;
  return f.bar.which == bar::side::at_most ? *judged <= f.bar.limit : *judged >= f.bar.limit;
}

std::string describe(const figure& f) {
  if (f.bar.what == bar::on::nothing) return {};
  const char* sign = f.bar.which == bar::side::at_most ? "<=" : ">=";
  const std::string limit = std::string(sign) + " " + shortest(f.bar.limit);
  return f.bar.what == bar::on::ratio ? "ratio " + limit : limit + " " + f.unit;
}

std::optional<std::filesystem::path> options::peer(std::string_view name) const {
  const auto found = peers.find(name);
  return found == peers.end() ? std::nullopt : std::optional(found->second);
}

options parse_options(int argc, const char* const* argv) {
  options result;
  for (int i = 1; i < argc; i += 2) {  // a name and its value
    const std::string_view name = argv[i];
    const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    const auto equals = value.find('=');
    if (name == "--json" && !value.empty()) {
      result.json = value;
    } else if (name == "--peer" && equals != std::string_view::npos && equals > 0 && equals + 1 < value.size()) {
      result.peers.emplace(value.substr(0, equals), value.substr(equals + 1));
    } else {
      std::cerr << argv[0] << ": cannot read \"" << name << "\". Usage: " << argv[0]
                << " [--json FILE] [--peer NAME=PATH]...\n";
      std::exit(2);  // NOLINT(concurrency-mt-unsafe): before any thread
    }
  }
  return result;
}

void report::print(std::ostream& out) const {
  using row = std::array<std::string, 6>;
  std::vector<row> rows{{"what", "value", "reference", "ratio", "bar", "holds"}};
  for (const figure& f : figures_) {
    const auto r = ratio(f);
    rows.push_back({f.name, number(f.value) + " " + f.unit,
                    f.reference_value ? f.reference + ": " + number(*f.reference_value) : f.reference,
                    r ? number(*r) : "", describe(f),
                    f.bar.what == bar::on::nothing && holds(f) ? ""
                    : holds(f)                                 ? "yes"
                                                               : "NO"});
  }
  std::array<std::size_t, 6> widths{};
  for (const row& r : rows) {
    for (std::size_t i = 0; i < r.size(); ++i) widths[i] = std::max(widths[i], columns(r[i]));
  }
  for (const row& r : rows) {
    std::string line;
    for (std::size_t i = 0; i < r.size(); ++i) line += padded(r[i], widths[i], i == 1 || i == 3) + "  ";
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
  for (const missing& m : absent_) out << "left out: " << m.name << " (" << m.why << ")\n";
}

std::string report::json() const {
  using json_object = nlohmann::ordered_json;
  std::string text = "[\n";
  for (std::size_t i = 0; i < figures_.size(); ++i) {
    const figure& f = figures_[i];
    const auto r = ratio(f);
    json_object o;
    o["part"] = part_;
    o["name"] = f.name;
    o["value"] = f.value;
    o["unit"] = f.unit;
    o["reference"] = f.reference.empty() ? json_object() : json_object(f.reference);
    o["reference_value"] = f.reference_value ? json_object(*f.reference_value) : json_object();
    o["ratio"] = r ? json_object(*r) : json_object();
    o["bar"] = f.bar.what == bar::on::nothing ? json_object() : json_object(describe(f));
    o["holds"] = holds(f);
    text += "  " + o.dump(-1, ' ', false, json_object::error_handler_t::replace);
    text += i + 1 < figures_.size() ? ",\n" : "\n";
  }
  return text + "]\n";
}

bool report::all_hold() const {
  for (const figure& f : figures_) {
    if (!holds(f)) return false;
  }
  return true;
}

int report::finish(const options& options, std::ostream& out) const {
  print(out);
  out.flush();
  if (options.json) {
    std::ofstream file(*options.json, std::ios::binary);
    file << json();
    file.close();
    if (!file) {
      std::cerr << "cannot write " << options.json->string() << ": the figures above are not in it\n";
      return 2;
    }
  }
  return all_hold() ? 0 : 1;
}

}  // namespace telltale::bench
