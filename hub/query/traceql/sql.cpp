// From expressions to SQL. Every comparison is wrapped so that it is never NULL: `!` of it is then what it should be.
#include "sql.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "evaluate.hpp"

namespace telltale::hub::traceql {

namespace {

constexpr condition anything() {
  return {};
}

std::string_view sql_operator(operation o) {
  switch (o) {
    case operation::equal:
      return " = ";
    case operation::not_equal:
      return " <> ";
    case operation::less:
      return " < ";
    case operation::less_equal:
      return " <= ";
    case operation::greater:
      return " > ";
    default:
      return " >= ";
  }
}

operation mirrored(operation o) {
  switch (o) {
    case operation::less:
      return operation::greater;
    case operation::less_equal:
      return operation::greater_equal;
    case operation::greater:
      return operation::less;
    case operation::greater_equal:
      return operation::less_equal;
    default:
      return o;
  }
}

std::string never_null(const std::string& c) {
  return "COALESCE(" + c + ", FALSE)";
}

// The number as SQL; none where a double could not hold it, or it is none.
std::optional<std::string> number_of(const value& v) {
  constexpr std::int64_t exact_in_double = std::int64_t{1} << 53;
  if (const auto* i = std::get_if<std::int64_t>(&v)) {
    if (std::llabs(*i) > exact_in_double) return std::nullopt;
    return std::to_string(*i);
  }
  if (const auto* d = std::get_if<duration>(&v)) {
    if (std::llabs(d->ns) > exact_in_double) return std::nullopt;
    return std::to_string(d->ns);
  }
  if (const auto* d = std::get_if<double>(&v)) return text_of(*d);
  return std::nullopt;
}

// The values of attributes that equal a number: attributes keep whether they are whole.
std::vector<attribute_value> equals_of(double n) {
  std::vector<attribute_value> out{n};
  if (n == 0) out.emplace_back(-n);
  if (n == std::trunc(n) && std::abs(n) <= 0x1p53) out.emplace_back(static_cast<std::int64_t>(n));
  return out;
}

using where = dialect::from;

// `.x` looks at the span's own attributes, then at its resource's: `of` is made for one of the two. Whether a span has
// the attribute is looked up only where its resource has what is wanted.
template <class F>
std::string in_scope(const field& f, const dialect& d, F of) {
  if (f.scope == attribute_scope::span) return of(where::span);
  if (f.scope == attribute_scope::resource) return of(where::resource);
  return "(" + of(where::span) + " OR CASE WHEN " + of(where::resource) + " THEN " + d.attribute(f.key, where::span) +
         " IS NULL ELSE FALSE END)";
}

condition attribute_compare(const field& f, operation o, const value& v, const dialect& d) {
  const bool is_equal = o == operation::equal;
  if (std::holds_alternative<std::monostate>(v)) {
    if (!is_equal && o != operation::not_equal) return {"FALSE", true};
    std::string there = f.scope == attribute_scope::resource ? d.attribute(f.key, where::resource) + " IS NOT NULL"
                                                             : d.attribute(f.key, where::span) + " IS NOT NULL";
    if (f.scope == attribute_scope::any) there += " OR " + d.attribute(f.key, where::resource) + " IS NOT NULL";
    return {is_equal ? "NOT (" + there + ")" : "(" + there + ")", true};
  }
  const auto is = [&](const attribute_value& a) {
    return in_scope(f, d, [&](where w) { return d.attribute_is(f.key, w, a); });
  };
  if (const auto* s = std::get_if<std::string>(&v)) {
    if (is_equal) return {is(*s), true};
    return {in_scope(
                f, d,
                [&](where w) { return never_null(d.attribute(f.key, w) + std::string(sql_operator(o)) + d.text(*s)); }),
            false};
  }
  if (const auto* b = std::get_if<bool>(&v)) {
    if (is_equal) return {is(*b), true};
    if (o == operation::not_equal) return {is(!*b), true};
    return {"FALSE", true};
  }
  if (const auto n = number_of(v)) {
    if (is_equal) {
      return {in_scope(f, d,
                       [&](where w) {
                         std::string any;
                         for (const attribute_value& one : equals_of(std::strtod(n->c_str(), nullptr))) {
                           any += (any.empty() ? "(" : " OR ") + d.attribute_is(f.key, w, one);
                         }
                         return any + ")";
                       }),
              true};
    }
    return {
        in_scope(f, d,
                 [&](where w) { return never_null(d.attribute_number(f.key, w) + std::string(sql_operator(o)) + *n); }),
        false};
  }
  return anything();
}

condition field_compare(const field& f, operation o, const value& v, const dialect& d) {
  if (f.what == intrinsic::none) return attribute_compare(f, o, v, d);
  const bool is_nil = std::holds_alternative<std::monostate>(v);
  if (is_nil) return anything();
  const std::string how(sql_operator(o));
  switch (f.what) {
    case intrinsic::name: {
      const auto* s = std::get_if<std::string>(&v);
      return s != nullptr ? condition{"name" + how + d.text(*s), true} : anything();
    }
    case intrinsic::duration:
      if (const auto n = number_of(v)) return {"duration_ns" + how + *n, true};
      return anything();
    case intrinsic::status:
    case intrinsic::kind: {
      const auto* w = std::get_if<word>(&v);
      if (w == nullptr) return anything();
      constexpr std::string_view statuses[] = {"unset", "ok", "error"};
      constexpr std::string_view kinds[] = {"unspecified", "internal", "server", "client", "producer", "consumer"};
      const bool is_status = f.what == intrinsic::status;
      for (std::size_t i = 0; i < (is_status ? 3u : 6u); ++i) {
        if ((is_status ? statuses[i] : kinds[i]) != w->text) continue;
        return {(is_status ? "status" : "kind") + how + std::to_string(i), true};
      }
      return anything();
    }
    case intrinsic::trace_id:
    case intrinsic::span_id:
    case intrinsic::parent_id: {
      const auto* s = std::get_if<std::string>(&v);
      if (s == nullptr) return anything();
      const std::string_view column = f.what == intrinsic::trace_id  ? "trace_id"
                                      : f.what == intrinsic::span_id ? "span_id"
                                                                     : "parent_id";
      return {never_null(std::string(column) + how + d.text(*s)), false};
    }
    default:
      return anything();  // of the whole trace
  }
}

condition compare(const expression& e, const dialect& d) {
  operation o = std::get<operation>(e.node);
  const auto* f = std::get_if<field>(&e.operands[0].node);
  const auto* v = std::get_if<value>(&e.operands[1].node);
  if (f == nullptr && o != operation::match && o != operation::not_match) {
    f = std::get_if<field>(&e.operands[1].node);
    v = std::get_if<value>(&e.operands[0].node);
    o = mirrored(o);
  }
  if (f == nullptr || v == nullptr) return anything();
  if (o != operation::match && o != operation::not_match) return field_compare(*f, o, *v, d);
  const auto* pattern = std::get_if<std::string>(v);
  if (pattern == nullptr) return anything();
  const auto matched = [&](const std::string& column) {
    const std::string m = d.matches(column, *pattern);
    return never_null(o == operation::match ? m : "NOT (" + m + ")");
  };
  if (f->what == intrinsic::name) return {matched("name"), true};
  if (f->what != intrinsic::none) return anything();
  return {in_scope(*f, d, [&](where w) { return matched(d.attribute(f->key, w)); }), false};
}

}  // namespace

condition to_sql(const expression& e, const dialect& d) {
  if (const auto* v = std::get_if<value>(&e.node)) {
    const bool* b = std::get_if<bool>(v);
    return {b != nullptr && *b ? "TRUE" : "FALSE", true};
  }
  if (const auto* f = std::get_if<field>(&e.node)) return field_compare(*f, operation::equal, true, d);
  switch (std::get<operation>(e.node)) {
    case operation::and_: {
      const condition a = to_sql(e.operands[0], d);
      const condition b = to_sql(e.operands[1], d);
      return {"(" + a.sql + " AND " + b.sql + ")", a.exact && b.exact};
    }
    case operation::or_: {
      const condition a = to_sql(e.operands[0], d);
      const condition b = to_sql(e.operands[1], d);
      return {"(" + a.sql + " OR " + b.sql + ")", a.exact && b.exact};
    }
    case operation::not_: {
      // An attribute that isn't there is neither true nor false: `!.a` needs it to be there.
      const condition a = to_sql(e.operands[0], d);
      if (!a.exact || std::holds_alternative<field>(e.operands[0].node)) return anything();
      return {"NOT " + a.sql, true};
    }
    case operation::equal:
    case operation::not_equal:
    case operation::less:
    case operation::less_equal:
    case operation::greater:
    case operation::greater_equal:
    case operation::match:
    case operation::not_match:
      return compare(e, d);
    default:
      return anything();
  }
}

namespace {

std::vector<condition> conditions_of(const spanset& s, const dialect& d) {
  if (const auto* f = std::get_if<spanset::filter>(&s.node)) {
    if (f->condition.empty()) return {{"TRUE", true}};
    return {to_sql(f->condition[0], d)};
  }
  if (const auto* inner = std::get_if<std::vector<pipeline>>(&s.node)) {
    return traceql::conditions_of((*inner)[0], d);
  }
  std::vector<condition> left = conditions_of(s.operands[0], d);
  std::vector<condition> right = conditions_of(s.operands[1], d);
  if (std::get<relation>(s.node) == relation::or_) {
    return {{"(" + left[0].sql + " OR " + right[0].sql + ")", false}};
  }
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

}  // namespace

std::vector<condition> conditions_of(const pipeline& p, const dialect& d) {
  const auto* first = p.stages.empty() ? nullptr : std::get_if<spanset>(&p.stages[0]);
  if (first == nullptr) return {anything()};
  return conditions_of(*first, d);
}

bool is_counted(const expression& e) {
  if (const auto* f = std::get_if<field>(&e.node)) {
    return f->what == intrinsic::name || f->what == intrinsic::kind || f->what == intrinsic::status ||
           f->what == intrinsic::duration;
  }
  return std::all_of(e.operands.begin(), e.operands.end(), is_counted);
}

std::string column_of(const field& f, const dialect& d) {
  switch (f.what) {
    case intrinsic::none: {
      if (f.scope == attribute_scope::span) return "COALESCE(" + d.attribute(f.key, where::span) + ", 'nil')";
      if (f.scope == attribute_scope::resource) return "COALESCE(" + d.attribute(f.key, where::resource) + ", 'nil')";
      return "COALESCE(" + d.attribute(f.key, where::span) + ", " + d.attribute(f.key, where::resource) + ", 'nil')";
    }
    case intrinsic::name:
      return "name";
    case intrinsic::status:
      return "CASE status WHEN 1 THEN 'ok' WHEN 2 THEN 'error' ELSE 'unset' END";
    case intrinsic::kind:
      return "CASE kind WHEN 1 THEN 'internal' WHEN 2 THEN 'server' WHEN 3 THEN 'client' WHEN 4 THEN 'producer' "
             "WHEN 5 THEN 'consumer' ELSE 'unspecified' END";
    default:
      return {};
  }
}

}  // namespace telltale::hub::traceql
