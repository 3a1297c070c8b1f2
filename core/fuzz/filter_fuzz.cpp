// libFuzzer: filter directives, in both grammars. What parses says the same again in the stricter grammar.
#include "filter.hpp"
#include "input.hpp"

namespace {

using telltale::detail::filter;

void check(const filter& f, std::string_view module) {
  const telltale::level l = f.level_for(module);
  fuzz::require(l <= telltale::level::trace && l == f.level_for(module));
}

void try_grammar(std::string_view text, filter::grammar g) {
  const auto f = filter::parse(text, g);
  if (!f) {
    fuzz::require(!f.error().message.empty());
    return;
  }
  fuzz::require(f->text() == text);
  const auto again = filter::parse(f->as_telltale());
  fuzz::require(static_cast<bool>(again));
  fuzz::require(again->as_telltale() == f->as_telltale());
  const auto same = [&](std::string_view module) {
    check(*f, module);
    fuzz::require(f->level_for(module) == again->level_for(module));
  };
  for (const std::string_view module : {"", "prover", "prover::msm", "prover2", "a", "a::b", "::"}) same(module);
  // The modules that the directives name, and one beneath each.
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(",= ", at), text.size());
    const std::string module(text.substr(at, end - at));
    same(module);
    same(module + "::beneath");
    at = end + 1;
  }
  // A directive for everything stands below all others.
  const auto off = filter::parse(std::string(text) + ",off", g);
  fuzz::require(static_cast<bool>(off) && off->level_for("") == telltale::level::off);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::input(data, size).rest();
  try_grammar(text, filter::grammar::telltale);
  try_grammar(text, filter::grammar::rust_log);
  return 0;
}
