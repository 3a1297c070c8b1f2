// The reference semantics. Trees are at most as deep as the parser lets them be, so recursion over queries is bounded;
// over spans there is none.
#include "evaluate.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

namespace telltale::hub::traceql {

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

std::string hex(std::uint64_t v) {
  std::array<char, 17> text;
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(v));
  return text.data();
}

value to_value(const attribute_value& a) {
  return std::visit(
      []<class T>(const T& v) -> value {
        if constexpr (std::is_same_v<T, std::uint64_t>) {
          if (v > static_cast<std::uint64_t>(INT64_MAX)) return static_cast<double>(v);
          return static_cast<std::int64_t>(v);
        } else {
          return v;
        }
      },
      a);
}

value find(const attribute_list& list, std::string_view key) {
  for (const auto& [k, v] : list) {
    if (k == key) return to_value(v);
  }
  return {};
}

value span_attribute(const span_row& row, std::string_view key) {
  const std::string* promoted = key == "job_id"      ? &row.job_id
                                : key == "module_id" ? &row.module_id
                                : key == "task_id"   ? &row.task_id
                                : key == "phase"     ? &row.phase
                                                     : nullptr;
  if (promoted != nullptr && !promoted->empty()) return *promoted;
  return find(row.attributes, key);
}

value text_or_nil(const std::string& s) {
  return s.empty() ? value{} : value{s};
}

std::optional<double> as_number(const value& v) {
  if (const auto* i = std::get_if<std::int64_t>(&v)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&v)) return *d;
  if (const auto* d = std::get_if<duration>(&v)) return static_cast<double>(d->ns);
  return std::nullopt;
}
std::optional<std::int64_t> as_whole(const value& v) {
  if (const auto* i = std::get_if<std::int64_t>(&v)) return *i;
  if (const auto* d = std::get_if<duration>(&v)) return d->ns;
  return std::nullopt;
}
bool is_true(const value& v) {
  const bool* b = std::get_if<bool>(&v);
  return b != nullptr && *b;
}

template <class T>
bool ordered(operation o, const T& a, const T& b) {
  switch (o) {
    case operation::equal:
      return a == b;
    case operation::not_equal:
      return a != b;
    case operation::less:
      return a < b;
    case operation::less_equal:
      return a <= b;
    case operation::greater:
      return a > b;
    default:
      return a >= b;
  }
}

bool compare(operation o, const value& a, const value& b) {
  const bool nil_a = std::holds_alternative<std::monostate>(a);
  const bool nil_b = std::holds_alternative<std::monostate>(b);
  if (nil_a || nil_b) return false;
  const auto whole_a = as_whole(a);
  const auto whole_b = as_whole(b);
  if (whole_a && whole_b) return ordered(o, *whole_a, *whole_b);
  const auto number_a = as_number(a);
  const auto number_b = as_number(b);
  if (number_a && number_b) return ordered(o, *number_a, *number_b);
  const auto* text_a = std::get_if<std::string>(&a);
  const auto* text_b = std::get_if<std::string>(&b);
  if (text_a != nullptr && text_b != nullptr) return ordered(o, *text_a, *text_b);
  if (a.index() != b.index()) return false;
  if (o == operation::equal) return a == b;
  return o == operation::not_equal && !(a == b);
}

bool is_nil_literal(const expression& e) {
  const auto* v = std::get_if<value>(&e.node);
  return v != nullptr && std::holds_alternative<std::monostate>(*v);
}

double calculate(operation o, double a, double b) {
  switch (o) {
    case operation::add:
      return a + b;
    case operation::subtract:
      return a - b;
    case operation::multiply:
      return a * b;
    case operation::divide:
      return b == 0 ? no_number : a / b;
    case operation::modulo:
      return b == 0 ? no_number : std::fmod(a, b);
    default:
      return std::pow(a, b);
  }
}

word kind_word(std::uint8_t kind) {
  constexpr std::array<const char*, 6> names = {"unspecified", "internal", "server", "client", "producer", "consumer"};
  return {names[kind < names.size() ? kind : 0]};
}
word status_word(status_code s) {
  return {s == status_code::ok ? "ok" : s == status_code::error ? "error" : "unset"};
}

struct id_hash {
  std::size_t operator()(std::uint64_t v) const noexcept { return static_cast<std::size_t>(v * 0x9e3779b97f4a7c15u); }
};

}  // namespace

std::string text_of(const value& v) {
  struct printer {
    std::string operator()(std::monostate) const { return "nil"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t i) const { return std::to_string(i); }
    std::string operator()(double d) const {
      std::array<char, 32> text;
      const auto [end, _] = std::to_chars(text.data(), text.data() + text.size(), d);
      return {text.data(), end};
    }
    std::string operator()(const std::string& s) const { return s; }
    std::string operator()(const duration& d) const { return std::to_string(d.ns); }
    std::string operator()(const word& w) const { return w.text; }
  };
  return std::visit(printer{}, v);
}

trace_index::trace_index(std::span<const span_row> rows) : rows_(rows), parent_(rows.size(), none) {
  std::unordered_map<std::uint64_t, std::size_t, id_hash> by_id;
  for (std::size_t i = 0; i < rows.size(); ++i) by_id.emplace(rows[i].id.value, i);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto p = rows[i].parent ? by_id.find(rows[i].parent.value) : by_id.end();
    if (p != by_id.end() && p->second != i) parent_[i] = p->second;
    begin_ns_ = i == 0 ? rows[i].start_ns : std::min(begin_ns_, rows[i].start_ns);
    end_ns_ = i == 0 ? rows[i].end_ns() : std::max(end_ns_, rows[i].end_ns());
    const bool is_root = parent_[i] == none;
    if (is_root && (root_ == none || rows[i].start_ns < rows[root_].start_ns)) root_ = i;
  }
}

struct evaluator::regexes {
  std::unordered_map<std::string, std::unique_ptr<RE2>> compiled;
};

// What a metric needs of the spans seen so far, by step.
struct evaluator::samples {
  std::vector<std::uint64_t> count;
  std::vector<double> sum;
  std::vector<double> least;
  std::vector<double> most;
  std::vector<std::vector<double>> all;  // for quantiles
};

evaluator::evaluator(pipeline query) : query_(std::move(query)), regexes_(std::make_unique<regexes>()) {
  collect(query_);
}
evaluator::~evaluator() = default;

void evaluator::collect(const expression& e) {
  if (const auto* o = std::get_if<operation>(&e.node)) {
    if (*o == operation::match || *o == operation::not_match) {
      const auto& pattern = std::get<std::string>(std::get<value>(e.operands[1].node));
      RE2::Options quiet;
      quiet.set_log_errors(false);
      regexes_->compiled.try_emplace(pattern, std::make_unique<RE2>(pattern, quiet));
    }
  }
  for (const expression& operand : e.operands) collect(operand);
}
void evaluator::collect(const spanset& s) {
  if (const auto* f = std::get_if<spanset::filter>(&s.node)) {
    for (const expression& e : f->condition) collect(e);
  } else if (const auto* inner = std::get_if<std::vector<pipeline>>(&s.node)) {
    collect((*inner)[0]);
  }
  for (const spanset& operand : s.operands) collect(operand);
}
void evaluator::collect(const pipeline& p) {
  struct visitor {
    evaluator& self;
    void list(const std::vector<expression>& all) const {
      for (const expression& e : all) self.collect(e);
    }
    void of(const scalar& s) const {
      if (const auto* c = std::get_if<scalar::call>(&s.node)) list(c->of);
      for (const scalar& operand : s.operands) of(operand);
    }
    void operator()(const spanset& s) const { self.collect(s); }
    void operator()(const scalar_filter& f) const {
      of(f.left);
      of(f.right);
    }
    void operator()(const group_by& g) const { list(g.by); }
    void operator()(const select& s) const { list(s.what); }
    void operator()(const coalesce&) const {}
    void operator()(const metrics& m) const { list(m.by); }
  };
  for (const stage& s : p.stages) std::visit(visitor{*this}, s);
}

value evaluator::get(const field& f, const trace_index& trace, std::size_t span) const {
  const span_row& row = trace.rows()[span];
  const span_row* root = trace.root() == trace_index::none ? nullptr : &trace.rows()[trace.root()];
  switch (f.what) {
    case intrinsic::none:
      break;
    case intrinsic::name:
      return row.name;
    case intrinsic::duration:
      return duration{row.duration_ns};
    case intrinsic::kind:
      return kind_word(row.kind);
    case intrinsic::status:
      return status_word(row.status);
    case intrinsic::status_message:
      return text_or_nil(row.status_message);
    case intrinsic::span_id:
      return hex(row.id.value);
    case intrinsic::parent_id:
      return row.parent ? value{hex(row.parent.value)} : value{};
    case intrinsic::trace_id:
      return hex(row.trace.high) + hex(row.trace.low);
    case intrinsic::root_name:
      return root != nullptr ? value{root->name} : value{};
    case intrinsic::root_service:
      return root != nullptr ? text_or_nil(root->service) : value{};
    case intrinsic::trace_duration:
      return duration{trace.end_ns() - trace.begin_ns()};
  }
  if (f.scope != attribute_scope::resource) {
    value own = span_attribute(row, f.key);
    if (f.scope == attribute_scope::span || !std::holds_alternative<std::monostate>(own)) return own;
  }
  return find(row.resource, f.key);
}

value evaluator::eval(const expression& e, const trace_index& trace, std::size_t span) const {
  if (const auto* v = std::get_if<value>(&e.node)) return *v;
  if (const auto* f = std::get_if<field>(&e.node)) return get(*f, trace, span);
  return apply(e, trace, span);
}

value evaluator::apply(const expression& e, const trace_index& trace, std::size_t span) const {
  const operation o = std::get<operation>(e.node);
  const value left = eval(e.operands[0], trace, span);
  switch (o) {
    case operation::and_:
      return is_true(left) && is_true(eval(e.operands[1], trace, span));
    case operation::or_:
      return is_true(left) || is_true(eval(e.operands[1], trace, span));
    case operation::not_: {
      const bool* b = std::get_if<bool>(&left);
      return b != nullptr ? value{!*b} : value{};
    }
    case operation::negate: {
      const auto n = as_number(left);
      if (const auto whole = as_whole(left); whole && *whole != INT64_MIN) return -*whole;
      return n ? value{-*n} : value{};
    }
    case operation::match:
    case operation::not_match: {
      const auto* text = std::get_if<std::string>(&left);
      if (text == nullptr) return false;
      const auto& pattern = std::get<std::string>(std::get<value>(e.operands[1].node));
      return RE2::FullMatch(*text, *regexes_->compiled.at(pattern)) == (o == operation::match);
    }
    case operation::equal:
    case operation::not_equal:
      for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
        if (!is_nil_literal(e.operands[side])) continue;
        const value other = eval(e.operands[1 - side], trace, span);
        return std::holds_alternative<std::monostate>(other) == (o == operation::equal);
      }
      return compare(o, left, eval(e.operands[1], trace, span));
    case operation::less:
    case operation::less_equal:
    case operation::greater:
    case operation::greater_equal:
      return compare(o, left, eval(e.operands[1], trace, span));
    default:
      break;
  }
  const auto a = as_number(left);
  const auto b = as_number(eval(e.operands[1], trace, span));
  if (!a || !b) return {};
  const double r = calculate(o, *a, *b);
  return std::isnan(r) ? value{} : value{r};
}

bool evaluator::first_filter_accepts(const span_row& row) const {
  const trace_index alone(std::span(&row, 1));
  const spanset* s = query_.stages.empty() ? nullptr : std::get_if<spanset>(&query_.stages[0]);
  return s == nullptr || !spans_of(*s, alone, {0}).empty();
}

std::vector<std::size_t> evaluator::spans_of(const spanset& s, const trace_index& trace,
                                             const std::vector<std::size_t>& among) const {
  std::vector<std::size_t> out;
  if (const auto* f = std::get_if<spanset::filter>(&s.node)) {
    for (const std::size_t i : among) {
      if (f->condition.empty() || is_true(eval(f->condition[0], trace, i))) out.push_back(i);
    }
    return out;
  }
  if (const auto* inner = std::get_if<std::vector<pipeline>>(&s.node)) {
    for (const span_group& g : run_pipeline((*inner)[0], trace, {{among, {}}})) {
      out.insert(out.end(), g.spans.begin(), g.spans.end());
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }
  const relation how = std::get<relation>(s.node);
  const std::vector<std::size_t> left = spans_of(s.operands[0], trace, among);
  const std::vector<std::size_t> right = spans_of(s.operands[1], trace, among);
  if (how == relation::or_ || how == relation::and_) {
    if (how == relation::and_ && (left.empty() || right.empty())) return {};
    std::set_union(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(out));
    return out;
  }
  if (left.empty() || right.empty()) return {};
  const std::size_t n = trace.rows().size();
  std::vector<char> is_left(n, 0);
  for (const std::size_t i : left) is_left[i] = 1;
  std::vector<char> hit(n, 0);  // what stands in the relation to the left side
  switch (how) {
    case relation::child:
      for (const std::size_t i : right) hit[i] = trace.parent(i) != trace_index::none && is_left[trace.parent(i)];
      break;
    case relation::parent:
      for (const std::size_t i : left) {
        if (trace.parent(i) != trace_index::none) hit[trace.parent(i)] = 1;
      }
      break;
    case relation::ancestor:
      // Upwards from each left span, as far as nobody has been.
      for (const std::size_t i : left) {
        for (std::size_t p = trace.parent(i); p != trace_index::none && !hit[p]; p = trace.parent(p)) hit[p] = 1;
      }
      break;
    case relation::descendant: {
      // Upwards from each right span until it is known whether a left one stands above; 0 unknown, 1 no, 2 yes.
      std::vector<char> below(n, 0);
      std::vector<std::size_t> way;
      for (const std::size_t i : right) {
        way.clear();
        std::size_t at = i;
        while (below[at] == 0) {
          below[at] = 1;  // for a span that is its own ancestor
          way.push_back(at);
          const std::size_t p = trace.parent(at);
          if (p == trace_index::none) break;
          if (is_left[p]) {
            below[at] = 2;
            break;
          }
          at = p;
        }
        const char found = below[at];
        for (const std::size_t w : way) below[w] = found;
        // A left span on the way makes those below it hits, though nothing stands above itself.
        hit[i] = below[i] == 2;
      }
      break;
    }
    default: {  // siblings: another child of the same parent
      std::unordered_map<std::size_t, std::size_t> children;
      for (const std::size_t i : left) {
        if (trace.parent(i) != trace_index::none) ++children[trace.parent(i)];
      }
      for (const std::size_t i : right) {
        const auto c = trace.parent(i) == trace_index::none ? children.end() : children.find(trace.parent(i));
        hit[i] = c != children.end() && c->second > (is_left[i] ? 1u : 0u);
      }
    }
  }
  for (const std::size_t i : right) {
    if (hit[i]) out.push_back(i);
  }
  return out;
}

double evaluator::number(const scalar& s, const trace_index& trace, const span_group& g) const {
  if (const auto* v = std::get_if<value>(&s.node)) return as_number(*v).value_or(no_number);
  if (const auto* c = std::get_if<scalar::call>(&s.node)) {
    if (c->what == aggregate::count) return static_cast<double>(g.spans.size());
    double sum = 0;
    double least = no_number;
    double most = no_number;
    std::size_t n = 0;
    for (const std::size_t i : g.spans) {
      const auto x = as_number(eval(c->of[0], trace, i));
      if (!x) continue;
      sum += *x;
      least = n == 0 ? *x : std::min(least, *x);
      most = n == 0 ? *x : std::max(most, *x);
      ++n;
    }
    if (n == 0) return no_number;
    switch (c->what) {
      case aggregate::average:
        return sum / static_cast<double>(n);
      case aggregate::minimum:
        return least;
      case aggregate::maximum:
        return most;
      default:
        return sum;
    }
  }
  return calculate(std::get<operation>(s.node), number(s.operands[0], trace, g), number(s.operands[1], trace, g));
}

std::vector<span_group> evaluator::run_pipeline(const pipeline& p, const trace_index& trace,
                                                std::vector<span_group> groups) const {
  struct visitor {
    const evaluator& self;
    const trace_index& trace;
    std::vector<span_group> groups;

    void operator()(const spanset& s) {
      for (span_group& g : groups) g.spans = self.spans_of(s, trace, g.spans);
      std::erase_if(groups, [](const span_group& g) { return g.spans.empty(); });
    }
    void operator()(const scalar_filter& f) {
      std::erase_if(groups, [&](const span_group& g) {
        const double a = self.number(f.left, trace, g);
        const double b = self.number(f.right, trace, g);
        return std::isnan(a) || std::isnan(b) || !ordered(f.compare, a, b);
      });
    }
    void operator()(const group_by& by) {
      std::vector<span_group> out;
      for (const span_group& g : groups) {
        std::map<std::vector<std::string>, std::size_t> at;
        for (const std::size_t i : g.spans) {
          std::vector<value> values = g.by;
          std::vector<std::string> key;
          for (const expression& e : by.by) {
            values.push_back(self.eval(e, trace, i));
            key.push_back(std::to_string(values.back().index()) + text_of(values.back()));
          }
          const auto [place, is_new] = at.try_emplace(std::move(key), out.size());
          if (is_new) out.push_back({{}, std::move(values)});
          out[place->second].spans.push_back(i);
        }
      }
      groups = std::move(out);
    }
    void operator()(const select&) {}
    void operator()(const coalesce&) {
      span_group all;
      for (const span_group& g : groups) all.spans.insert(all.spans.end(), g.spans.begin(), g.spans.end());
      std::sort(all.spans.begin(), all.spans.end());
      groups.clear();
      if (!all.spans.empty()) groups.push_back(std::move(all));
    }
    void operator()(const metrics&) {}
  };
  visitor v{*this, trace, std::move(groups)};
  for (const stage& s : p.stages) std::visit(v, s);
  return std::move(v.groups);
}

std::vector<span_group> evaluator::run(const trace_index& trace) const {
  span_group all;
  for (std::size_t i = 0; i < trace.rows().size(); ++i) all.spans.push_back(i);
  if (all.spans.empty()) return {};
  std::vector<span_group> start;
  start.push_back(std::move(all));
  return run_pipeline(query_, trace, std::move(start));
}

bool evaluator::makes_metrics() const noexcept {
  return !query_.stages.empty() && std::holds_alternative<metrics>(query_.stages.back());
}

void evaluator::add(const trace_index& trace, const steps& over) {
  const auto& m = std::get<metrics>(query_.stages.back());
  for (const span_group& g : run(trace)) {
    for (const std::size_t i : g.spans) {
      const std::int64_t since = trace.rows()[i].start_ns - over.begin_ns;
      if (since < 0 || since / over.step_ns >= static_cast<std::int64_t>(over.count)) continue;
      const auto step = static_cast<std::size_t>(since / over.step_ns);
      const auto x = m.of.empty() ? std::optional<double>(1) : as_number(get(m.of[0], trace, i));
      if (!x) continue;
      std::vector<std::string> key;
      for (const expression& e : m.by) key.push_back(text_of(eval(e, trace, i)));
      std::unique_ptr<samples>& s = samples_[std::move(key)];
      if (s == nullptr) {
        s = std::make_unique<samples>();
        s->count.resize(over.count);
        s->sum.resize(over.count);
        s->least.resize(over.count);
        s->most.resize(over.count);
        if (m.what == metric::quantile) s->all.resize(over.count);
      }
      s->least[step] = s->count[step] == 0 ? *x : std::min(s->least[step], *x);
      s->most[step] = s->count[step] == 0 ? *x : std::max(s->most[step], *x);
      ++s->count[step];
      s->sum[step] += *x;
      if (m.what == metric::quantile) s->all[step].push_back(*x);
    }
  }
}

namespace {

// Linear between the two nearest of the sorted values.
double quantile_of(std::vector<double> values, double q) {
  if (values.empty()) return no_number;
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (values[high] - values[low]) * (at - static_cast<double>(low));
}

}  // namespace

std::vector<series> evaluator::metrics_so_far(const steps& over) const {
  const auto& m = std::get<metrics>(query_.stages.back());
  std::vector<series> out;
  for (const auto& [key, s] : samples_) {
    series one;
    for (std::size_t i = 0; i < key.size(); ++i) one.labels.emplace_back(to_string(m.by[i]), key[i]);
    if (m.what == metric::quantile) {
      for (const double q : m.quantiles) {
        series line = one;
        line.labels.emplace_back("p", text_of(value{q}));
        for (std::size_t i = 0; i < over.count; ++i) line.values.push_back(quantile_of(s->all[i], q));
        out.push_back(std::move(line));
      }
      continue;
    }
    for (std::size_t i = 0; i < over.count; ++i) {
      const auto n = static_cast<double>(s->count[i]);
      switch (m.what) {
        case metric::rate:
          one.values.push_back(n / (static_cast<double>(over.step_ns) / 1e9));
          break;
        case metric::count:
          one.values.push_back(n);
          break;
        case metric::sum:
          one.values.push_back(s->sum[i]);
          break;
        case metric::minimum:
          one.values.push_back(n == 0 ? no_number : s->least[i]);
          break;
        case metric::maximum:
          one.values.push_back(n == 0 ? no_number : s->most[i]);
          break;
        default:
          one.values.push_back(n == 0 ? no_number : s->sum[i] / n);
      }
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace telltale::hub::traceql
