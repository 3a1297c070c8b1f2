#include "hub/sampling/thin.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "hub/store/duckdb_dialect.hpp"
#include "hub/store/schema.hpp"

namespace telltale::hub {

namespace {

constexpr std::uint64_t lots = 1'000'000;

result<std::uint64_t> count_of(const duck::connection& c, const std::string& from) {
  std::uint64_t n = 0;
  const auto counted = c.each("SELECT count(*) FROM " + from,
                              [&](const duck::rows& r) { n = static_cast<std::uint64_t>(r.get<std::int64_t>(0, 0)); });
  if (!counted) return counted.error();
  return n;
}

// Why a span keeps its trace.
std::string is_worth_keeping(const sampling_settings& s) {
  const duckdb_dialect sql;
  const std::string forced = sql.attribute_number("sampling.priority", dialect::from::span);
  return "status = 2 OR state <> 0 OR n < " + std::to_string(known_from) + " OR duration_ns > p95 * " +
         std::to_string(s.slow) +
         " OR contains(attributes, '\"http.request.resend_count\":')"
         " OR (contains(attributes, '\"sampling.priority\":') AND coalesce(" +
         forced + " > 0, FALSE))";
}

// Those linked with what stays, or with what isn't here, stay as well, and so do those linked with these.
result<void> spare_linked(const duck::connection& c, std::uint64_t generation) {
  const std::string links = table_of(file_kind::links, generation);
  const std::string both = "(SELECT from_trace_hi a, from_trace_lo b, to_trace_hi c, to_trace_lo d FROM " + links +
                           " UNION ALL SELECT to_trace_hi, to_trace_lo, from_trace_hi, from_trace_lo FROM " + links +
                           ")";
  for (;;) {
    const auto before = count_of(c, "thin");
    if (!before) return before.error();
    const auto spared = c.run("DELETE FROM thin WHERE (trace_hi, trace_lo) IN (SELECT (a, b) FROM " + both +
                              " l ANTI JOIN thin t ON l.c = t.trace_hi AND l.d = t.trace_lo)");
    if (!spared) return spared;
    const auto after = count_of(c, "thin");
    if (!after) return after.error();
    if (*after == *before) return {};
  }
}

}  // namespace

result<thinned_counts> choose_thinned(const duck::connection& c, std::uint64_t generation, const sampling_settings& s,
                                      std::int64_t now_ns, const std::function<bool(trace_id)>& spare) {
  const std::string spans = table_of(file_kind::spans, generation);
  const std::string links = table_of(file_kind::links, generation);
  const auto lot = static_cast<std::uint64_t>(std::llround(std::clamp(s.keep, 0.0, 1.0) * lots));
  const std::string until = std::to_string(now_ns - s.wait_seconds * 1'000'000'000);
  const auto chosen = c.run(
      "CREATE OR REPLACE TEMP TABLE thin AS "
      "WITH names AS (SELECT name, kind, count(*) AS n, quantile_disc(duration_ns, 0.95)::DOUBLE AS p95 FROM " +
      spans +
      " GROUP BY name, kind), "
      "retried AS (SELECT from_trace_hi AS hi, from_trace_lo AS lo FROM " +
      links + " WHERE kind = 'retry-of' UNION SELECT to_trace_hi, to_trace_lo FROM " + links +
      " WHERE kind = 'retry-of'), "
      "traces AS (SELECT trace_hi, trace_lo, bool_or(" +
      is_worth_keeping(s) + ") AS worth, max(start_ns + duration_ns) AS ended FROM " + spans +
      " JOIN names USING (name, kind) GROUP BY trace_hi, trace_lo) "
      "SELECT trace_hi, trace_lo FROM traces ANTI JOIN retried ON trace_hi = hi AND trace_lo = lo "
      "WHERE NOT worth AND ended < " +
      until + " AND hash(trace_hi, trace_lo) % " + std::to_string(lots) + " >= " + std::to_string(lot));
  if (!chosen) return chosen.error();

  std::string spared;
  const auto looked = c.each("SELECT trace_hi, trace_lo FROM thin", [&](const duck::rows& r) {
    for (std::size_t i = 0; i < r.size(); ++i) {
      const trace_id id{r.get<std::uint64_t>(0, i), r.get<std::uint64_t>(1, i)};
      if (!spare(id)) continue;
      spared += (spared.empty() ? "(" : ", (") + std::to_string(id.high) + "::UBIGINT, " + std::to_string(id.low) +
                "::UBIGINT)";
    }
  });
  if (!looked) return looked.error();
  if (!spared.empty()) {
    if (const auto gone = c.run("DELETE FROM thin WHERE (trace_hi, trace_lo) IN (VALUES " + spared + ")"); !gone) {
      return gone.error();
    }
  }
  if (const auto done = spare_linked(c, generation); !done) return done.error();

  thinned_counts out;
  const auto counted = c.each("SELECT count(*), coalesce(min(start_ns), 0), coalesce(max(start_ns), 0) FROM " + spans +
                                  " SEMI JOIN thin USING (trace_hi, trace_lo)",
                              [&](const duck::rows& r) {
                                out.spans = static_cast<std::uint64_t>(r.get<std::int64_t>(0, 0));
                                out.min_ns = r.get<std::int64_t>(1, 0);
                                out.max_ns = r.get<std::int64_t>(2, 0);
                              });
  if (!counted) return counted.error();
  const auto of_links = count_of(c, links + " SEMI JOIN thin ON from_trace_hi = trace_hi AND from_trace_lo = trace_lo");
  if (!of_links) return of_links.error();
  out.links = *of_links;
  return out;
}

std::string kept_of(const std::string& select, const std::string& high, const std::string& low) {
  return "SELECT k.* FROM (" + select + ") k ANTI JOIN thin ON k." + high + " = thin.trace_hi AND k." + low +
         " = thin.trace_lo";
}

std::string thinned_of(std::uint64_t generation) {
  return "SELECT " + columns_of(file_kind::thinned) + " FROM " + table_of(file_kind::spans, generation) +
         " SEMI JOIN thin USING (trace_hi, trace_lo)";
}

}  // namespace telltale::hub
