// Parsing and matching of filter directives.
#include "filter.hpp"

#include <cctype>

namespace telltale::detail {

namespace {

std::string_view trim(std::string_view s) noexcept {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())) != 0) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())) != 0) s.remove_suffix(1);
  return s;
}

bool is_module(std::string_view s) noexcept {
  if (s.empty()) return false;
  for (const char c : s) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 &&
        std::string_view{"_:.-/"}.find(c) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

error bad(std::string_view directive, std::string_view why) {
  return error{"cannot read filter directive \"" + std::string(directive) + "\": " + std::string(why) +
               ". Write LEVEL or MODULE=LEVEL, separated by commas, for example \"info,prover=debug\"; levels are off, "
               "error, warn, info, debug, trace."};
}

}  // namespace

result<filter> filter::parse(std::string_view directives, grammar g) {
  filter f;
  f.text_ = std::string(directives);
  while (!directives.empty()) {
    const std::size_t comma = directives.find(',');
    const std::string_view one = trim(directives.substr(0, comma));
    directives = comma == std::string_view::npos ? std::string_view{} : directives.substr(comma + 1);
    if (one.empty()) continue;
    directive d;
    const std::size_t equals = one.find('=');
    if (equals != std::string_view::npos) {
      const std::string_view module = trim(one.substr(0, equals));
      const std::string_view name = trim(one.substr(equals + 1));
      const auto l = parse_level(name);
      if (!is_module(module)) return bad(one, "\"" + std::string(module) + "\" is no module name");
      if (!l) return bad(one, "\"" + std::string(name) + "\" is no level");
      d = {std::string(module), *l};
    } else if (const auto l = parse_level(one)) {
      d = {"", *l};
    } else if (g == grammar::rust_log && is_module(one)) {
      d = {std::string(one), level::trace};
    } else {
      return bad(one, "it is neither a level nor MODULE=LEVEL");
    }
    std::erase_if(f.directives_, [&](const directive& other) { return other.module == d.module; });
    f.directives_.push_back(std::move(d));
  }
  return f;
}

std::string filter::as_telltale() const {
  std::string out;
  for (const directive& d : directives_) {
    if (!out.empty()) out += ',';
    if (!d.module.empty()) out += d.module + "=";
    out += to_string(d.level);
  }
  return out;
}

level filter::level_for(std::string_view module) const noexcept {
  const directive* best = nullptr;
  for (const directive& d : directives_) {
    const bool applies =
        d.module.empty() || (module.starts_with(d.module) &&
                             (module.size() == d.module.size() || module.substr(d.module.size()).starts_with("::")));
    if (applies && (best == nullptr || d.module.size() > best->module.size())) best = &d;
  }
  return best != nullptr ? best->level : level::off;
}

}  // namespace telltale::detail
