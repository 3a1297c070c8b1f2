// The embedded store: a journal, tables in memory, Parquet files. DuckDB is the engine of all three but the journal.
//
//   append ─ journal (durable, acknowledged) ─ queue ─ tables in memory ─ files, ordered by trace
//
// The tables in memory are what the journal holds: when they are full, the journal begins a new segment, they become
// files, the manifest names these, and the old segments go. Nothing is ever written twice but that, and no file grows
// or has to shrink. Who asks sees views over the tables and the files.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "hub/otlp/decode.hpp"
#include "hub/otlp/text.hpp"
#include "hub/store/duck.hpp"
#include "hub/store/duckdb_dialect.hpp"
#include "hub/store/journal.hpp"
#include "hub/store/manifest.hpp"
#include "hub/store/store.hpp"

namespace telltale::hub {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;

namespace {

struct column {
  std::string_view name;
  std::string_view sql;
  duckdb_type type;
};
#define TELLTALE_U64(name) {name, "UBIGINT", DUCKDB_TYPE_UBIGINT}
#define TELLTALE_I64(name) {name, "BIGINT", DUCKDB_TYPE_BIGINT}
#define TELLTALE_U8(name) {name, "UTINYINT", DUCKDB_TYPE_UTINYINT}
#define TELLTALE_TEXT(name) {name, "VARCHAR", DUCKDB_TYPE_VARCHAR}

// What stands in memory and in files; the resource is a number in memory and its text in files.
constexpr column span_columns[] = {TELLTALE_U64("trace_hi"),    TELLTALE_U64("trace_lo"),
                                   TELLTALE_U64("span"),        TELLTALE_U64("parent"),
                                   TELLTALE_TEXT("name"),       TELLTALE_TEXT("service"),
                                   TELLTALE_TEXT("scope"),      TELLTALE_TEXT("node"),
                                   TELLTALE_U8("kind"),         TELLTALE_U8("status"),
                                   TELLTALE_U8("state"),        TELLTALE_TEXT("status_message"),
                                   TELLTALE_I64("start_ns"),    TELLTALE_I64("duration_ns"),
                                   TELLTALE_TEXT("job_id"),     TELLTALE_TEXT("module_id"),
                                   TELLTALE_TEXT("task_id"),    TELLTALE_TEXT("phase"),
                                   TELLTALE_TEXT("attributes"), TELLTALE_TEXT("events"),
                                   TELLTALE_TEXT("links"),      {"resource", "UINTEGER", DUCKDB_TYPE_UINTEGER}};
constexpr column log_columns[] = {TELLTALE_I64("time_ns"),     TELLTALE_U64("trace_hi"),
                                  TELLTALE_U64("trace_lo"),    TELLTALE_U64("span"),
                                  TELLTALE_U8("severity"),     TELLTALE_TEXT("severity_text"),
                                  TELLTALE_TEXT("service"),    TELLTALE_TEXT("scope"),
                                  TELLTALE_TEXT("node"),       TELLTALE_TEXT("event_name"),
                                  TELLTALE_TEXT("body"),       TELLTALE_TEXT("job_id"),
                                  TELLTALE_TEXT("attributes"), {"resource", "UINTEGER", DUCKDB_TYPE_UINTEGER}};
constexpr column metric_columns[] = {TELLTALE_I64("time_ns"),
                                     TELLTALE_TEXT("name"),
                                     TELLTALE_TEXT("unit"),
                                     TELLTALE_TEXT("type"),
                                     TELLTALE_TEXT("service"),
                                     TELLTALE_TEXT("node"),
                                     {"value", "DOUBLE", DUCKDB_TYPE_DOUBLE},
                                     TELLTALE_U64("count"),
                                     TELLTALE_TEXT("buckets"),
                                     TELLTALE_TEXT("attributes")};
constexpr column link_columns[] = {TELLTALE_U64("from_trace_hi"), TELLTALE_U64("from_trace_lo"),
                                   TELLTALE_U64("from_span"),     TELLTALE_U64("to_trace_hi"),
                                   TELLTALE_U64("to_trace_lo"),   TELLTALE_U64("to_span"),
                                   TELLTALE_TEXT("kind"),         TELLTALE_I64("start_ns")};
#undef TELLTALE_U64
#undef TELLTALE_I64
#undef TELLTALE_U8
#undef TELLTALE_TEXT

struct relation {
  std::span<const column> columns;
  std::string_view order;  // of its files
  std::string_view time;
};
constexpr relation relations[file_kinds] = {{span_columns, "trace_hi, trace_lo, start_ns", "start_ns"},
                                            {log_columns, "time_ns", "time_ns"},
                                            {metric_columns, "name, time_ns", "time_ns"},
                                            {link_columns, "to_trace_hi, to_trace_lo, to_span", "start_ns"}};
constexpr file_kind kinds[file_kinds] = {file_kind::spans, file_kind::logs, file_kind::metrics, file_kind::links};

std::size_t index(file_kind k) noexcept {
  return static_cast<std::size_t>(k);
}

std::string table_of(file_kind k, std::uint64_t generation) {
  return "mem_" + std::string(name_of(k)) + "_" + std::to_string(generation);
}

// A relation in memory with its resource as text; its columns are those of a file.
std::string select_memory(file_kind k, std::uint64_t generation) {
  std::string columns;
  bool has_resource = false;
  for (const column& c : relations[index(k)].columns) {
    if (!columns.empty()) columns += ", ";
    if (c.name == "resource") {
      has_resource = true;
      columns += "coalesce(r.json, '{}') AS resource";
    } else {
      columns += "m.\"" + std::string(c.name) + "\"";
    }
  }
  std::string sql = "SELECT " + columns + " FROM " + table_of(k, generation) + " m";
  if (has_resource) sql += " LEFT JOIN mem_resources_" + std::to_string(generation) + " r ON m.resource = r.id";
  return sql;
}

// The fingerprints of a file's traces, sorted: whether a trace may be in it.
std::uint32_t fingerprint(trace_id id) noexcept {
  return static_cast<std::uint32_t>((id.high ^ id.low) >> 32);
}

// A file that is asked. The last who uses it removes it, when it is no longer wanted.
struct data_file {
  file_entry entry;
  std::string path;
  std::vector<std::uint32_t> traces;  // of spans
  std::atomic<bool> unwanted{false};

  ~data_file() {
    if (unwanted) ::unlink(path.c_str());
  }
};

// What is asked: replaced as a whole.
struct layout {
  std::vector<std::shared_ptr<data_file>> files;
  std::vector<std::uint64_t> generations;  // of tables in memory, oldest first
};

struct trace_and_span {
  trace_id trace;
  span_id span;
  bool operator==(const trace_and_span&) const = default;
};
struct hash_of_span {
  std::size_t operator()(const trace_and_span& k) const noexcept {
    return k.trace.low ^ (k.span.value * 0x9e3779b97f4a7c15u);
  }
};

constexpr std::string_view span_select =
    "SELECT trace_hi, trace_lo, span, parent, name, service, scope, node, kind, status, state, status_message, "
    "start_ns, "
    "duration_ns, job_id, module_id, task_id, phase, attributes, events, links, resource FROM ";

result<span_row> span_of(const duck::rows& r, std::size_t i) {
  span_row s;
  s.trace = {r.get<std::uint64_t>(0, i), r.get<std::uint64_t>(1, i)};
  s.id = {r.get<std::uint64_t>(2, i)};
  s.parent = {r.get<std::uint64_t>(3, i)};
  s.name = r.text(4, i);
  s.service = r.text(5, i);
  s.scope = r.text(6, i);
  s.node = r.text(7, i);
  s.kind = r.get<std::uint8_t>(8, i);
  s.status = static_cast<status_code>(r.get<std::uint8_t>(9, i));
  s.state = static_cast<span_state>(r.get<std::uint8_t>(10, i));
  s.status_message = r.text(11, i);
  s.start_ns = r.get<std::int64_t>(12, i);
  s.duration_ns = r.get<std::int64_t>(13, i);
  s.job_id = r.text(14, i);
  s.module_id = r.text(15, i);
  s.task_id = r.text(16, i);
  s.phase = r.text(17, i);
  auto attributes = parse_attributes(r.text(18, i));
  if (!attributes) return attributes.error();
  auto events = parse_events(r.text(19, i));
  if (!events) return events.error();
  auto links = parse_links(r.text(20, i));
  if (!links) return links.error();
  auto resource = parse_attributes(r.text(21, i));
  if (!resource) return resource.error();
  s.attributes = std::move(*attributes);
  s.events = std::move(*events);
  s.links = std::move(*links);
  s.resource = std::move(*resource);
  return s;
}

result<span_row> row_of(const span_record& s, const batch& b) {
  span_row out;
  out.trace = s.trace;
  out.id = s.id;
  out.parent = s.parent;
  out.name = s.name;
  const resource_record& r = b.resources[s.resource];
  out.service = r.service;
  out.node = r.node;
  out.scope = b.scopes[s.scope];
  out.kind = s.kind;
  out.status = static_cast<status_code>(s.status);
  out.status_message = s.status_message;
  out.state = s.state;
  out.start_ns = s.start_ns;
  out.duration_ns = s.duration_ns;
  out.job_id = s.job_id;
  out.module_id = s.module_id;
  out.task_id = s.task_id;
  out.phase = s.phase;
  auto attributes = parse_attributes(s.attributes);
  if (!attributes) return attributes.error();
  out.attributes = std::move(*attributes);
  auto resource = parse_attributes(r.json);
  if (!resource) return resource.error();
  out.resource = std::move(*resource);
  auto events = parse_events(s.events);
  if (!events) return events.error();
  out.events = std::move(*events);
  auto links = parse_links(s.links);
  if (!links) return links.error();
  out.links = std::move(*links);
  return out;
}

cell cell_of(const duck::rows& r, duckdb_type type, std::size_t c, std::size_t i) {
  if (r.is_null(c, i)) return std::monostate{};
  switch (type) {
    case DUCKDB_TYPE_BOOLEAN:
      return r.get<bool>(c, i);
    case DUCKDB_TYPE_TINYINT:
      return std::int64_t{r.get<std::int8_t>(c, i)};
    case DUCKDB_TYPE_SMALLINT:
      return std::int64_t{r.get<std::int16_t>(c, i)};
    case DUCKDB_TYPE_INTEGER:
      return std::int64_t{r.get<std::int32_t>(c, i)};
    case DUCKDB_TYPE_BIGINT:
      return r.get<std::int64_t>(c, i);
    case DUCKDB_TYPE_UTINYINT:
      return std::int64_t{r.get<std::uint8_t>(c, i)};
    case DUCKDB_TYPE_USMALLINT:
      return std::int64_t{r.get<std::uint16_t>(c, i)};
    case DUCKDB_TYPE_UINTEGER:
      return std::int64_t{r.get<std::uint32_t>(c, i)};
    case DUCKDB_TYPE_UBIGINT: {
      const auto v = r.get<std::uint64_t>(c, i);
      if (v > INT64_MAX) return std::to_string(v);
      return static_cast<std::int64_t>(v);
    }
    case DUCKDB_TYPE_FLOAT:
      return static_cast<double>(r.get<float>(c, i));
    case DUCKDB_TYPE_DOUBLE:
      return r.get<double>(c, i);
    default:
      return std::string(r.text(c, i));
  }
}

bool is_simple(duckdb_type t) noexcept {
  switch (t) {
    case DUCKDB_TYPE_BOOLEAN:
    case DUCKDB_TYPE_TINYINT:
    case DUCKDB_TYPE_SMALLINT:
    case DUCKDB_TYPE_INTEGER:
    case DUCKDB_TYPE_BIGINT:
    case DUCKDB_TYPE_UTINYINT:
    case DUCKDB_TYPE_USMALLINT:
    case DUCKDB_TYPE_UINTEGER:
    case DUCKDB_TYPE_UBIGINT:
    case DUCKDB_TYPE_FLOAT:
    case DUCKDB_TYPE_DOUBLE:
    case DUCKDB_TYPE_VARCHAR:
      return true;
    default:
      return false;
  }
}

class duckdb_store final : public store {
 public:
  explicit duckdb_store(store_options o) : options_(std::move(o)) {}

  ~duckdb_store() override {
    {
      const std::lock_guard lock(queue_mutex_);
      stopping_ = true;
    }
    queue_changed_.notify_all();
    if (inserter_.joinable()) inserter_.join();
    appenders_ = {};
    journal_.reset();
    layout_.reset();
    writer_.reset();
    if (db_ != nullptr) duckdb_close(&db_);
    if (lock_ >= 0) ::close(lock_);
  }

  result<void> start() {
    if (const auto opened = open_directory(); !opened) return opened;
    if (const auto opened = open_database(); !opened) return opened;
    auto files = std::make_shared<layout>();
    for (const file_entry& e : manifest_.files) {
      auto f = file_of(e);
      if (!f) return f.error();
      files->files.push_back(std::move(*f));
    }
    layout_ = files;
    if (const auto made = new_generation(); !made) return made;
    if (!options_.directory.empty()) {
      result<void> replayed;
      auto j = journal::open(
          options_.directory + "/journal", options_.sync == store_options::fsync::batch, manifest_.journal_through,
          [&](otlp::signal_kind signal, std::string request) {
            const auto b = decode(signal, std::move(request));
            if (b && replayed) replayed = insert(*b);  // it was decoded before it was written
          },
          [this](std::shared_ptr<const batch> b, std::uint64_t segment) { enqueue(std::move(b), segment); });
      if (!j) return j.error();
      if (!replayed) return replayed;
      journal_ = std::move(*j);
    }
    if (const auto flushed = flush(); !flushed) return flushed;
    inserter_ = std::thread([this] { insert_loop(); });
    return {};
  }

  result<void> append(std::shared_ptr<const batch> b) override {
    if (overloaded()) {
      return error{"the store is behind by " + std::to_string(waiting_bytes_ >> 20) +
                   " MiB; send again a little later"};
    }
    {
      const std::lock_guard lock(queue_mutex_);
      if (!broken_.empty()) return error{broken_};
    }
    if (b->records() == 0) return {};
    if (journal_) return journal_->append(std::move(b));
    enqueue(std::move(b), 0);
    return {};
  }
  bool overloaded() const override { return waiting_bytes_.load() > options_.max_waiting_bytes; }

  result<std::vector<span_row>> trace(trace_id id, std::uint64_t limit) const override {
    std::vector<span_row> out;
    result<void> good;
    const auto take = [&](const duck::rows& r) {
      for (std::size_t i = 0; i < r.size() && good; ++i) {
        auto s = span_of(r, i);
        if (s) {
          out.push_back(std::move(*s));
        } else {
          good = s.error();
        }
      }
    };
    const std::string where = " WHERE trace_hi = " + std::to_string(id.high) +
                              " AND trace_lo = " + std::to_string(id.low) + " LIMIT " + std::to_string(limit);
    const auto asked = with_layout([&](const layout& l, const duck::connection& c) -> result<void> {
      out.clear();
      for (const auto& f : l.files) {
        if (f->entry.kind != file_kind::spans ||
            !std::binary_search(f->traces.begin(), f->traces.end(), fingerprint(id))) {
          continue;
        }
        const auto read = c.each(std::string(span_select) + "read_parquet(" + sql_.text(f->path) + ")" + where, take);
        if (!read) return read;
      }
      for (const std::uint64_t g : l.generations) {
        const auto read =
            c.each(std::string(span_select) + "(" + select_memory(file_kind::spans, g) + ")" + where, take);
        if (!read) return read;
      }
      return good;
    });
    if (!asked) return asked.error();
    {
      const std::lock_guard lock(open_mutex_);
      for (const auto& [key, open] : open_) {
        if (key.trace == id) out.push_back(open.row);
      }
    }
    // A span that came twice is there once: ended before lost before open.
    std::sort(out.begin(), out.end(), [](const span_row& a, const span_row& b) {
      const auto rank = [](const span_row& s) {
        return s.state == span_state::ended ? 0 : s.state == span_state::lost ? 1 : 2;
      };
      return std::pair(a.id.value, rank(a)) < std::pair(b.id.value, rank(b));
    });
    out.erase(std::unique(out.begin(), out.end(), [](const span_row& a, const span_row& b) { return a.id == b.id; }),
              out.end());
    std::stable_sort(out.begin(), out.end(),
                     [](const span_row& a, const span_row& b) { return a.start_ns < b.start_ns; });
    if (out.size() > limit) out.resize(limit);
    return out;
  }

  result<std::vector<span_row>> spans(std::string_view where, std::string_view order,
                                      std::uint64_t limit) const override {
    std::vector<span_row> out;
    result<void> good;
    const auto asked = with_layout([&](const layout&, const duck::connection& c) {
      out.clear();
      return c.each(std::string(span_select) + "spans" + tail_of(where, order, limit), [&](const duck::rows& r) {
        for (std::size_t i = 0; i < r.size() && good; ++i) {
          auto s = span_of(r, i);
          if (s) {
            out.push_back(std::move(*s));
          } else {
            good = s.error();
          }
        }
      });
    });
    if (!asked) return asked.error();
    if (!good) return good.error();
    return out;
  }

  result<std::vector<log_row>> logs(std::string_view where, std::string_view order,
                                    std::uint64_t limit) const override {
    std::vector<log_row> out;
    result<void> good;
    const auto asked = with_layout([&](const layout&, const duck::connection& c) {
      out.clear();
      return c.each(
          "SELECT time_ns, trace_hi, trace_lo, span, severity, severity_text, service, scope, node, event_name, body, "
          "job_id, attributes, resource FROM logs" +
              tail_of(where, order, limit),
          [&](const duck::rows& r) {
            for (std::size_t i = 0; i < r.size() && good; ++i) {
              log_row l;
              l.time_ns = r.get<std::int64_t>(0, i);
              l.trace = {r.get<std::uint64_t>(1, i), r.get<std::uint64_t>(2, i)};
              l.span = {r.get<std::uint64_t>(3, i)};
              l.severity = r.get<std::uint8_t>(4, i);
              l.severity_text = r.text(5, i);
              l.service = r.text(6, i);
              l.scope = r.text(7, i);
              l.node = r.text(8, i);
              l.event_name = r.text(9, i);
              l.body = r.text(10, i);
              l.job_id = r.text(11, i);
              auto attributes = parse_attributes(r.text(12, i));
              auto resource = parse_attributes(r.text(13, i));
              if (!attributes || !resource) {
                good = !attributes ? attributes.error() : resource.error();
                return;
              }
              l.attributes = std::move(*attributes);
              l.resource = std::move(*resource);
              out.push_back(std::move(l));
            }
          });
    });
    if (!asked) return asked.error();
    if (!good) return good.error();
    return out;
  }

  result<std::vector<link_row>> links_from(trace_id trace, std::optional<span_id> span) const override {
    // Spans are ordered by trace, so their own links are the index forwards.
    const auto found = this->trace(trace, 2'000'000);
    if (!found) return found.error();
    std::vector<link_row> out;
    for (const span_row& s : *found) {
      if (span && !(s.id == *span)) continue;
      for (const span_link& l : s.links) out.push_back({s.trace, s.id, l.trace, l.span, l.kind, s.start_ns});
    }
    return out;
  }
  result<std::vector<link_row>> links_to(trace_id trace, std::optional<span_id> span) const override {
    std::string where =
        " WHERE to_trace_hi = " + std::to_string(trace.high) + " AND to_trace_lo = " + std::to_string(trace.low);
    if (span) where += " AND to_span = " + std::to_string(span->value);
    std::vector<link_row> out;
    const auto asked = with_layout([&](const layout&, const duck::connection& c) {
      out.clear();
      return c.each(
          "SELECT DISTINCT from_trace_hi, from_trace_lo, from_span, to_trace_hi, to_trace_lo, to_span, kind, start_ns "
          "FROM links" +
              where + " ORDER BY start_ns",
          [&](const duck::rows& r) {
            for (std::size_t i = 0; i < r.size(); ++i) {
              out.push_back({{r.get<std::uint64_t>(0, i), r.get<std::uint64_t>(1, i)},
                             {r.get<std::uint64_t>(2, i)},
                             {r.get<std::uint64_t>(3, i), r.get<std::uint64_t>(4, i)},
                             {r.get<std::uint64_t>(5, i)},
                             std::string(r.text(6, i)),
                             r.get<std::int64_t>(7, i)});
            }
          });
    });
    if (!asked) return asked.error();
    return out;
  }

  std::vector<span_row> open_spans() const override {
    const std::lock_guard lock(open_mutex_);
    std::vector<span_row> out;
    for (const auto& [key, open] : open_) out.push_back(open.row);
    std::sort(out.begin(), out.end(), [](const span_row& a, const span_row& b) { return a.start_ns < b.start_ns; });
    return out;
  }

  result<table> query(std::string_view sql, query_limits limits) const override {
    table out;
    const auto asked = with_layout([&](const layout&, const duck::connection& c) {
      out = {};
      return ask(c, std::string(sql), limits, out);
    });
    if (!asked) return asked.error();
    return out;
  }
  const dialect& sql() const override { return sql_; }

  void settle() override {
    std::unique_lock lock(queue_mutex_);
    const std::uint64_t wanted = enqueued_;
    flush_wanted_ = true;
    queue_changed_.notify_all();
    visible_changed_.wait(lock, [&] { return visible_ >= wanted || stopping_ || !broken_.empty(); });
  }

  store_stats stats() const override {
    store_stats s;
    {
      const std::lock_guard lock(layout_mutex_);
      for (const auto& f : layout_->files) {
        count(s, f->entry);
        s.bytes += f->entry.bytes;
        if (f->entry.kind == file_kind::spans) ++s.files;
      }
      for (const file_entry& e : in_memory_) count(s, e);
    }
    if (journal_) s.journal_bytes = journal_->bytes();
    s.bytes += s.journal_bytes;
    {
      const std::lock_guard lock(open_mutex_);
      s.open_spans = open_.size();
    }
    const std::lock_guard lock(queue_mutex_);
    s.waiting = enqueued_ - visible_;
    return s;
  }

  std::shared_ptr<void> watch(listener f) override {
    auto kept = std::make_shared<listener>(std::move(f));
    const std::lock_guard lock(listeners_mutex_);
    listeners_.push_back(kept);
    has_listeners_ = true;
    return kept;
  }

 private:
  struct open_span {
    span_row row;
    clock::time_point seen;
    std::string resource;  // as JSON, for the record of its loss
  };
  struct item {
    std::shared_ptr<const batch> what;  // null: the journal's segment ended
    std::uint64_t segment = 0;
  };

  static void count(store_stats& s, const file_entry& e) {
    if (e.rows == 0) return;
    if (e.kind == file_kind::logs) s.logs += e.rows;
    if (e.kind == file_kind::metrics) s.metric_points += e.rows;
    if (e.kind == file_kind::links) s.links += e.rows;
    if (e.kind != file_kind::spans) return;
    s.spans += e.rows;
    s.oldest_ns = s.oldest_ns == 0 ? e.min_ns : std::min(s.oldest_ns, e.min_ns);
    s.newest_ns = std::max(s.newest_ns, e.max_ns);
  }

  static std::string tail_of(std::string_view where, std::string_view order, std::uint64_t limit) {
    std::string out;
    if (!where.empty()) out += " WHERE " + std::string(where);
    if (!order.empty()) out += " ORDER BY " + std::string(order);
    return out + " LIMIT " + std::to_string(limit);
  }

  // Calls `f` with files that stay until it returns. The views may have moved on in between, to a file that was then
  // replaced: asked once more, they are newer.
  template <class F>
  result<void> with_layout(F f) const {
    for (int attempt = 0;; ++attempt) {
      std::shared_ptr<const layout> l;
      {
        const std::lock_guard lock(layout_mutex_);
        l = layout_;
      }
      const duck::connection c(db_);
      auto answer = f(*l, c);
      if (answer || attempt == 2) return answer;
      const std::lock_guard lock(layout_mutex_);
      if (l == layout_) return answer;
    }
  }

  static result<void> ask(const duck::connection& c, std::string sql, query_limits limits, table& out) {
    const auto deadline = clock::now() + std::chrono::milliseconds(limits.timeout_ms);
    while (!sql.empty() && (sql.back() == ';' || sql.back() == ' ' || sql.back() == '\n')) sql.pop_back();
    for (int pass = 0; pass < 2; ++pass) {
      duckdb_extracted_statements statements = nullptr;
      const idx_t count = duckdb_extract_statements(c.get(), sql.c_str(), &statements);
      const std::unique_ptr<duckdb_extracted_statements, void (*)(duckdb_extracted_statements*)> kept(
          &statements, &duckdb_destroy_extracted);
      if (count == 0) {
        const char* why = duckdb_extract_statements_error(statements);
        return error{why != nullptr ? why : "there is no statement"};
      }
      if (count > 1) return error{"one statement at a time; these are " + std::to_string(count)};
      duckdb_prepared_statement prepared = nullptr;
      const bool good = duckdb_prepare_extracted_statement(c.get(), statements, 0, &prepared) == DuckDBSuccess;
      const std::unique_ptr<duckdb_prepared_statement, void (*)(duckdb_prepared_statement*)> owned(
          &prepared, &duckdb_destroy_prepare);
      if (!good) return error{duckdb_prepare_error(prepared)};
      if (duckdb_prepared_statement_type(prepared) != DUCKDB_STATEMENT_TYPE_SELECT) {
        return error{"only SELECT is answered here: the store is written by what it receives"};
      }
      const idx_t columns = duckdb_prepared_statement_column_count(prepared);
      if (pass == 0) {  // once more with a limit, and with text for what isn't simple
        std::string list;
        out.columns.clear();
        for (idx_t i = 0; i < columns; ++i) {
          const char* name = duckdb_prepared_statement_column_name(prepared, i);
          out.columns.emplace_back(name);
          duckdb_free(const_cast<char*>(name));
          const duckdb_type t = duckdb_prepared_statement_column_type(prepared, i);
          const bool is_number = t == DUCKDB_TYPE_HUGEINT || t == DUCKDB_TYPE_UHUGEINT || t == DUCKDB_TYPE_DECIMAL;
          const std::string column = "c" + std::to_string(i);
          list += (i > 0 ? ", " : "") + (is_simple(t) ? column
                                         : is_number  ? "CAST(" + column + " AS DOUBLE)"
                                                      : "CAST(" + column + " AS VARCHAR)");
        }
        std::string names;
        for (idx_t i = 0; i < columns; ++i) names += (i > 0 ? ", c" : "c") + std::to_string(i);
        sql = "SELECT " + list + " FROM (" + sql + "\n) AS t(" + names + ") LIMIT " + std::to_string(limits.rows + 1);
        continue;
      }
      std::vector<duckdb_type> types;
      for (idx_t i = 0; i < columns; ++i) types.push_back(duckdb_prepared_statement_column_type(prepared, i));
      return execute(c, prepared, types, limits, deadline, out);
    }
    return {};
  }

  static result<void> execute(const duck::connection& c, duckdb_prepared_statement prepared,
                              const std::vector<duckdb_type>& types, query_limits limits, clock::time_point deadline,
                              table& out) {
    duckdb_pending_result pending = nullptr;
    const bool begun = duckdb_pending_prepared(prepared, &pending) == DuckDBSuccess;
    const std::unique_ptr<duckdb_pending_result, void (*)(duckdb_pending_result*)> owned(&pending,
                                                                                         &duckdb_destroy_pending);
    if (!begun) return error{duckdb_pending_error(pending)};
    for (;;) {
      const duckdb_pending_state state = duckdb_pending_execute_task(pending);
      if (state == DUCKDB_PENDING_ERROR) return error{duckdb_pending_error(pending)};
      if (duckdb_pending_execution_is_finished(state)) break;
      if (clock::now() > deadline) {
        // It has to notice by itself: a result that is dropped while its tasks run is never freed.
        duckdb_interrupt(c.get());
        for (duckdb_pending_state s = state; !duckdb_pending_execution_is_finished(s) && s != DUCKDB_PENDING_ERROR;
             s = duckdb_pending_execute_task(pending)) {
          std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
        return error{"the query took longer than " + std::to_string(limits.timeout_ms) +
                     " ms and was stopped. Ask for less: a shorter time, fewer columns."};
      }
      if (state == DUCKDB_PENDING_NO_TASKS_AVAILABLE) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    duckdb_result r;
    const bool done = duckdb_execute_pending(pending, &r) == DuckDBSuccess;
    const std::unique_ptr<duckdb_result, void (*)(duckdb_result*)> kept(&r, &duckdb_destroy_result);
    if (!done) return error{duckdb_result_error(&r)};
    while (duckdb_data_chunk chunk = duckdb_fetch_chunk(r)) {
      const std::unique_ptr<duckdb_data_chunk, void (*)(duckdb_data_chunk*)> chunk_kept(&chunk,
                                                                                        &duckdb_destroy_data_chunk);
      const duck::rows rows(chunk, types.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (out.rows.size() == limits.rows) {
          out.cut = true;
          return {};
        }
        auto& row = out.rows.emplace_back();
        for (std::size_t k = 0; k < types.size(); ++k) row.push_back(cell_of(rows, types[k], k, i));
      }
    }
    return {};
  }

  result<void> open_directory() {
    if (options_.directory.empty()) return {};
    std::error_code code;
    fs::create_directories(options_.directory, code);
    if (code) return error{"cannot make the store's directory " + options_.directory + ": " + code.message()};
    options_.directory = fs::canonical(options_.directory, code).string();
    lock_ = ::open((options_.directory + "/LOCK").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (lock_ < 0) {
      return error{"cannot write in the store's directory " + options_.directory + ": " +
                   std::generic_category().message(errno)};
    }
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      return error{"the store in " + options_.directory +
                   " is open in another process: ask that one over HTTP, or stop it"};
    }
    auto m = read_manifest(options_.directory);
    if (!m) return m.error();
    manifest_ = std::move(*m);
    for (const auto& entry : fs::directory_iterator(options_.directory, code)) {  // left over from a crash
      const std::string name = entry.path().filename().string();
      const bool ours = name.ends_with(".parquet") || name.ends_with(".tmp");
      const bool known = std::any_of(manifest_.files.begin(), manifest_.files.end(),
                                     [&](const file_entry& f) { return f.name == name; });
      if (ours && !known) fs::remove(entry.path(), code);
    }
    return {};
  }

  result<void> open_database() {
    duckdb_config config = nullptr;
    duckdb_create_config(&config);
    const auto set = [&](const char* key, const std::string& value) { duckdb_set_config(config, key, value.c_str()); };
    set("threads", std::to_string(std::max(1u, options_.threads)));
    set("memory_limit", std::to_string(options_.memory_bytes / 1'000'000) + "MB");
    set("autoinstall_known_extensions", "false");
    set("autoload_known_extensions", "false");
    char* why = nullptr;
    const bool opened = duckdb_open_ext(nullptr, &db_, config, &why) == DuckDBSuccess;
    duckdb_destroy_config(&config);
    if (!opened) {
      error e{"cannot start DuckDB: " + std::string(why != nullptr ? why : "unknown reason")};
      duckdb_free(why);
      return e;
    }
    writer_ = std::make_unique<duck::connection>(db_);
    std::vector<std::string> settings = {"SET parquet_metadata_cache = true", "SET preserve_insertion_order = false"};
    if (options_.directory.empty()) {
      settings.emplace_back("SET temp_directory = ''");
    } else {
      settings.push_back("SET temp_directory = " + sql_.text(options_.directory + "/temporary"));
      settings.push_back("SET allowed_directories = [" + sql_.text(options_.directory + "/") + "]");
    }
    settings.emplace_back("SET enable_external_access = false");
    settings.emplace_back("SET lock_configuration = true");
    for (const std::string& s : settings) {
      if (const auto done = writer_->run(s); !done) return error{"cannot set DuckDB up: " + done.error().message};
    }
    return {};
  }

  result<std::shared_ptr<data_file>> file_of(const file_entry& e) const {
    auto f = std::make_shared<data_file>();
    f->entry = e;
    f->path = options_.directory + "/" + e.name;
    if (e.kind != file_kind::spans) return f;
    const auto read = writer_->each(
        "SELECT DISTINCT (xor(trace_hi, trace_lo) >> 32)::UINTEGER FROM read_parquet(" + sql_.text(f->path) + ")",
        [&](const duck::rows& r) {
          for (std::size_t i = 0; i < r.size(); ++i) f->traces.push_back(r.get<std::uint32_t>(0, i));
        });
    if (!read) return error{"cannot read " + f->path + ": " + read.error().message};
    std::sort(f->traces.begin(), f->traces.end());
    return f;
  }

  // Views over tables and files, in the writer's transaction.
  result<void> make_views(const layout& l) const {
    for (const file_kind k : kinds) {
      std::string all;
      for (const std::uint64_t g : l.generations) {
        all += (all.empty() ? "" : " UNION ALL ") + select_memory(k, g);
      }
      std::string paths;
      for (const auto& f : l.files) {
        if (f->entry.kind == k) paths += (paths.empty() ? "" : ", ") + sql_.text(f->path);
      }
      if (!paths.empty()) {
        std::string columns;
        for (const column& c : relations[index(k)].columns) {
          columns += (columns.empty() ? "\"" : ", \"") + std::string(c.name) + "\"";
        }
        all += " UNION ALL SELECT " + columns + " FROM read_parquet([" + paths + "])";
      }
      std::string more;
      if (k == file_kind::spans) {
        more =
            ", format('{:016x}{:016x}', trace_hi, trace_lo) AS trace_id, format('{:016x}', span) AS span_id, "
            "CASE WHEN parent = 0 THEN NULL ELSE format('{:016x}', parent) END AS parent_id";
      } else if (k == file_kind::logs) {
        more =
            ", CASE WHEN trace_hi = 0 AND trace_lo = 0 THEN NULL ELSE format('{:016x}{:016x}', trace_hi, trace_lo) "
            "END AS trace_id, CASE WHEN span = 0 THEN NULL ELSE format('{:016x}', span) END AS span_id";
      }
      const auto made = writer_->run("CREATE OR REPLACE VIEW " + std::string(name_of(k)) + " AS SELECT *" + more +
                                     " FROM (" + all + ")");
      if (!made) return made;
    }
    return {};
  }

  // Empty tables for what comes next, and appenders for them.
  result<void> new_generation() {
    ++generation_;
    auto l = std::make_shared<layout>(*layout_);
    l->generations.push_back(generation_);
    const std::string number = std::to_string(generation_);
    std::string sql = "BEGIN; CREATE TABLE mem_resources_" + number + " (id UINTEGER, json VARCHAR);";
    for (const file_kind k : kinds) {
      sql += "CREATE TABLE " + table_of(k, generation_) + " (";
      bool first = true;
      for (const column& c : relations[index(k)].columns) {
        sql += (first ? "\"" : ", \"") + std::string(c.name) + "\" " + std::string(c.sql);
        first = false;
      }
      sql += ");";
    }
    if (const auto made = writer_->run(sql); !made) return made;
    if (const auto made = make_views(*l); !made) return made;
    if (const auto made = writer_->run("COMMIT"); !made) return made;
    insert_connection_ = std::make_unique<duck::connection>(db_);
    for (const file_kind k : kinds) {
      std::vector<duckdb_type> types;
      for (const column& c : relations[index(k)].columns) types.push_back(c.type);
      appenders_[index(k)] =
          std::make_unique<duck::appender>(*insert_connection_, table_of(k, generation_), std::move(types));
    }
    resources_ = std::make_unique<duck::appender>(*insert_connection_, "mem_resources_" + number,
                                                  std::vector<duckdb_type>{DUCKDB_TYPE_UINTEGER, DUCKDB_TYPE_VARCHAR});
    resource_numbers_.clear();
    begun_ = clock::now();
    const std::lock_guard lock(layout_mutex_);
    layout_ = l;
    in_memory_ = {};
    for (const file_kind k : kinds) in_memory_[index(k)].kind = k;
    return {};
  }

  void enqueue(std::shared_ptr<const batch> b, std::uint64_t segment) {
    {
      const std::lock_guard lock(queue_mutex_);
      if (b) {
        waiting_bytes_ += b->bytes();
        enqueued_ += b->records();
      }
      queue_.push_back({std::move(b), segment});
    }
    queue_changed_.notify_all();
  }

  void insert_loop() {
    auto flushed = clock::now();
    auto looked = clock::now();
    for (;;) {
      std::deque<item> items;
      bool flush_now = false;
      {
        std::unique_lock lock(queue_mutex_);
        queue_changed_.wait_for(lock, std::chrono::milliseconds(100),
                                [&] { return stopping_ || !queue_.empty() || flush_wanted_; });
        if (stopping_ && queue_.empty()) return;
        items.swap(queue_);
        flush_now = flush_wanted_;
        flush_wanted_ = false;
      }
      result<void> good;
      for (item& i : items) {
        if (!good) break;
        good = i.what ? insert(i.what) : seal(i.segment);
        if (i.what) waiting_bytes_ -= i.what->bytes();
      }
      const auto now = clock::now();
      if (good && !unseen_.empty() && (flush_now || now - flushed > std::chrono::milliseconds(200))) {
        good = flush();
        flushed = now;
      } else if (flush_now) {
        tell_visible(0);
      }
      if (good && is_full(now)) good = journal_ ? journal_->end_segment() : seal(0);
      if (now - looked > std::chrono::seconds(1)) {
        looked = now;
        if (journal_ && options_.sync == store_options::fsync::interval) journal_->sync();
        look_for_lost(now);
        if (good) good = retain();
      }
      if (!good) {
        const std::lock_guard lock(queue_mutex_);
        broken_ = "the store takes nothing more: " + good.error().message;
        visible_changed_.notify_all();
        return;
      }
    }
  }

  bool is_full(clock::time_point now) const {
    std::uint64_t rows = 0;
    for (const file_entry& e : in_memory_) rows += e.rows;
    if (options_.directory.empty()) return false;
    return rows > 0 &&
           (rows >= options_.rows_per_file || now - begun_ > std::chrono::seconds(options_.seconds_per_file));
  }

  std::uint32_t number_of_resource(const resource_record& r) {
    const auto it = resource_numbers_.find(std::string(r.json));
    if (it != resource_numbers_.end()) return it->second;
    const auto number = static_cast<std::uint32_t>(resource_numbers_.size());
    const auto [added, is_new] = resource_numbers_.emplace(r.json, number);
    resources_->number(0, number);
    resources_->text(1, added->first);
    (void)resources_->end_row();
    return number;
  }

  static void note(file_entry& e, std::int64_t ns) {
    e.min_ns = e.rows == 0 ? ns : std::min(e.min_ns, ns);
    e.max_ns = e.rows == 0 ? ns : std::max(e.max_ns, ns);
    ++e.rows;
  }

  result<void> insert(const std::shared_ptr<const batch>& b) {
    unseen_.push_back(b);
    unseen_records_ += b->records();
    std::vector<std::uint32_t> numbers;
    for (const resource_record& r : b->resources) numbers.push_back(number_of_resource(r));
    auto counted = in_memory_;  // only this thread writes it; questions must not wait for a whole batch
    for (const span_record& s : b->spans) {
      duck::appender& a = *appenders_[0];
      const resource_record& r = b->resources[s.resource];
      a.number(0, s.trace.high);
      a.number(1, s.trace.low);
      a.number(2, s.id.value);
      a.number(3, s.parent.value);
      a.text(4, s.name);
      a.text(5, r.service);
      a.text(6, b->scopes[s.scope]);
      a.text(7, r.node);
      a.number(8, s.kind);
      a.number(9, s.status);
      a.number(10, static_cast<std::uint8_t>(s.state));
      a.text_or_null(11, s.status_message);
      a.number(12, s.start_ns);
      a.number(13, s.duration_ns);
      a.text_or_null(14, s.job_id);
      a.text_or_null(15, s.module_id);
      a.text_or_null(16, s.task_id);
      a.text_or_null(17, s.phase);
      a.text(18, s.attributes);
      a.text_or_null(19, s.events);
      a.text_or_null(20, s.links);
      a.number(21, numbers[s.resource]);
      if (const auto sent = a.end_row(); !sent) return sent.error();
      note(counted[index(file_kind::spans)], s.start_ns);
      for (std::uint32_t i = 0; i < s.link_count; ++i) {
        const link_record& l = b->links[s.first_link + i];
        duck::appender& to = *appenders_[3];
        to.number(0, s.trace.high);
        to.number(1, s.trace.low);
        to.number(2, s.id.value);
        to.number(3, l.trace.high);
        to.number(4, l.trace.low);
        to.number(5, l.span.value);
        to.text(6, l.kind);
        to.number(7, s.start_ns);
        if (const auto sent = to.end_row(); !sent) return sent.error();
        note(counted[index(file_kind::links)], s.start_ns);
      }
    }
    for (const log_record& l : b->logs) {
      duck::appender& a = *appenders_[1];
      const resource_record& r = b->resources[l.resource];
      a.number(0, l.time_ns);
      a.number(1, l.trace.high);
      a.number(2, l.trace.low);
      a.number(3, l.span.value);
      a.number(4, l.severity);
      a.text(5, l.severity_text);
      a.text(6, r.service);
      a.text(7, b->scopes[l.scope]);
      a.text(8, r.node);
      a.text_or_null(9, l.event_name);
      a.text(10, l.body);
      a.text_or_null(11, l.job_id);
      a.text(12, l.attributes);
      a.number(13, numbers[l.resource]);
      if (const auto sent = a.end_row(); !sent) return sent.error();
      note(counted[index(file_kind::logs)], l.time_ns);
    }
    for (const point_record& p : b->points) {
      duck::appender& a = *appenders_[2];
      const resource_record& r = b->resources[p.resource];
      a.number(0, p.time_ns);
      a.text(1, p.name);
      a.text(2, p.unit);
      a.text(3, p.type);
      a.text(4, r.service);
      a.text(5, r.node);
      a.number(6, p.value);
      a.number(7, p.count);
      a.text_or_null(8, p.buckets);
      a.text(9, p.attributes);
      if (const auto sent = a.end_row(); !sent) return sent.error();
      note(counted[index(file_kind::metrics)], p.time_ns);
    }
    {
      const std::lock_guard lock(layout_mutex_);
      in_memory_ = counted;
    }
    follow_open(*b);
    if (has_listeners_) tell_listeners(*b);
    return {};
  }

  result<void> flush() {
    if (const auto flushed = resources_->flush(); !flushed) return flushed;
    for (const auto& a : appenders_) {
      if (const auto flushed = a->flush(); !flushed) return flushed;
    }
    unseen_.clear();
    tell_visible(std::exchange(unseen_records_, 0));
    return {};
  }
  void tell_visible(std::uint64_t records) {
    {
      const std::lock_guard lock(queue_mutex_);
      visible_ += records;
      if (inserter_.get_id() == std::thread::id{}) enqueued_ += records;  // replayed from the journal
    }
    visible_changed_.notify_all();
  }

  // The tables become files. Journal segments up to `segment` are in them.
  result<void> seal(std::uint64_t segment) {
    if (const auto flushed = flush(); !flushed) return flushed;
    if (options_.directory.empty()) return {};
    const std::uint64_t sealed = generation_;
    auto next = manifest_;
    std::vector<std::shared_ptr<data_file>> made;
    for (const file_kind k : kinds) {
      file_entry e = in_memory_[index(k)];
      if (e.rows == 0) continue;
      auto f = write_file(k, select_memory(k, sealed), next.next++, e);
      if (!f) return f.error();
      next.files.push_back((*f)->entry);
      made.push_back(std::move(*f));
    }
    next.journal_through = segment;
    if (const auto written = write_manifest(options_.directory, next); !written) return written;
    manifest_ = std::move(next);
    appenders_ = {};
    resources_.reset();
    {
      auto l = std::make_shared<layout>(*layout_);
      std::erase(l->generations, sealed);
      l->files.insert(l->files.end(), made.begin(), made.end());
      const std::lock_guard lock(layout_mutex_);
      layout_ = l;
    }
    if (const auto begun = new_generation(); !begun) return begun;
    std::string drop = "DROP TABLE mem_resources_" + std::to_string(sealed) + ";";
    for (const file_kind k : kinds) drop += "DROP TABLE " + table_of(k, sealed) + ";";
    if (const auto dropped = writer_->run(drop); !dropped) return dropped;
    if (journal_) journal_->remove_through(segment);
    return {};
  }

  result<std::shared_ptr<data_file>> write_file(file_kind k, const std::string& select, std::uint64_t number,
                                                file_entry e) {
    std::string digits = std::to_string(number);
    digits.insert(0, digits.size() < 8 ? 8 - digits.size() : 0, '0');
    e.name = std::string(name_of(k)) + "-" + digits + ".parquet";
    const std::string path = options_.directory + "/" + e.name;
    const auto copied =
        writer_->run("COPY (SELECT * FROM (" + select + ") ORDER BY " + std::string(relations[index(k)].order) +
                     ") TO " + sql_.text(path + ".tmp") + " (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20480)");
    const auto fail = [&](const std::string& why) {
      ::unlink((path + ".tmp").c_str());
      return error{"cannot write " + path + ": " + why};
    };
    if (!copied) return fail(copied.error().message);
    const int file = ::open((path + ".tmp").c_str(), O_RDONLY | O_CLOEXEC);
    const bool kept = file >= 0 && ::fsync(file) == 0;
    const int code = errno;
    if (file >= 0) ::close(file);
    if (!kept) return fail(std::generic_category().message(code));
    if (::rename((path + ".tmp").c_str(), path.c_str()) != 0) return fail(std::generic_category().message(errno));
    std::error_code ignored;
    e.bytes = fs::file_size(path, ignored);
    return file_of(e);
  }

  // Files that are too old, or too many, go: oldest first.
  result<void> retain() {
    if (options_.max_bytes == 0 && options_.max_age_seconds == 0) return {};
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::int64_t oldest =
        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - options_.max_age_seconds * 1'000'000'000;
    std::uint64_t bytes = journal_ ? journal_->bytes() : 0;
    for (const file_entry& e : manifest_.files) bytes += e.bytes;
    auto next = manifest_;
    std::erase_if(next.files, [&](const file_entry& e) {  // oldest first
      const bool too_old = options_.max_age_seconds != 0 && e.max_ns < oldest;
      const bool too_much = options_.max_bytes != 0 && bytes > options_.max_bytes;
      if (too_old || too_much) bytes -= e.bytes;
      return too_old || too_much;
    });
    if (next.files.size() == manifest_.files.size()) return {};
    if (const auto written = write_manifest(options_.directory, next); !written) return written;
    manifest_ = std::move(next);
    auto l = std::make_shared<layout>(*layout_);
    std::vector<std::shared_ptr<data_file>> gone;
    std::erase_if(l->files, [&](const std::shared_ptr<data_file>& f) {
      const bool kept = std::any_of(manifest_.files.begin(), manifest_.files.end(),
                                    [&](const file_entry& e) { return e.name == f->entry.name; });
      if (!kept) gone.push_back(f);
      return !kept;
    });
    if (const auto made = make_views(*l); !made) return made;
    const std::lock_guard lock(layout_mutex_);
    layout_ = l;
    for (const auto& f : gone) f->unwanted = true;
    return {};
  }

  void follow_open(const batch& b) {
    const std::lock_guard lock(open_mutex_);
    for (const span_record& s : b.open) {
      auto row = row_of(s, b);
      if (!row || open_.size() >= max_open) continue;
      open_[{s.trace, s.id}] = {std::move(*row), clock::now(), std::string(b.resources[s.resource].json)};
    }
    if (open_.empty()) return;
    for (const span_record& s : b.spans) open_.erase({s.trace, s.id});
  }

  // Open spans whose heartbeats stopped are kept as lost, through the journal like any other span.
  void look_for_lost(clock::time_point now) {
    const auto patience = std::chrono::seconds(options_.heartbeat_timeout_seconds);
    std::vector<open_span> lost;
    {
      const std::lock_guard lock(open_mutex_);
      std::erase_if(open_, [&](auto& one) {
        if (now - one.second.seen < patience) return false;
        lost.push_back(std::move(one.second));
        return true;
      });
    }
    for (const open_span& o : lost) {
      auto b = decode(otlp::signal_kind::traces, request_of(o));
      if (b) (void)append(*b);
    }
  }
  static std::string request_of(const open_span& o);

  void tell_listeners(const batch& b) {
    std::vector<std::shared_ptr<listener>> listeners;
    {
      const std::lock_guard lock(listeners_mutex_);
      std::erase_if(listeners_, [](const auto& l) { return l.expired(); });
      for (const auto& l : listeners_) {
        if (auto kept = l.lock()) listeners.push_back(std::move(kept));
      }
      has_listeners_ = !listeners_.empty();
    }
    if (listeners.empty()) return;
    for (const auto* list : {&b.spans, &b.open}) {
      for (const span_record& s : *list) {
        const auto row = row_of(s, b);
        if (!row) continue;
        for (const auto& l : listeners) (*l)(*row);
      }
    }
  }

  static constexpr std::size_t max_open = 100'000;

  store_options options_;
  duckdb_dialect sql_;
  duckdb_database db_ = nullptr;
  int lock_ = -1;
  manifest manifest_;
  std::unique_ptr<duck::connection> writer_;  // of the inserter's thread
  std::unique_ptr<journal> journal_;

  mutable std::mutex layout_mutex_;
  std::shared_ptr<const layout> layout_;
  std::array<file_entry, file_kinds> in_memory_;  // what the tables hold

  // The inserter's.
  std::uint64_t generation_ = 0;
  std::unique_ptr<duck::connection> insert_connection_;
  std::array<std::unique_ptr<duck::appender>, file_kinds> appenders_;
  std::unique_ptr<duck::appender> resources_;
  std::unordered_map<std::string, std::uint32_t> resource_numbers_;
  std::vector<std::shared_ptr<const batch>> unseen_;  // appended, and not flushed
  std::uint64_t unseen_records_ = 0;
  clock::time_point begun_;
  std::thread inserter_;

  mutable std::mutex queue_mutex_;
  std::condition_variable queue_changed_;
  std::condition_variable visible_changed_;
  std::deque<item> queue_;
  std::atomic<std::uint64_t> waiting_bytes_{0};
  std::uint64_t enqueued_ = 0;  // records, as is visible_
  std::uint64_t visible_ = 0;
  bool flush_wanted_ = false;
  bool stopping_ = false;
  std::string broken_;

  mutable std::mutex open_mutex_;
  std::unordered_map<trace_and_span, open_span, hash_of_span> open_;

  std::mutex listeners_mutex_;
  std::vector<std::weak_ptr<listener>> listeners_;
  std::atomic<bool> has_listeners_{false};
};

// A lost span as core's flight recorder tells of one: failed, error.type = lost.
std::string duckdb_store::request_of(const open_span& o) {
  const span_row& s = o.row;
  const auto keys = [](const attribute_list& list) {
    std::string out;
    for (const auto& [key, value] : list) {
      out += out.empty() ? "" : ",";
      out += R"({"key":)";
      append_json(out, std::string_view(key));
      out += R"(,"value":{)";
      if (std::holds_alternative<bool>(value)) {
        out += R"("boolValue":)";
      } else if (std::holds_alternative<double>(value)) {
        out += R"("doubleValue":)";
      } else if (std::holds_alternative<std::int64_t>(value)) {
        out += R"("intValue":)";
      } else {
        out += R"("stringValue":)";
      }
      append_json(out, value);
      out += "}}";
    }
    return out;
  };
  attribute_list attributes = s.attributes;
  for (const auto& [key, value] : {std::pair("job_id", &s.job_id), std::pair("module_id", &s.module_id),
                                   std::pair("task_id", &s.task_id), std::pair("phase", &s.phase)}) {
    if (!value->empty()) attributes.emplace_back(key, *value);
  }
  attributes.emplace_back("error.type", std::string("lost"));
  attributes.emplace_back("telltale.recovered", std::string("heartbeats_stopped"));
  std::string json =
      R"({"resourceSpans":[{"resource":{"attributes":[)" + keys(s.resource) + R"(]},"scopeSpans":[{"scope":{"name":)";
  append_json(json, std::string_view(s.scope));
  json += R"(},"spans":[{"traceId":")" + to_hex(s.trace) + R"(","spanId":")" + to_hex(s.id) + R"(",)";
  if (s.parent) json += R"("parentSpanId":")" + to_hex(s.parent) + R"(",)";
  json += R"("startTimeUnixNano":")" + std::to_string(s.start_ns) + R"(","endTimeUnixNano":")" +
          std::to_string(s.end_ns()) + R"(","status":{"code":2},"name":)";
  append_json(json, std::string_view(s.name));
  json += R"(,"attributes":[)" + keys(attributes) + "]}]}]}]}";
  auto wire = protobuf_of_json(otlp::signal_kind::traces, json);
  return wire ? std::move(*wire) : std::string{};
}

}  // namespace

result<std::unique_ptr<store>> open_store(store_options options) {
  auto s = std::make_unique<duckdb_store>(std::move(options));
  if (const auto started = s->start(); !started) return started.error();
  return std::unique_ptr<store>(std::move(s));
}

}  // namespace telltale::hub
