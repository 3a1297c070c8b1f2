// Recursive descent: stages, sets of spans and numbers over them are read here, expressions by expression_reader.
#include "parse.hpp"

#include <array>
#include <charconv>
#include <optional>

#include "expression_reader.hpp"

namespace telltale::hub::traceql {

namespace {

constexpr std::size_t max_bytes = 64 * 1024;

class parser : public expression_reader {
 public:
  explicit parser(std::string_view text) : expression_reader(text) {}

  pipeline run() {
    if (text_.size() > max_bytes) fail(refusal::unsupported, 0, "a query has at most 65,536 bytes");
    space();
    if (at_ == text_.size()) fail("expected a query, for example { name = \"Prove\" }");
    pipeline p = read_pipeline();
    if (at_ != text_.size()) {
      if (keyword_ahead("with")) fail(refusal::unsupported, at_, "hints (`with (…)`) are not supported: leave it out");
      fail("expected `|` and another stage, or the end");
    }
    if (doubts_.first) throw refused(*doubts_.first);
    for (std::size_t i = 0; i + 1 < p.stages.size(); ++i) {
      if (std::holds_alternative<metrics>(p.stages[i])) {
        fail(refusal::unsupported, 0, "a stage that makes metrics (rate() and the like) must be the last");
      }
    }
    return p;
  }

 private:
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
        want(doubts_, f.condition.back(), type::boolean, at, "a condition is true or false");
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
    if (v < 0 || v > 1) doubts_.add(at, "a quantile lies between 0 and 1");
    return v;
  }

  // --- numbers over spans ------------------------------------------------------------------------------------------

  scalar_filter read_scalar_filter() {
    scalar_filter f;
    f.left = read_scalar(0);
    const std::size_t at = at_;
    const auto how = comparison();
    if (!how) fail("expected a comparison (=, !=, <, <=, >, >=)");
    if (*how == operation::match || *how == operation::not_match) {
      doubts_.add(at, "numbers are compared with =, !=, <, <=, >, >=");
    }
    f.compare = *how;
    f.right = read_scalar(0);
    return f;
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
      want(doubts_, c.of.back(), type::number, at, "it is taken of numbers and durations");
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
};

}  // namespace

parsed parse(std::string_view text) {
  try {
    return parser(text).run();
  } catch (const refused& r) {
    return {r.kind, {explain(text, r)}};
  }
}

}  // namespace telltale::hub::traceql
