// A tree as text again.
#include <algorithm>
#include <array>
#include <charconv>

#include "ast.hpp"

namespace telltale::hub::traceql {

namespace {

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string print(const value& v) {
  struct printer {
    std::string operator()(std::monostate) const { return "nil"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t i) const { return std::to_string(i); }
    // Always with a point, and never with an exponent: the language has none.
    std::string operator()(double d) const {
      std::array<char, 400> text;
      const auto [end, _] = std::to_chars(text.data(), text.data() + text.size(), d, std::chars_format::fixed);
      const std::string s(text.data(), end);
      return s.find('.') == std::string::npos ? s + ".0" : s;
    }
    std::string operator()(const std::string& s) const { return quoted(s); }
    std::string operator()(const duration& d) const { return std::to_string(d.ns) + "ns"; }
    std::string operator()(const word& w) const { return w.text; }
  };
  return std::visit(printer{}, v);
}

std::string_view spelling(operation o) {
  constexpr std::string_view all[] = {"||", "&&", "=", "!=", "<", "<=", ">", ">=", "=~",
                                      "!~", "+",  "-", "*",  "/", "%",  "^", "-",  "!"};
  return all[static_cast<std::size_t>(o)];
}

// A key as it stands behind a dot: in quotation marks where it would end before its end.
std::string print_key(const std::string& key) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool simple = !key.empty() && is_letter(key.front()) && std::all_of(key.begin(), key.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
  });
  return simple ? key : quoted(key);
}

std::string print(const field& f) {
  constexpr std::string_view names[] = {"",
                                        "name",
                                        "duration",
                                        "kind",
                                        "status",
                                        "statusMessage",
                                        "span:id",
                                        "span:parentID",
                                        "rootName",
                                        "rootServiceName",
                                        "traceDuration",
                                        "trace:id"};
  if (f.what != intrinsic::none) return std::string(names[static_cast<std::size_t>(f.what)]);
  constexpr std::string_view scopes[] = {"", "span", "resource"};
  return std::string(scopes[static_cast<std::size_t>(f.scope)]) + "." + print_key(f.key);
}

// One operand or two, with the operator before or between them.
template <class E>
std::string print_operation(operation o, const std::vector<E>& operands, std::string (*print_one)(const E&)) {
  const std::string how(spelling(o));
  if (operands.size() == 1) return "(" + how + print_one(operands[0]) + ")";
  return "(" + print_one(operands[0]) + " " + how + " " + print_one(operands[1]) + ")";
}

std::string print(const scalar& s) {
  if (const auto* v = std::get_if<value>(&s.node)) return print(*v);
  if (const auto* c = std::get_if<scalar::call>(&s.node)) {
    constexpr std::string_view names[] = {"count", "avg", "min", "max", "sum"};
    return std::string(names[static_cast<std::size_t>(c->what)]) + "(" + (c->of.empty() ? "" : to_string(c->of[0])) +
           ")";
  }
  return print_operation(std::get<operation>(s.node), s.operands, +[](const scalar& o) { return print(o); });
}

std::string print(const std::vector<expression>& list) {
  std::string out;
  for (const expression& e : list) out += (out.empty() ? "" : ", ") + to_string(e);
  return out;
}

std::string print(const spanset& s) {
  if (const auto* f = std::get_if<spanset::filter>(&s.node)) return "{ " + print(f->condition) + " }";
  if (const auto* inner = std::get_if<std::vector<pipeline>>(&s.node)) return "(" + to_string((*inner)[0]) + ")";
  constexpr std::string_view relations[] = {"||", "&&", ">", "<", ">>", "<<", "~"};
  const std::string how(relations[static_cast<std::size_t>(std::get<relation>(s.node))]);
  return "(" + print(s.operands[0]) + " " + how + " " + print(s.operands[1]) + ")";
}

std::string print(const scalar_filter& f) {
  return print(f.left) + " " + std::string(spelling(f.compare)) + " " + print(f.right);
}
std::string print(const group_by& g) {
  return "by (" + print(g.by) + ")";
}
std::string print(const select& s) {
  return "select(" + print(s.what) + ")";
}
std::string print(const coalesce&) {
  return "coalesce()";
}
std::string print(const metrics& m) {
  constexpr std::string_view names[] = {"rate",          "count_over_time", "min_over_time",     "max_over_time",
                                        "avg_over_time", "sum_over_time",   "quantile_over_time"};
  std::string inside = m.of.empty() ? "" : print(m.of[0]);
  for (const double q : m.quantiles) inside += ", " + print(value(q));
  const std::string out = std::string(names[static_cast<std::size_t>(m.what)]) + "(" + inside + ")";
  return m.by.empty() ? out : out + " by (" + print(m.by) + ")";
}

}  // namespace

std::string to_string(const expression& e) {
  if (const auto* v = std::get_if<value>(&e.node)) return print(*v);
  if (const auto* f = std::get_if<field>(&e.node)) return print(*f);
  return print_operation(std::get<operation>(e.node), e.operands, +[](const expression& o) { return to_string(o); });
}

std::string to_string(const pipeline& p) {
  std::string out;
  for (const stage& s : p.stages) {
    out += out.empty() ? "" : " | ";
    out += std::visit([](const auto& one) { return print(one); }, s);
  }
  return out;
}

}  // namespace telltale::hub::traceql
