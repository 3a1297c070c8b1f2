#include "expression_reader.hpp"

#include <array>

namespace telltale::hub::traceql {

namespace {

struct spelled {
  std::string_view text;
  operation what;
};
// Longer ones first.
constexpr std::array<spelled, 8> comparisons = {{{"=~", operation::match},
                                                 {"!~", operation::not_match},
                                                 {"!=", operation::not_equal},
                                                 {"<=", operation::less_equal},
                                                 {">=", operation::greater_equal},
                                                 {"=", operation::equal},
                                                 {"<", operation::less},
                                                 {">", operation::greater}}};

struct known_field {
  std::string_view text;
  intrinsic what;
};
constexpr std::array<known_field, 22> intrinsics = {{{"trace:rootService", intrinsic::root_service},
                                                     {"trace:rootName", intrinsic::root_name},
                                                     {"trace:duration", intrinsic::trace_duration},
                                                     {"trace:id", intrinsic::trace_id},
                                                     {"span:statusMessage", intrinsic::status_message},
                                                     {"span:parentID", intrinsic::parent_id},
                                                     {"span:duration", intrinsic::duration},
                                                     {"span:status", intrinsic::status},
                                                     {"span:name", intrinsic::name},
                                                     {"span:kind", intrinsic::kind},
                                                     {"span:id", intrinsic::span_id},
                                                     {"rootServiceName", intrinsic::root_service},
                                                     {"traceDuration", intrinsic::trace_duration},
                                                     {"statusMessage", intrinsic::status_message},
                                                     {"rootName", intrinsic::root_name},
                                                     {"duration", intrinsic::duration},
                                                     {"status", intrinsic::status},
                                                     {"kind", intrinsic::kind},
                                                     {"name", intrinsic::name},
                                                     {"event:name", intrinsic::none},
                                                     {"link:traceID", intrinsic::none},
                                                     {"link:spanID", intrinsic::none}}};

}  // namespace

expression expression_reader::read_expression(int weakest) {
  const level l(*this);
  const std::size_t left_at = at_;
  expression left = read_unary();
  for (;;) {
    const std::size_t at = at_;
    std::optional<operation> o;
    if (ahead("&&")) {
      o = operation::and_;
    } else if (ahead("||")) {
      o = operation::or_;
    } else if (const auto how = comparison()) {
      o = how;
      at_ = at;
    } else if (!ahead("//") && !ahead("/*")) {
      o = arithmetic(peek());
    }
    if (!o || strength(*o) < weakest) return left;
    skip(*o);
    const std::size_t right_at = at_;
    count_operator();
    expression whole;
    whole.node = *o;
    whole.at = static_cast<std::uint32_t>(at);
    whole.operands.push_back(std::move(left));
    whole.operands.push_back(read_expression(*o == operation::power ? strength(*o) : strength(*o) + 1));
    check(doubts_, whole, left_at, right_at);
    left = std::move(whole);
  }
}

void expression_reader::skip(operation o) {
  if (o == operation::and_ || o == operation::or_) {
    at_ += 2;
    space();
  } else if (strength(o) == 2) {
    comparison();
  } else {
    ++at_;
    space();
  }
}

expression expression_reader::read_unary() {
  const std::size_t at = at_;
  if ((peek() == '!' && !ahead("!=") && !ahead("!~")) || peek() == '-') {
    const level l(*this);
    const operation o = peek() == '-' ? operation::negate : operation::not_;
    ++at_;
    space();
    const std::size_t operand_at = at_;
    expression e;
    e.node = o;
    e.at = static_cast<std::uint32_t>(at);
    e.operands.push_back(o == operation::negate ? read_expression(strength(operation::power)) : read_unary());
    want(doubts_, e.operands[0], o == operation::negate ? type::number : type::boolean, operand_at,
         o == operation::negate ? "`-` takes a number" : "`!` takes true or false");
    return e;
  }
  return read_operand();
}

expression expression_reader::read_operand() {
  expression e;
  e.at = static_cast<std::uint32_t>(at_);
  if (accept("(")) {
    e = read_expression();
    expect(")", "or an operator");
    return e;
  }
  const char c = peek();
  if (c == '"' || c == '`') {
    e.node = value(read_string());
  } else if (is_digit(c)) {
    e.node = read_number();
  } else if (c == '.') {
    ++at_;
    e.node = field{intrinsic::none, attribute_scope::any, read_name()};
  } else if (c == '$') {
    fail(refusal::unsupported, at_, "variables are filled in by Grafana: write the value");
  } else {
    e.node = read_word();
  }
  space();
  return e;
}

std::variant<value, field, operation> expression_reader::read_word() {
  for (const auto& [scope, name] : {std::pair(attribute_scope::span, std::string_view("span")),
                                    std::pair(attribute_scope::resource, std::string_view("resource"))}) {
    if (dot_follows(name)) {
      skip_dot(name);
      return field{intrinsic::none, scope, read_name()};
    }
  }
  for (const std::string_view no : {"event", "link", "instrumentation", "parent"}) {
    if (dot_follows(no)) {
      fail(refusal::unsupported, at_,
           "`" + std::string(no) + ".` is not supported: ask for the span's own (.x), span.x or resource.x");
    }
  }
  for (const std::string_view no : {"event:timeSinceStart", "event:name", "instrumentation:name",
                                    "instrumentation:version", "link:spanID", "link:traceID", "parent"}) {
    if (keyword_ahead(no)) fail(refusal::unsupported, at_, "`" + std::string(no) + "` is not supported");
  }
  for (const known_field& f : intrinsics) {
    if (keyword_ahead(f.text)) {
      at_ += f.text.size();
      return field{f.what, attribute_scope::any, {}};
    }
  }
  if (keyword_ahead("true") || keyword_ahead("false")) {
    const bool yes = peek() == 't';
    at_ += yes ? 4 : 5;
    return value(yes);
  }
  if (keyword_ahead("nil")) {
    at_ += 3;
    return value();
  }
  for (const std::string_view w : statuses) {
    if (keyword_ahead(w)) {
      at_ += w.size();
      return value(word{std::string(w)});
    }
  }
  for (const std::string_view w : kinds) {
    if (keyword_ahead(w)) {
      at_ += w.size();
      return value(word{std::string(w)});
    }
  }
  if (is_letter(peek())) {
    const std::string w(word_ahead());
    fail("there is no field `" + w + "`: an attribute is `." + w + "`, a string is \"" + w + "\"");
  }
  fail("expected a field (name, duration, .attribute …) or a value");
}

bool expression_reader::dot_follows(std::string_view name) const {
  if (!ahead(name)) return false;
  std::size_t i = at_ + name.size();
  while (i < text_.size() && is_space(text_[i])) ++i;
  return i < text_.size() && text_[i] == '.';
}
void expression_reader::skip_dot(std::string_view name) {
  at_ += name.size();
  space();
  ++at_;
}

std::vector<expression> expression_reader::read_list(std::string_view what) {
  expect("(", "and what " + std::string(what));
  std::vector<expression> list;
  do {
    list.push_back(read_expression());
  } while (accept(","));
  expect(")", "or `,`");
  return list;
}

field expression_reader::read_field() {
  const std::size_t at = at_;
  expression e = read_operand();
  if (auto* f = std::get_if<field>(&e.node)) return std::move(*f);
  fail(refusal::syntax, at, "expected a field such as duration or .bytes");
}

std::optional<operation> expression_reader::comparison() {
  if (ahead("<<") || ahead(">>")) return std::nullopt;
  for (const spelled& s : comparisons) {
    if (accept(s.text)) return s.what;
  }
  return std::nullopt;
}

std::optional<operation> expression_reader::arithmetic(char c) {
  switch (c) {
    case '+':
      return operation::add;
    case '-':
      return operation::subtract;
    case '*':
      return operation::multiply;
    case '/':
      return operation::divide;
    case '%':
      return operation::modulo;
    case '^':
      return operation::power;
    default:
      return std::nullopt;
  }
}

}  // namespace telltale::hub::traceql
