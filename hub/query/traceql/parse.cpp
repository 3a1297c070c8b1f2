// Recursive descent over the characters: what a word means depends on where it stands (`.foo-bar` is one attribute,
// `2-1` is a subtraction), so there is no separate pass for tokens.
#include "parse.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace telltale::hub::traceql {

namespace {

constexpr std::size_t max_depth = 64;
constexpr std::size_t max_bytes = 64 * 1024;
constexpr std::size_t max_operators = 1000;  // a chain of them is as deep as it is long

struct refused {
  refusal kind;
  std::size_t at;
  std::string what;
};

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
// What ends the name of an attribute.
bool ends_name(char c) {
  return is_space(c) || std::string_view("^{}()=~!<>&|,\"").find(c) != std::string_view::npos;
}

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
constexpr std::array<std::string_view, 3> statuses = {"ok", "error", "unset"};
constexpr std::array<std::string_view, 6> kinds = {"unspecified", "internal", "server",
                                                   "client",      "producer", "consumer"};

// What an operand is, where that is known before any span is seen.
enum class type : std::uint8_t { unknown, nil, boolean, number, string, status, kind };

std::string_view to_string(type t) {
  constexpr std::array<std::string_view, 7> names = {"a value",  "nil",      "true or false", "a number",
                                                     "a string", "a status", "a kind"};
  return names[static_cast<std::size_t>(t)];
}

class parser {
 public:
  explicit parser(std::string_view text) : text_(text) {}

  pipeline run() {
    if (text_.size() > max_bytes) fail(refusal::unsupported, 0, "a query has at most 65,536 bytes");
    space();
    if (at_ == text_.size()) fail("expected a query, for example { name = \"Prove\" }");
    pipeline p = read_pipeline();
    if (at_ != text_.size()) {
      if (keyword_ahead("with")) fail(refusal::unsupported, at_, "hints (`with (…)`) are not supported: leave it out");
      fail("expected `|` and another stage, or the end");
    }
    if (doubt_) throw refused(*doubt_);
    for (std::size_t i = 0; i + 1 < p.stages.size(); ++i) {
      if (std::holds_alternative<metrics>(p.stages[i])) {
        fail(refusal::unsupported, 0, "a stage that makes metrics (rate() and the like) must be the last");
      }
    }
    return p;
  }

 private:
  // --- the way through the text ------------------------------------------------------------------------------------

  [[noreturn]] static void fail(refusal kind, std::size_t at, std::string what) {
    throw refused{kind, at, std::move(what)};
  }
  // What is TraceQL and makes no sense: told when the rest turned out to be TraceQL as well.
  void doubt(std::size_t at, std::string what) {
    if (!doubt_) doubt_ = refused{refusal::meaning, at, std::move(what)};
  }
  [[noreturn]] void fail(std::string what) const { fail(refusal::syntax, at_, std::move(what)); }

  std::string_view rest() const { return text_.substr(at_); }
  bool ahead(std::string_view s) const { return rest().starts_with(s); }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void space() {
    for (;;) {
      if (at_ < text_.size() && is_space(text_[at_])) {
        ++at_;
      } else if (ahead("//")) {
        const std::size_t end = text_.find('\n', at_);
        at_ = end == std::string_view::npos ? text_.size() : end;
      } else if (ahead("/*")) {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) fail("a comment that begins with /* must end with */");
        at_ = end + 2;
      } else {
        return;
      }
    }
  }
  bool accept(std::string_view s) {
    if (!ahead(s)) return false;
    at_ += s.size();
    space();
    return true;
  }
  void expect(std::string_view s, std::string_view why) {
    if (!accept(s)) fail("expected `" + std::string(s) + "` " + std::string(why));
  }
  // A word that doesn't go on.
  bool keyword_ahead(std::string_view word) const {
    if (!ahead(word)) return false;
    const char next = at_ + word.size() < text_.size() ? text_[at_ + word.size()] : '\0';
    return !is_letter(next) && !is_digit(next);
  }
  bool accept_keyword(std::string_view word) { return keyword_ahead(word) && accept(word); }

  // One level of nesting; the parser is recursive, so there is a limit.
  class level {
   public:
    explicit level(parser& p) : p_(p) {
      if (++p_.depth_ > max_depth) fail(refusal::unsupported, p_.at_, "nested more than 64 levels deep");
    }
    ~level() { --p_.depth_; }
    level(const level&) = delete;
    level& operator=(const level&) = delete;

   private:
    parser& p_;
  };

  void count_operator() {
    if (++operators_ > max_operators) fail(refusal::unsupported, at_, "more than 1,000 operators in one query");
  }

  // --- pipelines ---------------------------------------------------------------------------------------------------

  pipeline read_pipeline() {
    const level l(*this);
    pipeline p;
    do {
      count_operator();
      p.stages.push_back(read_stage());
      for (const std::string_view joins : {"&&", "||", ">", "<", "~"}) {
        if (ahead(joins)) fail(refusal::unsupported, at_, "only { … } and pipelines in parentheses can be joined");
      }
    } while (pipe());
    return p;
  }
  bool pipe() { return !ahead("||") && accept("|"); }

  stage read_stage() {
    if (starts_spanset()) return read_spansets();
    if (keyword_ahead("by")) {
      accept("by");
      return group_by{read_list("to group by")};
    }
    if (keyword_ahead("select")) {
      accept("select");
      return select{read_list("to select")};
    }
    if (keyword_ahead("coalesce")) {
      accept("coalesce");
      expect("()", "after coalesce");
      return coalesce{};
    }
    if (auto m = read_metrics()) return std::move(*m);
    return read_scalar_filter();
  }

  // Whether a parenthesis holds spans rather than numbers: it has braces, a pipe or a comparison in it that don't
  // belong to an aggregate.
  bool starts_spanset() const {
    if (peek() == '{') return true;
    if (peek() != '(') return false;
    std::size_t depth = 0;
    for (std::size_t i = at_; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '(') {
        // What stands before tells a call, whose parentheses hold no spans.
        std::size_t before = i;
        while (before > at_ && is_space(text_[before - 1])) --before;
        if (before > at_ && is_letter(text_[before - 1])) {
          std::size_t calls = 0;
          do {
            if (text_[i] == '(') ++calls;
            if (text_[i] == ')') --calls;
            if (calls == 0) break;
          } while (++i < text_.size());
          if (i == text_.size()) return false;
          continue;
        }
        ++depth;
      } else if (c == ')') {
        if (--depth == 0) return false;
      } else if (c == '{' || c == '|' || c == '=' || c == '<' || c == '>' || c == '!') {
        return true;
      } else if (text_.substr(i).starts_with("by") || text_.substr(i).starts_with("select") ||
                 text_.substr(i).starts_with("coalesce")) {
        return true;
      }
    }
    return false;
  }

  spanset read_spansets() {
    const level l(*this);
    spanset left = read_related();
    for (;;) {
      relation how{};
      if (accept("&&")) {
        how = relation::and_;
      } else if (accept("||")) {
        how = relation::or_;
      } else {
        return left;
      }
      left = join(how, std::move(left), read_related());
    }
  }

  spanset read_related() {
    spanset left = read_one_spanset();
    for (;;) {
      for (const std::string_view no : {"!>>", "!<<", "!>", "!<", "!~", "&>>", "&<<", "&>", "&<", "&~"}) {
        if (ahead(no)) {
          fail(refusal::unsupported, at_, "`" + std::string(no) + "` is not supported: use >>, >, <<, < or ~");
        }
      }
      relation how{};
      if (accept(">>")) {
        how = relation::descendant;
      } else if (accept("<<")) {
        how = relation::ancestor;
      } else if (accept(">")) {
        how = relation::child;
      } else if (accept("<")) {
        how = relation::parent;
      } else if (accept("~")) {
        how = relation::sibling;
      } else {
        return left;
      }
      left = join(how, std::move(left), read_one_spanset());
    }
  }

  spanset join(relation how, spanset left, spanset right) {
    count_operator();
    spanset s;
    s.node = how;
    s.operands.push_back(std::move(left));
    s.operands.push_back(std::move(right));
    return s;
  }

  spanset read_one_spanset() {
    spanset s;
    if (accept("{")) {
      spanset::filter f;
      if (!accept("}")) {
        const std::size_t at = at_;
        f.condition.push_back(read_expression());
        want(f.condition.back(), type::boolean, at, "a condition is true or false");
        expect("}", "or an operator");
      }
      s.node = std::move(f);
      return s;
    }
    if (accept("(")) {
      pipeline p = read_pipeline();
      expect(")", "to close the parenthesis");
      if (p.stages.size() == 1 && std::holds_alternative<spanset>(p.stages[0])) {
        return std::get<spanset>(std::move(p.stages[0]));
      }
      for (const stage& inner : p.stages) {
        if (std::holds_alternative<metrics>(inner)) {
          fail(refusal::unsupported, at_, "rate() and the like stand at the end, outside of parentheses");
        }
      }
      s.node = std::vector<pipeline>{};
      std::get<std::vector<pipeline>>(s.node).push_back(std::move(p));
      return s;
    }
    if (const std::size_t at = at_; at_ < text_.size() && (is_letter(peek()) || is_digit(peek()) || peek() == '-')) {
      (void)read_stage();  // TraceQL's grammar has it, so it is no error of syntax
      fail(refusal::unsupported, at, "only { … } and pipelines in parentheses can be joined here");
    }
    fail("expected `{` or `(`");
  }

  std::vector<expression> read_list(std::string_view what) {
    expect("(", "and what " + std::string(what));
    std::vector<expression> list;
    do {
      list.push_back(read_expression());
    } while (accept(","));
    expect(")", "or `,`");
    return list;
  }

  // --- metrics -----------------------------------------------------------------------------------------------------

  std::optional<metrics> read_metrics() {
    struct known {
      std::string_view text;
      metric what;
    };
    constexpr std::array<known, 7> all = {{{"rate", metric::rate},
                                           {"count_over_time", metric::count},
                                           {"min_over_time", metric::minimum},
                                           {"max_over_time", metric::maximum},
                                           {"avg_over_time", metric::average},
                                           {"sum_over_time", metric::sum},
                                           {"quantile_over_time", metric::quantile}}};
    for (const std::string_view no : {"histogram_over_time", "compare", "topk", "bottomk"}) {
      if (keyword_ahead(no)) {
        fail(refusal::unsupported, at_, "`" + std::string(no) + "` is not supported: see docs/hub.md for what is");
      }
    }
    for (const known& k : all) {
      if (!keyword_ahead(k.text)) continue;
      accept(k.text);
      metrics m;
      m.what = k.what;
      if (k.what == metric::rate || k.what == metric::count) {
        expect("()", "after " + std::string(k.text));
      } else {
        expect("(", "and a field");
        m.of.push_back(read_field());
        while (k.what == metric::quantile && accept(",")) m.quantiles.push_back(read_quantile());
        if (k.what == metric::quantile && m.quantiles.empty()) fail("expected `,` and a quantile such as .99 or 0.99");
        expect(")", "");
      }
      if (keyword_ahead("by")) {
        accept("by");
        m.by = read_list("to group by");
      }
      return m;
    }
    return std::nullopt;
  }

  double read_quantile() {
    const std::size_t at = at_;
    double v = 0;
    const auto [end, failed] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), v, std::chars_format::fixed);
    if (failed != std::errc{} || (!is_digit(peek()) && peek() != '.')) fail("expected a quantile such as 0.99");
    at_ = static_cast<std::size_t>(end - text_.data());
    space();
    if (v < 0 || v > 1) doubt(at, "a quantile lies between 0 and 1");
    return v;
  }

  field read_field() {
    const std::size_t at = at_;
    expression e = read_operand();
    if (auto* f = std::get_if<field>(&e.node)) return std::move(*f);
    fail(refusal::syntax, at, "expected a field such as duration or .bytes");
  }

  // --- numbers over spans ------------------------------------------------------------------------------------------

  scalar_filter read_scalar_filter() {
    scalar_filter f;
    f.left = read_scalar(0);
    const std::size_t at = at_;
    const auto how = comparison();
    if (!how) fail("expected a comparison (=, !=, <, <=, >, >=)");
    if (*how == operation::match || *how == operation::not_match) {
      doubt(at, "numbers are compared with =, !=, <, <=, >, >=");
    }
    f.compare = *how;
    f.right = read_scalar(0);
    return f;
  }

  std::optional<operation> comparison() {
    if (ahead("<<") || ahead(">>")) return std::nullopt;
    for (const spelled& s : comparisons) {
      if (accept(s.text)) return s.what;
    }
    return std::nullopt;
  }

  static std::optional<operation> arithmetic(char c) {
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
  // + - below * / % below ^, which alone is read from right to left.
  static int strength(operation o) {
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

  scalar read_scalar(int weakest) {
    const level l(*this);
    scalar left = read_scalar_operand();
    for (;;) {
      const auto o = arithmetic(peek());
      if (!o || strength(*o) < weakest) return left;
      ++at_;
      space();
      count_operator();
      scalar whole;
      whole.node = *o;
      whole.operands.push_back(std::move(left));
      whole.operands.push_back(read_scalar(*o == operation::power ? strength(*o) : strength(*o) + 1));
      left = std::move(whole);
    }
  }

  scalar read_scalar_operand() {
    struct known {
      std::string_view text;
      aggregate what;
    };
    constexpr std::array<known, 4> all = {{{"avg", aggregate::average},
                                           {"min", aggregate::minimum},
                                           {"max", aggregate::maximum},
                                           {"sum", aggregate::sum}}};
    scalar s;
    if (accept("(")) {
      s = read_scalar(0);
      expect(")", "to close the parenthesis");
      return s;
    }
    if (keyword_ahead("count")) {
      if (!ahead("count()")) fail("expected `count()`");
      accept("count()");
      s.node = scalar::call{};
      return s;
    }
    for (const known& k : all) {
      if (!keyword_ahead(k.text)) continue;
      accept(k.text);
      expect("(", "and what to take it of");
      const std::size_t at = at_;
      scalar::call c{k.what, {}};
      c.of.push_back(read_expression());
      want(c.of.back(), type::number, at, "it is taken of numbers and durations");
      expect(")", "to close the parenthesis");
      s.node = std::move(c);
      return s;
    }
    const bool negative = accept("-");
    if (!is_digit(peek())) {
      if (negative) fail("expected a number after `-`");
      fail("expected a stage: { … }, count() or avg, min, max, sum (…) with a comparison, by (…), rate() …");
    }
    value v = read_number();
    if (negative) {
      if (auto* i = std::get_if<std::int64_t>(&v)) *i = -*i;
      if (auto* d = std::get_if<double>(&v)) *d = -*d;
      if (auto* d = std::get_if<duration>(&v)) d->ns = -d->ns;
    }
    s.node = std::move(v);
    return s;
  }

  // --- expressions -------------------------------------------------------------------------------------------------

  expression read_expression(int weakest = 0) {
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
      check(whole, left_at, right_at);
      left = std::move(whole);
    }
  }

  void skip(operation o) {
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

  expression read_unary() {
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
      want(e.operands[0], o == operation::negate ? type::number : type::boolean, operand_at,
           o == operation::negate ? "`-` takes a number" : "`!` takes true or false");
      return e;
    }
    return read_operand();
  }

  expression read_operand() {
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

  std::variant<value, field, operation> read_word() {
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
      std::size_t end = at_;
      while (end < text_.size() && !ends_name(text_[end])) ++end;
      const std::string w(text_.substr(at_, end - at_));
      fail("there is no field `" + w + "`: an attribute is `." + w + "`, a string is \"" + w + "\"");
    }
    fail("expected a field (name, duration, .attribute …) or a value");
  }

  bool dot_follows(std::string_view name) const {
    if (!ahead(name)) return false;
    std::size_t i = at_ + name.size();
    while (i < text_.size() && is_space(text_[i])) ++i;
    return i < text_.size() && text_[i] == '.';
  }
  void skip_dot(std::string_view name) {
    at_ += name.size();
    space();
    ++at_;
  }

  // A name of an attribute: up to a space or an operator; parts in quotes may hold anything.
  std::string read_name() {
    space();
    std::string name;
    const std::size_t at = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        name += read_quoted();
      } else if (ends_name(c)) {
        break;
      } else {
        name += c;
        ++at_;
      }
    }
    const char first = at < text_.size() ? text_[at] : '\0';
    const bool starts_well =
        is_letter(first) || std::string_view("@#$%*+,-?:;'`\"").find(first) != std::string_view::npos;
    if (at_ == at || !starts_well || first == ',') {
      fail(refusal::syntax, at, "expected the name of an attribute after `.`");
    }
    return name;
  }

  std::string read_quoted() {
    const std::size_t at = at_;
    std::string s;
    for (++at_; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == '"') {
        ++at_;
        return s;
      }
      if (c == '\\') {
        c = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
        if (c != '"' && c != '\\') fail("after `\\` stands `\\` or a quotation mark; or put the string into `…`");
        ++at_;
      }
      s += c;
    }
    fail(refusal::syntax, at, "a string that begins with a quotation mark must end with one");
  }

  std::string read_string() {
    if (peek() == '"') return read_quoted();
    const std::size_t end = text_.find('`', at_ + 1);
    if (end == std::string_view::npos) fail("a string that begins with ` must end with one");
    std::string s(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return s;
  }

  value read_number() {
    const std::size_t at = at_;
    std::size_t end = at_;
    const auto digits = [&] {
      while (end < text_.size() && is_digit(text_[end])) ++end;
    };
    digits();
    bool real = false;
    if (end + 1 < text_.size() && text_[end] == '.' && is_digit(text_[end + 1])) {
      real = true;
      ++end;
      digits();
    }
    const std::string_view number = text_.substr(at, end - at);
    at_ = end;
    struct unit {
      std::string_view text;
      std::int64_t ns;
    };
    constexpr std::array<unit, 7> units = {{{"ns", 1},
                                            {"us", 1'000},
                                            {"µs", 1'000},
                                            {"ms", 1'000'000},
                                            {"s", 1'000'000'000},
                                            {"m", 60'000'000'000},
                                            {"h", 3'600'000'000'000}}};
    double approximate = 0;
    std::from_chars(number.data(), number.data() + number.size(), approximate);
    for (const unit& u : units) {
      if (!ahead(u.text)) continue;
      at_ += u.text.size();
      space();
      const double ns = approximate * static_cast<double>(u.ns);
      if (!(ns < 9.2e18)) {
        doubt(at, "a duration is at most 292 years");
        return duration{};
      }
      std::int64_t whole = 0;
      if (!real) {
        std::from_chars(number.data(), number.data() + number.size(), whole);
        return duration{whole * u.ns};
      }
      return duration{std::llround(ns)};
    }
    space();
    if (real) return approximate;
    std::int64_t v = 0;
    const auto [_, failed] = std::from_chars(number.data(), number.data() + number.size(), v);
    if (failed != std::errc{}) doubt(at, "a whole number is at most 9,223,372,036,854,775,807");
    return v;
  }

  // --- meaning -----------------------------------------------------------------------------------------------------

  static type type_of(const expression& e) {
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

  void want(const expression& e, type t, std::size_t at, std::string_view why) {
    const type is = type_of(e);
    if (is != t && is != type::unknown) {
      doubt(at, std::string(why) + ", and this is " + std::string(to_string(is)));
    }
  }

  void check(const expression& e, std::size_t left_at, std::size_t right_at) {
    const operation o = std::get<operation>(e.node);
    const int s = strength(o);
    if (s == 1) {
      want(e.operands[0], type::boolean, left_at, "&& and || join conditions");
      want(e.operands[1], type::boolean, right_at, "&& and || join conditions");
      return;
    }
    if (s >= 3) {
      want(e.operands[0], type::number, left_at, "arithmetic is for numbers");
      want(e.operands[1], type::number, right_at, "arithmetic is for numbers");
      return;
    }
    if (o == operation::match || o == operation::not_match) {
      want(e.operands[0], type::string, left_at, "a regular expression is matched against a string");
      const auto* v = std::get_if<value>(&e.operands[1].node);
      const auto* pattern = v != nullptr ? std::get_if<std::string>(v) : nullptr;
      if (pattern == nullptr) return doubt(right_at, "expected a regular expression in quotation marks");
      RE2::Options quiet;
      quiet.set_log_errors(false);
      quiet.set_max_mem(1 << 20);
      const RE2 compiled(*pattern, quiet);
      if (!compiled.ok()) doubt(right_at, "this is no regular expression: " + compiled.error());
      return;
    }
    const type left = type_of(e.operands[0]);
    const type right = type_of(e.operands[1]);
    const bool known = left != type::unknown && right != type::unknown && left != type::nil && right != type::nil;
    if (known && left != right) {
      doubt(e.at, std::string(to_string(left)) + " is never compared with " + std::string(to_string(right)));
    }
    const bool equality = o == operation::equal || o == operation::not_equal;
    for (const auto& [t, at] : {std::pair(left, left_at), std::pair(right, right_at)}) {
      if (!equality && t != type::unknown && t != type::number && t != type::string) {
        doubt(at, std::string(to_string(t)) + " is compared with = and != only");
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::size_t operators_ = 0;
  std::optional<refused> doubt_;
};

// The message, and the line of the query with a mark below the place.
std::string explain(std::string_view text, const refused& r) {
  const std::size_t at = std::min(r.at, text.size());
  std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  std::size_t end = std::min(text.find('\n', at), text.size());
  const auto starts_character = [&](std::size_t i) {
    return i >= text.size() || (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
  };
  const auto columns = [&](std::size_t from, std::size_t to) {
    std::size_t n = 0;
    for (std::size_t i = from; i < to; ++i) n += starts_character(i) ? 1u : 0u;
    return n;
  };
  const std::size_t column = columns(begin, at) + 1;
  // A long line is shown around the place only.
  if (at - begin > 60) begin = at - 60;
  while (!starts_character(begin)) ++begin;
  if (end - at > 40) end = at + 40;
  while (!starts_character(end)) ++end;
  std::string shown(text.substr(begin, end - begin));
  std::replace_if(shown.begin(), shown.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  std::string out = r.kind == refusal::syntax        ? "the query is no TraceQL at "
                    : r.kind == refusal::unsupported ? "the query can't be answered here because of what stands at "
                                                     : "the query makes no sense at ";
  if (line > 1) out += "line " + std::to_string(line) + ", ";
  out += "column " + std::to_string(column) + ": " + r.what + "\n  " + shown + "\n  ";
  out.append(columns(begin, at), ' ');
  return out + "^";
}

}  // namespace

parsed parse(std::string_view text) {
  try {
    return parser(text).run();
  } catch (const refused& r) {
    return {r.kind, {explain(text, r)}};
  }
}

}  // namespace telltale::hub::traceql
