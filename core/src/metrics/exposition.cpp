// Names and texts as Prometheus has them.
#include "exposition.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "../format.hpp"

namespace telltale::detail {

namespace {

bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

std::string with_underscores(std::string_view s, bool colons) {
  std::string out;
  for (const char c : s) {
    if (is_letter(c) || is_digit(c) || (colons && c == ':')) {
      out += c;
    } else if (out.empty() || out.back() != '_') {
      out += '_';
    }
  }
  return out;
}

struct unit_name {
  std::string_view ucum;
  std::string_view plural;
  std::string_view singular = {};  // after "per"
};
constexpr unit_name unit_names[] = {
    {"d", "days", "day"},
    {"h", "hours", "hour"},
    {"min", "minutes", "minute"},
    {"s", "seconds", "second"},
    {"ms", "milliseconds"},
    {"us", "microseconds"},
    {"ns", "nanoseconds"},
    {"wk", "weeks", "week"},
    {"mo", "months", "month"},
    {"a", "years", "year"},
    {"By", "bytes", "byte"},
    {"KiBy", "kibibytes"},
    {"MiBy", "mebibytes"},
    {"GiBy", "gibibytes"},
    {"TiBy", "tibibytes"},
    {"kBy", "kilobytes"},
    {"KBy", "kilobytes"},
    {"MBy", "megabytes"},
    {"GBy", "gigabytes"},
    {"TBy", "terabytes"},
    {"bit", "bits"},
    {"m", "meters", "meter"},
    {"V", "volts"},
    {"A", "amperes"},
    {"J", "joules"},
    {"W", "watts"},
    {"g", "grams"},
    {"Cel", "celsius"},
    {"Hz", "hertz"},
    {"%", "percent"},
};

std::string part_of_unit(std::string_view ucum, bool singular) {
  const auto known = std::ranges::find(unit_names, ucum, &unit_name::ucum);
  if (known == std::end(unit_names)) return with_underscores(ucum, false);
  return std::string(singular && !known->singular.empty() ? known->singular : known->plural);
}

// A unit without what stands in braces, which says what is counted and is no unit.
std::string without_annotations(std::string_view unit) {
  std::string out;
  int depth = 0;
  for (const char c : unit) {
    if (c == '{') ++depth;
    if (depth == 0) out += c;
    if (c == '}' && depth != 0) --depth;
  }
  return out;
}

template <class Escape>
void append_valid(std::string& out, std::string_view s, Escape escape) {
  while (!s.empty()) {
    std::size_t taken = 1;
    if (escape(s[0])) {
    } else if (static_cast<unsigned char>(s[0]) < 0x80) {
      out += s[0];
    } else if ((taken = sequence_length(s)) != 0) {
      out += s.substr(0, taken);
    } else {
      out += "\xef\xbf\xbd";  // U+FFFD
      taken = 1;
    }
    s.remove_prefix(taken);
  }
}

}  // namespace

std::string exposition_name(std::string_view name) {
  const std::string plain = with_underscores(name, true);
  std::string out;
  if (plain.empty() || is_digit(plain[0])) out = "_";
  out += plain;
  return out;
}

std::string exposition_label(std::string_view key) {
  const std::string plain = with_underscores(key, false);
  std::string out;
  if (plain.empty() || is_digit(plain[0]) || plain == "le" || plain == "quantile") {
    out = "key_";  // the last two are what buckets are told apart by
  } else if (plain[0] == '_') {
    out = "key";  // what begins with an underscore is Prometheus' own
  }
  out += plain;
  return out;
}

std::string exposition_unit(std::string_view unit, metric_kind kind) {
  if (unit == "1") return kind == metric_kind::gauge ? "ratio" : "";
  const std::string plain = without_annotations(unit);
  const std::size_t slash = plain.find('/');
  std::string out = part_of_unit(std::string_view(plain).substr(0, slash), false);
  if (slash != std::string::npos) {
    const std::string per = part_of_unit(std::string_view(plain).substr(slash + 1), true);
    if (!per.empty()) {
      out += out.empty() ? "per_" : "_per_";
      out += per;
    }
  }
  while (!out.empty() && out.front() == '_') out.erase(0, 1);
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

void append_label_value(std::string& out, std::string_view value) {
  append_valid(out, value, [&](char c) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\\' || c == '"') {
      out += '\\';
      out += c;
    } else {
      return false;
    }
    return true;
  });
}

void append_help(std::string& out, std::string_view help, bool escape_quotes) {
  append_valid(out, help, [&](char c) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\\' || (c == '"' && escape_quotes)) {
      out += '\\';
      out += c;
    } else {
      return false;
    }
    return true;
  });
}

std::string exposition_labels(const std::vector<std::pair<std::string, attribute_value>>& labels) {
  std::map<std::string, std::string> values;
  for (const auto& [key, v] : labels) {
    const std::string value = to_string(v);
    if (value.empty()) continue;
    std::string& joined = values[exposition_label(key)];
    if (!joined.empty()) joined += ';';
    joined += value;
  }
  std::string out;
  for (const auto& [key, value] : values) {
    if (!out.empty()) out += ',';
    out += key;
    out += "=\"";
    append_label_value(out, value);
    out += '"';
  }
  return out;
}

}  // namespace telltale::detail
