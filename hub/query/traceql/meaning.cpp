#include "meaning.hpp"

#include <re2/re2.h>

#include <algorithm>

namespace telltale::hub::traceql {

namespace {

std::string_view to_string(type t) {
  constexpr std::array<std::string_view, 7> names = {"a value",  "nil",      "true or false", "a number",
                                                     "a string", "a status", "a kind"};
  return names[static_cast<std::size_t>(t)];
}

type type_of(const expression& e) {
  if (const auto* v = std::get_if<value>(&e.node)) {
    constexpr std::array<type, 6> by_index = {type::nil,    type::boolean, type::number,
                                              type::number, type::string,  type::number};
    if (v->index() < by_index.size()) return by_index[v->index()];
    const std::string& w = std::get<word>(*v).text;
    return std::find(statuses.begin(), statuses.end(), w) != statuses.end() ? type::status : type::kind;
  }
  if (const auto* f = std::get_if<field>(&e.node)) {
    switch (f->what) {
      case intrinsic::none:
        return type::unknown;
      case intrinsic::duration:
      case intrinsic::trace_duration:
        return type::number;
      case intrinsic::kind:
        return type::kind;
      case intrinsic::status:
        return type::status;
      default:
        return type::string;
    }
  }
  const int s = strength(std::get<operation>(e.node));
  const bool numeric = (s >= 3 && s <= 5) || std::get<operation>(e.node) == operation::negate;
  return numeric ? type::number : type::boolean;
}

}  // namespace

int strength(operation o) {
  switch (o) {
    case operation::or_:
    case operation::and_:
      return 1;
    case operation::add:
    case operation::subtract:
      return 3;
    case operation::multiply:
    case operation::divide:
    case operation::modulo:
      return 4;
    case operation::power:
      return 5;
    case operation::negate:
    case operation::not_:
      return 6;
    default:
      return 2;
  }
}

void want(doubts& d, const expression& e, type t, std::size_t at, std::string_view why) {
  const type is = type_of(e);
  if (is != t && is != type::unknown) {
    d.add(at, std::string(why) + ", and this is " + std::string(to_string(is)));
  }
}

void check(doubts& d, const expression& e, std::size_t left_at, std::size_t right_at) {
  const operation o = std::get<operation>(e.node);
  const int s = strength(o);
  if (s == 1) {
    want(d, e.operands[0], type::boolean, left_at, "&& and || join conditions");
    want(d, e.operands[1], type::boolean, right_at, "&& and || join conditions");
    return;
  }
  if (s >= 3) {
    want(d, e.operands[0], type::number, left_at, "arithmetic is for numbers");
    want(d, e.operands[1], type::number, right_at, "arithmetic is for numbers");
    return;
  }
  if (o == operation::match || o == operation::not_match) {
    want(d, e.operands[0], type::string, left_at, "a regular expression is matched against a string");
    const auto* v = std::get_if<value>(&e.operands[1].node);
    const auto* pattern = v != nullptr ? std::get_if<std::string>(v) : nullptr;
    if (pattern == nullptr) return d.add(right_at, "expected a regular expression in quotation marks");
    RE2::Options quiet;
    quiet.set_log_errors(false);
    quiet.set_max_mem(1 << 20);
    const RE2 compiled(*pattern, quiet);
    if (!compiled.ok()) d.add(right_at, "this is no regular expression: " + compiled.error());
    return;
  }
  const type left = type_of(e.operands[0]);
  const type right = type_of(e.operands[1]);
  const bool known = left != type::unknown && right != type::unknown && left != type::nil && right != type::nil;
  if (known && left != right) {
    d.add(e.at, std::string(to_string(left)) + " is never compared with " + std::string(to_string(right)));
  }
  const bool equality = o == operation::equal || o == operation::not_equal;
  for (const auto& [t, at] : {std::pair(left, left_at), std::pair(right, right_at)}) {
    if (!equality && t != type::unknown && t != type::number && t != type::string) {
      d.add(at, std::string(to_string(t)) + " is compared with = and != only");
    }
  }
}

}  // namespace telltale::hub::traceql
