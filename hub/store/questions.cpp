// What the store answers.
#include <algorithm>
#include <tuple>

#include "hub/store/duckdb_store.hpp"
#include "hub/store/durations_file.hpp"
#include "hub/store/records.hpp"
#include "hub/store/schema.hpp"
#include "hub/store/sql.hpp"
#include "hub/store/trace_rows.hpp"

namespace telltale::hub {

namespace {

std::string tail_of(std::string_view where, std::string_view order, std::uint64_t limit) {
  std::string out;
  if (!where.empty()) out += " WHERE " + std::string(where);
  if (!order.empty()) out += " ORDER BY " + std::string(order);
  return out + " LIMIT " + std::to_string(limit);
}

// What to do with rows that `of` reads, one by one: added to `out`, until one can't be read.
template <class Row, class F>
auto adder(std::vector<Row>& out, result<void>& good, F of) {
  return [&out, &good, of](const duck::rows& r) {
    for (std::size_t i = 0; i < r.size() && good; ++i) {
      auto row = of(r, i);
      if (row) {
        out.push_back(std::move(*row));
      } else {
        good = row.error();
      }
    }
  };
}

}  // namespace

// What to read of files that may have something about the trace; empty where none has.
std::string duckdb_store::files_with(const layout& l, file_kind k, trace_id id) const {
  std::string files;
  for (const auto& f : l.files) {
    if (f->entry().kind != k || !f->may_hold(id)) continue;
    files += (files.empty() ? "read_parquet([" : ", ") + sql_.text(f->path());
  }
  return files.empty() ? files : files + "])";
}

result<std::vector<span_row>> duckdb_store::trace(trace_id id, std::uint64_t limit) const {
  std::vector<span_row> out;
  result<void> good;
  const auto take = adder(out, good, span_of);
  const std::string where = " WHERE trace_hi = " + std::to_string(id.high) +
                            " AND trace_lo = " + std::to_string(id.low) + " LIMIT " + std::to_string(limit);
  const auto asked = with_layout([&](const layout& l) -> result<void> {
    out.clear();
    if (const std::string files = files_with(l, file_kind::spans, id); !files.empty()) {
      const auto read = duck::connection(reader_.get()).each(std::string(span_select) + files + where, take);
      if (!read) return read;
    }
    if (l.known->traces().may_hold(id)) {
      const auto read = duck::connection(db_.get()).each(
          std::string(span_select) + "(" + select_memory(file_kind::spans, l.generation) + ")" + where, take);
      if (!read) return read;
    }
    return good;
  });
  if (!asked) return asked.error();
  for (span_row& s : open_.of(id)) out.push_back(std::move(s));
  return as_trace(std::move(out), limit);
}

result<std::vector<span_row>> duckdb_store::spans(std::string_view where, std::string_view order,
                                                  std::uint64_t limit) const {
  std::vector<span_row> out;
  result<void> good;
  const auto asked = with_layout([&](const layout&) {
    out.clear();
    return duck::connection(db_.get()).each(std::string(span_select) + "spans" + tail_of(where, order, limit),
                                            adder(out, good, span_of));
  });
  if (!asked) return asked.error();
  if (!good) return good.error();
  return out;
}

result<std::vector<log_row>> duckdb_store::logs(std::string_view where, std::string_view order,
                                                std::uint64_t limit) const {
  std::vector<log_row> out;
  result<void> good;
  const auto asked = with_layout([&](const layout&) {
    out.clear();
    return duck::connection(db_.get()).each(std::string(log_select) + "logs" + tail_of(where, order, limit),
                                            adder(out, good, log_of));
  });
  if (!asked) return asked.error();
  if (!good) return good.error();
  return out;
}

result<std::vector<link_row>> duckdb_store::links_from(trace_id trace, std::optional<span_id> span) const {
  // Spans are ordered by trace, so their own links are the index forwards.
  const auto found = this->trace(trace, 2'000'000);
  if (!found) return found.error();
  return links_of(*found, span);
}

result<std::vector<link_row>> duckdb_store::links_to(trace_id trace, std::optional<span_id> span) const {
  std::string where =
      " WHERE to_trace_hi = " + std::to_string(trace.high) + " AND to_trace_lo = " + std::to_string(trace.low);
  if (span) where += " AND to_span = " + std::to_string(span->value);
  const std::string select =
      "SELECT from_trace_hi, from_trace_lo, from_span, to_trace_hi, to_trace_lo, to_span, kind, start_ns FROM ";
  std::vector<link_row> out;
  const auto take = [&](const duck::rows& r) {
    for (std::size_t i = 0; i < r.size(); ++i) {
      out.push_back({{r.get<std::uint64_t>(0, i), r.get<std::uint64_t>(1, i)},
                     {r.get<std::uint64_t>(2, i)},
                     {r.get<std::uint64_t>(3, i), r.get<std::uint64_t>(4, i)},
                     {r.get<std::uint64_t>(5, i)},
                     std::string(r.text(6, i)),
                     r.get<std::int64_t>(7, i)});
    }
  };
  const auto asked = with_layout([&](const layout& l) -> result<void> {
    out.clear();
    if (const std::string files = files_with(l, file_kind::links, trace); !files.empty()) {
      const auto read = duck::connection(reader_.get()).each(select + files + where, take);
      if (!read) return read;
    }
    if (!l.known->targets().may_hold(trace)) return {};
    return duck::connection(db_.get()).each(select + table_of(file_kind::links, l.generation) + where, take);
  });
  if (!asked) return asked.error();
  // Of a span that came twice, each once.
  const auto order = [](const link_row& l) {
    return std::tuple(l.start_ns, l.from_trace.high, l.from_trace.low, l.from_span.value, l.to_span.value,
                      std::string_view(l.kind));
  };
  std::sort(out.begin(), out.end(), [&](const link_row& a, const link_row& b) { return order(a) < order(b); });
  out.erase(
      std::unique(out.begin(), out.end(), [&](const link_row& a, const link_row& b) { return order(a) == order(b); }),
      out.end());
  return out;
}

result<std::optional<durations_by_name>> duckdb_store::durations(std::int64_t begin_ns, std::int64_t end_ns) const {
  const auto overlaps = [&](const file_entry& e) { return e.rows > 0 && e.min_ns < end_ns && e.max_ns >= begin_ns; };
  const auto is_inside = [&](const file_entry& e) { return e.min_ns >= begin_ns && e.max_ns < end_ns; };
  std::optional<durations_by_name> out;
  const auto scan = [&](const std::string& from) {
    return duck::connection(db_.get()).each(
        "SELECT name, kind, start_ns, duration_ns, status FROM " + from +
            " WHERE start_ns >= " + std::to_string(begin_ns) + " AND start_ns < " + std::to_string(end_ns),
        [&](const duck::rows& r) {
          for (std::size_t i = 0; i < r.size(); ++i) {
            out->of(r.text(0, i), r.get<std::uint8_t>(1, i))
                .add(r.get<std::int64_t>(2, i), r.get<std::int64_t>(3, i),
                     r.get<std::uint8_t>(4, i) == static_cast<std::uint8_t>(status_code::error));
          }
        });
  };
  const auto asked = with_layout([&](const layout& l) -> result<void> {
    out.reset();
    file_entry in_memory;
    {
      const std::lock_guard lock(layout_mutex_);
      in_memory = in_memory_[index(file_kind::spans)];
    }
    std::uint64_t spans = overlaps(in_memory) ? in_memory.rows : 0;
    std::vector<std::string> whole;  // files whose histograms say it all
    std::string parts;               // files of which some spans began then
    std::string thinned;
    for (const auto& f : l.files) {
      if (f->entry().kind == file_kind::thinned && overlaps(f->entry())) {
        spans += f->entry().rows;
        thinned += (thinned.empty() ? "" : ", ") + sql_.text(f->path());
      }
      if (f->entry().kind != file_kind::spans || !overlaps(f->entry())) continue;
      spans += f->entry().rows;
      if (is_inside(f->entry()) && !f->durations_path().empty()) {
        whole.push_back(f->durations_path());
      } else {
        parts += (parts.empty() ? "" : ", ") + sql_.text(f->path());
      }
    }
    if (spans <= options_.spans_counted) return {};
    out.emplace();
    if (overlaps(in_memory) && is_inside(in_memory)) {
      out->add(l.known->durations());
    } else if (overlaps(in_memory)) {
      if (const auto read = scan(table_of(file_kind::spans, l.generation)); !read) return read;
    }
    if (!parts.empty()) {
      if (const auto read = scan("read_parquet([" + parts + "])"); !read) return read;
    }
    if (!thinned.empty()) {
      if (const auto read = scan("read_parquet([" + thinned + "])"); !read) return read;
    }
    return whole.empty() ? result<void>{} : read_durations(duck::connection(reader_.get()), whole, *out);
  });
  if (!asked) return asked.error();
  return out;
}

result<table> duckdb_store::query(std::string_view sql, query_limits limits) const {
  table out;
  const auto asked = with_layout([&](const layout&) {
    out = {};
    return ask(duck::connection(db_.get()), std::string(sql), limits, out);
  });
  if (!asked) return asked.error();
  return out;
}

}  // namespace telltale::hub
