#include "hub/store/durations_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "hub/store/data_file.hpp"
#include "hub/store/duckdb_dialect.hpp"

namespace telltale::hub {

namespace {

constexpr std::size_t most_names = 2'000;

std::string text_of(double d) {
  std::array<char, 40> out{};
  return {out.data(), std::to_chars(out.data(), out.data() + out.size(), d).ptr};
}

}  // namespace

result<bool> write_durations(const duck::connection& c, const std::string& path, const durations_by_name& durations) {
  if (durations.size() == 0 || durations.size() > most_names) return false;
  const duckdb_dialect sql;
  std::string rows;
  durations.each([&](const durations_by_name::key& k, const duration_histogram& h) {
    rows += (rows.empty() ? "(" : ", (") + sql.text(k.name) + ", " + std::to_string(k.kind) + ", " +
            std::to_string(h.spans) + ", " + std::to_string(h.errors) + ", " + text_of(h.total_ns) + ", " +
            std::to_string(h.max_ns) + ", " + std::to_string(h.first_ns) + ", " + std::to_string(h.last_ns) + ", '" +
            h.steps_json() + "')";
  });
  const auto written = write_parquet(
      c,
      "SELECT name::VARCHAR AS name, kind::UTINYINT AS kind, spans::UBIGINT AS spans, errors::UBIGINT AS errors, "
      "total_ns::DOUBLE AS total_ns, max_ns::BIGINT AS max_ns, first_ns::BIGINT AS first_ns, last_ns::BIGINT AS "
      "last_ns, steps FROM (VALUES " +
          rows + ") AS t(name, kind, spans, errors, total_ns, max_ns, first_ns, last_ns, steps) ORDER BY name, kind",
      path);
  if (!written) return written.error();
  return true;
}

result<void> read_durations(const duck::connection& c, const std::vector<std::string>& paths, durations_by_name& out) {
  if (paths.empty()) return {};
  const duckdb_dialect sql;
  std::string list;
  for (const std::string& p : paths) list += (list.empty() ? "" : ", ") + sql.text(p);
  bool good = true;
  const auto read = c.each(
      "SELECT name, kind, spans, errors, total_ns, max_ns, first_ns, last_ns, steps FROM read_parquet([" + list + "])",
      [&](const duck::rows& r) {
        for (std::size_t i = 0; i < r.size(); ++i) {
          duration_histogram& h = out.of(r.text(0, i), r.get<std::uint8_t>(1, i));
          h.spans += r.get<std::uint64_t>(2, i);
          h.errors += r.get<std::uint64_t>(3, i);
          h.total_ns += r.get<double>(4, i);
          h.max_ns = std::max(h.max_ns, r.get<std::int64_t>(5, i));
          h.first_ns = std::min(h.first_ns, r.get<std::int64_t>(6, i));
          h.last_ns = std::max(h.last_ns, r.get<std::int64_t>(7, i));
          good = h.add_steps(r.text(8, i)) && good;
        }
      });
  if (!read) return read;
  if (!good) return error{"a file of durations is damaged; one of " + list};
  return {};
}

}  // namespace telltale::hub
