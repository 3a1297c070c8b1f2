// The store on ClickHouse.
//
//   append ─ all that wait, as one insert per table ─ ClickHouse has it ─ acknowledged
//
// While an insert is under way the next batches wait and become the next one: the more comes, the larger they are.
#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "hub/otlp/decode.hpp"
#include "hub/otlp/text.hpp"
#include "hub/store/clickhouse/clickhouse.hpp"
#include "hub/store/clickhouse/client.hpp"
#include "hub/store/clickhouse/dialect.hpp"
#include "hub/store/clickhouse/items.hpp"
#include "hub/store/clickhouse/row_binary.hpp"
#include "hub/store/clickhouse/schema.hpp"
#include "hub/store/listeners.hpp"
#include "hub/store/open_spans.hpp"
#include "hub/store/trace_rows.hpp"

namespace telltale::hub {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Only the shard where a trace lies is asked.
const clickhouse_client::settings one_shard = {{"optimize_skip_unused_shards", "1"}};

constexpr std::string_view span_columns =
    "trace_hi, trace_lo, span, parent, name, service, scope, node, kind, status, state, status_message, start_ns, "
    "duration_ns, job_id, module_id, task_id, phase, attributes, events, links, resource";
// The same out of the table: through a view ClickHouse would ask every shard for a trace.
constexpr std::string_view trace_columns =
    "trace_hi, trace_lo, span, parent, name, service, scope, node, kind, status, state, status_message, start_ns, "
    "duration_ns, job_id, module_id, task_id, phase, concat('{', arrayStringConcat(attribute_items, ','), '}'), "
    "events, "
    "links, concat('{', arrayStringConcat(resource_items, ','), '}')";
constexpr std::string_view log_columns =
    "time_ns, trace_hi, trace_lo, span, severity, severity_text, service, scope, node, event_name, body, job_id, "
    "attributes, resource";

// The rows of some batches, as the tables take them.
struct insert {
  row_binary_writer spans;
  row_binary_writer logs;
  row_binary_writer points;
  row_binary_writer links;

  void add(const batch& b) {
    std::vector<std::vector<std::string_view>> resources;
    for (const resource_record& r : b.resources) resources.push_back(items_of(r.json));
    for (const span_record& s : b.spans) add_span(b, s, resources[s.resource]);
    for (const log_record& l : b.logs) {
      const resource_record& r = b.resources[l.resource];
      logs.number(l.time_ns);
      logs.number(l.trace.high);
      logs.number(l.trace.low);
      logs.number(l.span.value);
      logs.number(l.severity);
      logs.text(l.severity_text);
      logs.text(r.service);
      logs.text(b.scopes[l.scope]);
      logs.text(r.node);
      logs.text_or_null(l.event_name);
      logs.text(l.body);
      logs.text_or_null(l.job_id);
      logs.texts(items_of(l.attributes));
      logs.texts(resources[l.resource]);
    }
    for (const point_record& p : b.points) {
      const resource_record& r = b.resources[p.resource];
      points.number(p.time_ns);
      points.text(p.name);
      points.text(p.unit);
      points.text(p.type);
      points.text(r.service);
      points.text(r.node);
      points.number(p.value);
      points.number(p.count);
      points.text_or_null(p.buckets);
      points.texts(items_of(p.attributes));
    }
  }

 private:
  void add_span(const batch& b, const span_record& s, const std::vector<std::string_view>& resource) {
    const resource_record& r = b.resources[s.resource];
    spans.number(s.trace.high);
    spans.number(s.trace.low);
    spans.number(s.id.value);
    spans.number(s.parent.value);
    spans.text(s.name);
    spans.text(r.service);
    spans.text(b.scopes[s.scope]);
    spans.text(r.node);
    spans.number(s.kind);
    spans.number(s.status);
    spans.number(static_cast<std::uint8_t>(s.state));
    spans.text_or_null(s.status_message);
    spans.number(s.start_ns);
    spans.number(s.duration_ns);
    spans.text_or_null(s.job_id);
    spans.text_or_null(s.module_id);
    spans.text_or_null(s.task_id);
    spans.text_or_null(s.phase);
    spans.texts(items_of(s.attributes));
    spans.text_or_null(s.events);
    spans.text_or_null(s.links);
    spans.texts(resource);
    for (std::uint32_t i = 0; i < s.link_count; ++i) {
      const link_record& l = b.links[s.first_link + i];
      links.number(s.trace.high);
      links.number(s.trace.low);
      links.number(s.id.value);
      links.number(l.trace.high);
      links.number(l.trace.low);
      links.number(l.span.value);
      links.text(l.kind);
      links.number(s.start_ns);
    }
  }
};

result<span_row> span_of(row_binary_reader& r) {
  span_row s;
  s.trace.high = r.number<std::uint64_t>();
  s.trace.low = r.number<std::uint64_t>();
  s.id = {r.number<std::uint64_t>()};
  s.parent = {r.number<std::uint64_t>()};
  s.name = r.text();
  s.service = r.text();
  s.scope = r.text();
  s.node = r.text();
  s.kind = r.number<std::uint8_t>();
  s.status = static_cast<status_code>(r.number<std::uint8_t>());
  s.state = static_cast<span_state>(r.number<std::uint8_t>());
  s.status_message = r.text_or_null();
  s.start_ns = r.number<std::int64_t>();
  s.duration_ns = r.number<std::int64_t>();
  s.job_id = r.text_or_null();
  s.module_id = r.text_or_null();
  s.task_id = r.text_or_null();
  s.phase = r.text_or_null();
  auto attributes = parse_attributes(r.text());
  auto events = parse_events(r.text_or_null());
  auto links = parse_links(r.text_or_null());
  auto resource = parse_attributes(r.text());
  if (!attributes) return attributes.error();
  if (!events) return events.error();
  if (!links) return links.error();
  if (!resource) return resource.error();
  s.attributes = std::move(*attributes);
  s.events = std::move(*events);
  s.links = std::move(*links);
  s.resource = std::move(*resource);
  return s;
}

result<log_row> log_of(row_binary_reader& r) {
  log_row l;
  l.time_ns = r.number<std::int64_t>();
  l.trace.high = r.number<std::uint64_t>();
  l.trace.low = r.number<std::uint64_t>();
  l.span = {r.number<std::uint64_t>()};
  l.severity = r.number<std::uint8_t>();
  l.severity_text = r.text();
  l.service = r.text();
  l.scope = r.text();
  l.node = r.text();
  l.event_name = r.text_or_null();
  l.body = r.text();
  l.job_id = r.text_or_null();
  auto attributes = parse_attributes(r.text());
  auto resource = parse_attributes(r.text());
  if (!attributes) return attributes.error();
  if (!resource) return resource.error();
  l.attributes = std::move(*attributes);
  l.resource = std::move(*resource);
  return l;
}

result<link_row> link_of(row_binary_reader& r) {
  link_row l;
  l.from_trace.high = r.number<std::uint64_t>();
  l.from_trace.low = r.number<std::uint64_t>();
  l.from_span = {r.number<std::uint64_t>()};
  l.to_trace.high = r.number<std::uint64_t>();
  l.to_trace.low = r.number<std::uint64_t>();
  l.to_span = {r.number<std::uint64_t>()};
  l.kind = r.text();
  l.start_ns = r.number<std::int64_t>();
  return l;
}

std::string tail_of(std::string_view where, std::string_view order, std::uint64_t limit) {
  std::string out;
  if (!where.empty()) out += " WHERE " + std::string(where);
  if (!order.empty()) out += " ORDER BY " + std::string(order);
  return out + " LIMIT " + std::to_string(limit) + " FORMAT RowBinary";
}

// The server writes whole numbers of 64 bits as strings, so that none is rounded on the way.
cell cell_of(const nlohmann::json& v, std::string_view type) {
  if (type.starts_with("SimpleAggregateFunction(")) type.remove_prefix(type.find(", ") + 2);
  if (type.starts_with("LowCardinality(")) type.remove_prefix(15);
  if (type.starts_with("Nullable(")) type.remove_prefix(9);
  if (v.is_null()) return std::monostate{};
  if (v.is_boolean()) return v.get<bool>();
  if (type.starts_with("Float")) return v.is_number() ? cell(v.get<double>()) : cell(v.get<std::string>());
  if (v.is_number_integer()) return v.get<std::int64_t>();
  if (v.is_number_float()) return v.get<double>();
  if (!v.is_string()) return v.dump();
  const auto& s = v.get_ref<const std::string&>();
  if (type.starts_with("Int") || type.starts_with("UInt")) {
    std::int64_t n = 0;
    const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), n);
    if (failed == std::errc{} && end == s.data() + s.size()) return n;
  }
  return s;
}

class clickhouse_store final : public store {
 public:
  clickhouse_store(clickhouse_options o, clickhouse_address at)
      : options_(std::move(o)), client_(options_, std::move(at)) {}
  ~clickhouse_store() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (sender_.joinable()) sender_.join();
  }

  result<void> start() {
    const clickhouse_schema schema{client_.database(), options_.cluster};
    const auto version = version_of(client_, schema);
    if (!version) return version.error();
    if (*version != clickhouse_schema::newest) {
      return error{"the tables in ClickHouse's database " + client_.database() + " are of version " +
                   std::to_string(*version) + ", and this telltale's of version " +
                   std::to_string(clickhouse_schema::newest) +
                   (*version > clickhouse_schema::newest ? ": use a newer telltale" : ": run `telltale store init`")};
    }
    sender_ = std::thread([this] { send_loop(); });
    return {};
  }

  // 0: there is nothing yet.
  static result<std::uint32_t> version_of(const clickhouse_client& client, const clickhouse_schema& schema) {
    const auto version =
        client.ask("SELECT max(version) FROM " + schema.versions_table() + " FORMAT TabSeparated", quick);
    if (!version) {
      const std::string& why = version.error().message;
      const bool unmade =
          why.find("(UNKNOWN_DATABASE)") != std::string::npos || why.find("(UNKNOWN_TABLE)") != std::string::npos;
      return unmade ? result<std::uint32_t>(0u) : version.error();
    }
    std::uint32_t v = 0;
    std::from_chars(version->data(), version->data() + version->size(), v);
    return v;
  }

  result<void> append(std::shared_ptr<const batch> b) override {
    if (overloaded()) return error{"ClickHouse takes less than comes; send again a little later"};
    if (!b->spans.empty() || !b->logs.empty() || !b->points.empty()) {
      std::unique_lock lock(mutex_);
      const std::shared_ptr<group> mine = next_;
      mine->rows.add(*b);
      mine->bytes += b->bytes();
      waiting_bytes_ += b->bytes();
      changed_.notify_all();
      done_.wait(lock, [&] { return mine->done; });
      if (!mine->outcome) return mine->outcome;
    }
    follow(*b);
    return {};
  }
  bool overloaded() const override { return waiting_bytes_.load() > options_.max_waiting_bytes; }

  result<std::vector<span_row>> trace(trace_id id, std::uint64_t limit) const override {
    auto out = rows<span_row>("SELECT " + std::string(trace_columns) + " FROM spans_by_trace" +
                                  tail_of(sql_.is_trace(id), "start_ns, span", limit),
                              span_of, one_shard);
    if (!out) return out.error();
    return with_open(id, *std::move(out), limit);
  }
  result<std::vector<std::vector<span_row>>> traces(const std::vector<trace_id>& ids) const override {
    if (ids.empty()) return std::vector<std::vector<span_row>>{};
    std::string list;
    for (const trace_id& id : ids) {
      list += (list.empty() ? "(" : ", (") + std::to_string(id.high) + ", " + std::to_string(id.low) + ")";
    }
    auto all = rows<span_row>("SELECT " + std::string(trace_columns) +
                                  " FROM spans_by_trace WHERE (trace_hi, trace_lo) IN (" + list + ") FORMAT RowBinary",
                              span_of);
    if (!all) return all.error();
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<span_row>> found;
    for (span_row& s : *all) found[{s.trace.high, s.trace.low}].push_back(std::move(s));
    std::vector<std::vector<span_row>> out;
    for (const trace_id& id : ids) out.push_back(with_open(id, std::move(found[{id.high, id.low}]), UINT64_MAX));
    return out;
  }
  result<std::vector<span_row>> spans(std::string_view where, std::string_view order,
                                      std::uint64_t limit) const override {
    return rows<span_row>("SELECT " + std::string(span_columns) + " FROM spans" + tail_of(where, order, limit),
                          span_of);
  }
  result<std::vector<log_row>> logs(std::string_view where, std::string_view order,
                                    std::uint64_t limit) const override {
    return rows<log_row>("SELECT " + std::string(log_columns) + " FROM logs" + tail_of(where, order, limit), log_of);
  }
  result<std::vector<link_row>> links_from(trace_id trace, std::optional<span_id> span) const override {
    const auto found = this->trace(trace, 2'000'000);
    if (!found) return found.error();
    return links_of(*found, span);
  }
  result<std::vector<link_row>> links_to(trace_id trace, std::optional<span_id> span) const override {
    std::string where =
        "to_trace_hi = " + std::to_string(trace.high) + " AND to_trace_lo = " + std::to_string(trace.low);
    if (span) where += " AND to_span = " + std::to_string(span->value);
    return rows<link_row>(
        "SELECT DISTINCT from_trace_hi, from_trace_lo, from_span, to_trace_hi, to_trace_lo, to_span, kind, start_ns "
        "FROM "
        "links_data WHERE " +
            where + " ORDER BY start_ns, from_span FORMAT RowBinary",
        link_of, one_shard);
  }
  std::vector<span_row> open_spans() const override { return open_.all(); }

  result<table> query(std::string_view text, query_limits limits) const override;
  const dialect& sql() const override { return sql_; }

  void settle() override {}  // what was acknowledged can be asked for
  store_stats stats() const override;
  std::shared_ptr<void> watch(listener f) override { return listeners_.add(std::move(f)); }

 private:
  static constexpr milliseconds quick{5'000};
  // ClickHouse wants few and large inserts: so long from one to the next, unless so much waits.
  static constexpr milliseconds pause{200};
  static constexpr std::size_t large = 8u << 20;

  // Batches that share an insert, and their outcome.
  struct group {
    insert rows;
    std::size_t bytes = 0;
    bool done = false;
    result<void> outcome;
  };

  std::vector<span_row> with_open(trace_id id, std::vector<span_row> kept, std::uint64_t limit) const {
    std::vector<span_row> open = open_.of(id);
    std::move(open.begin(), open.end(), std::back_inserter(kept));
    return as_trace(std::move(kept), limit);
  }

  template <class Row>
  result<std::vector<Row>> rows(const std::string& sql, result<Row> (*read)(row_binary_reader&),
                                clickhouse_client::settings more = {}) const {
    const auto answer = client_.ask(sql, std::chrono::seconds(options_.timeout_seconds), std::move(more));
    if (!answer) return answer.error();
    std::vector<Row> out;
    row_binary_reader r(*answer);
    while (!r.at_end()) {
      auto row = read(r);
      if (!r.good()) return error{"ClickHouse's answer ends in the middle of a row: is there a proxy that changes it?"};
      if (!row) return row.error();
      out.push_back(std::move(*row));
    }
    return out;
  }

  void send_loop() {
    auto begun = clock::now() - pause;
    auto looked = clock::now();
    for (;;) {
      std::shared_ptr<group> mine;
      {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::seconds(1), [&] { return stopping_ || next_->bytes != 0; });
        changed_.wait_until(lock, begun + pause, [&] { return stopping_ || next_->bytes >= large; });
        if (next_->bytes != 0) mine = std::exchange(next_, std::make_shared<group>());
        if (mine == nullptr && stopping_) return;
      }
      if (mine != nullptr) {
        begun = clock::now();
        auto outcome = send(mine->rows);
        const std::lock_guard lock(mutex_);
        mine->outcome = std::move(outcome);
        mine->done = true;
        waiting_bytes_ -= mine->bytes;
        done_.notify_all();
      }
      if (clock::now() - looked < std::chrono::seconds(1)) continue;
      keep_lost();
      looked = clock::now();
    }
  }

  // Spans last: a link that leads nowhere is less wrong than a span whose links are missing.
  result<void> send(insert& i) {
    for (const auto& [table, rows] : {std::pair("links_data", &i.links), std::pair("logs_data", &i.logs),
                                      std::pair("metrics_data", &i.points), std::pair("spans_data", &i.spans)}) {
      if (rows->empty()) continue;
      if (const auto sent = client_.insert(table, rows->take()); !sent) return sent;
    }
    return {};
  }

  // Lost spans are sent until they are kept: nobody else sends them again.
  void keep_lost() {
    for (auto& b : open_.take_lost(clock::now(), std::chrono::seconds(options_.heartbeat_timeout_seconds))) {
      lost_.push_back(std::move(b));
    }
    if (lost_.empty()) return;
    insert rows;
    for (const auto& b : lost_) rows.add(*b);
    if (!send(rows)) return;
    for (const auto& b : lost_) follow(*b);
    lost_.clear();
  }
  void follow(const batch& b) {
    open_.follow(b);
    listeners_.tell(b);
  }

  const clickhouse_options options_;
  const clickhouse_client client_;
  const clickhouse_dialect sql_;
  class open_spans open_;
  listeners listeners_;

  std::mutex mutex_;
  std::condition_variable changed_;  // something waits to be sent, or the end has come
  std::condition_variable done_;
  std::shared_ptr<group> next_ = std::make_shared<group>();
  std::atomic<std::uint64_t> waiting_bytes_{0};
  bool stopping_ = false;
  std::vector<std::shared_ptr<const batch>> lost_;  // the sender's
  std::thread sender_;

  mutable std::mutex stats_mutex_;
  mutable store_stats last_;  // the last answer, for when there is none
};

// Whether it begins with SELECT or WITH, behind blanks, comments and parentheses. That it can't write is the server's
// to see to (readonly); this is for a clear answer.
bool is_question(std::string_view sql) {
  for (;;) {
    const std::size_t begin = sql.find_first_not_of(" \t\r\n(");
    if (begin == std::string_view::npos) return false;
    sql.remove_prefix(begin);
    const bool line = sql.starts_with("--");
    if (!line && !sql.starts_with("/*")) break;
    const std::size_t end = sql.find(line ? "\n" : "*/");
    if (end == std::string_view::npos) return false;
    sql.remove_prefix(end + (line ? 1 : 2));
  }
  std::string word;
  for (const char c : sql.substr(0, sql.find_first_of(" \t\r\n(/*-'\"+"))) word += static_cast<char>(c & ~0x20);
  return word == "SELECT" || word == "WITH";
}

result<table> clickhouse_store::query(std::string_view text, query_limits limits) const {
  while (text.ends_with(';') || text.ends_with(' ') || text.ends_with('\n')) text.remove_suffix(1);
  if (!is_question(text)) return error{"only SELECT is answered here: the store is written by what it receives"};
  const auto answer = client_.ask(text, milliseconds(limits.timeout_ms),
                                  {{"default_format", "JSONCompactEachRowWithNamesAndTypes"},
                                   {"limit", std::to_string(limits.rows + 1)},
                                   {"output_format_json_quote_denormals", "1"}});
  if (!answer) {
    const std::string& why = answer.error().message;
    if (why.find("TIMEOUT_EXCEEDED") == std::string::npos) return answer.error();
    return error{"the query took longer than " + std::to_string(limits.timeout_ms) +
                 " ms and was stopped. Ask for less: a shorter time, fewer columns."};
  }
  table out;
  std::vector<std::string> types;
  std::string_view left = *answer;
  for (std::size_t line = 0; !left.empty(); ++line) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    const auto row = nlohmann::json::parse(left.substr(0, end), nullptr, false);
    left.remove_prefix(std::min(end + 1, left.size()));
    if (!row.is_array() || (line > 1 && row.size() != types.size())) {
      return error{"ClickHouse's answer can't be read: leave FORMAT out of the query"};
    }
    if (line < 2) {
      auto& list = line == 0 ? out.columns : types;
      for (const auto& v : row) list.push_back(v.is_string() ? v.get<std::string>() : v.dump());
      continue;
    }
    if (out.rows.size() == limits.rows) {
      out.cut = true;
      break;
    }
    auto& cells = out.rows.emplace_back();
    for (std::size_t i = 0; i < types.size(); ++i) cells.push_back(cell_of(row[i], types[i]));
  }
  return out;
}

store_stats clickhouse_store::stats() const {
  // One row for each table: name, rows, the oldest and the newest.
  std::string sql;
  for (const auto& [table, time] : {std::pair("spans_data", "start_ns"), std::pair("links_data", "start_ns"),
                                    std::pair("logs_data", "time_ns"), std::pair("metrics_data", "time_ns")}) {
    sql += (sql.empty() ? "SELECT '" : " UNION ALL SELECT '") + std::string(table) + "', count(), min(" + time +
           "), max(" + time + ") FROM " + table;
  }
  const std::string parts =
      options_.cluster.empty() ? "system.parts" : "cluster('" + options_.cluster + "', system.parts)";
  sql += " UNION ALL SELECT 'parts', sum(bytes_on_disk), toInt64(countIf(table LIKE 'spans\\_data%')), 0 FROM " +
         parts + " WHERE active AND database = " + sql_.text(client_.database()) + " FORMAT RowBinary";
  const auto answer = client_.ask(sql, quick);
  const std::lock_guard lock(stats_mutex_);
  if (answer) {
    store_stats s;
    for (row_binary_reader r(*answer); !r.at_end();) {
      const std::string_view table = r.text();
      const auto rows = r.number<std::uint64_t>();
      const auto oldest = r.number<std::int64_t>();
      const auto newest = r.number<std::int64_t>();
      if (table == "spans_data") {
        s.spans = rows;
        s.oldest_ns = oldest;
        s.newest_ns = newest;
      } else if (table == "links_data") {
        s.links = rows;
      } else if (table == "logs_data") {
        s.logs = rows;
      } else if (table == "metrics_data") {
        s.metric_points = rows;
      } else {
        s.bytes = rows;
        s.files = static_cast<std::uint64_t>(oldest);
      }
    }
    last_ = s;
  }
  store_stats s = last_;
  s.open_spans = open_.size();
  return s;
}

}  // namespace

result<std::string> init_clickhouse(const clickhouse_options& o) {
  if (const auto good = check_clickhouse(o); !good) return good.error();
  auto at = parse_clickhouse_url(o.url);
  const clickhouse_schema schema{at->database, o.cluster};
  const clickhouse_client client(o, std::move(*at));
  const auto before = clickhouse_store::version_of(client, schema);
  if (!before) return before.error();
  if (*before > clickhouse_schema::newest) {
    return error{"the tables in ClickHouse's database " + schema.database + " are of version " +
                 std::to_string(*before) + ", made by a newer telltale than this (version " +
                 std::to_string(clickhouse_schema::newest) + "): use that one. Nothing was changed"};
  }
  const auto say = [&](const std::vector<std::string>& statements) -> result<void> {
    for (const std::string& s : statements) {
      if (const auto done = client.change(s); !done) return done;
    }
    return {};
  };
  if (*before == 0) {
    if (const auto made = say(schema.foundation()); !made) return made.error();
  }
  for (std::uint32_t v = *before + 1; v <= clickhouse_schema::newest; ++v) {
    const auto made = say(schema.migration(v));
    if (!made) return made.error();
    const auto noted =
        client.change("INSERT INTO " + schema.versions_table() + " (version) VALUES (" + std::to_string(v) + ")");
    if (!noted) return noted.error();
  }
  // Only where it changes: setting it anew makes the server go through all that it has.
  const auto engine = client.ask("SELECT engine_full FROM system.tables WHERE database = '" + schema.database +
                                     "' AND name = '" + schema.last_retained() + "' FORMAT TabSeparated",
                                 std::chrono::seconds(5));
  if (!engine) return engine.error();
  const bool as_wanted =
      o.max_age_seconds == 0
          ? engine->find(" TTL ") == std::string::npos
          : engine->find("toIntervalSecond(" + std::to_string(o.max_age_seconds) + ")") != std::string::npos;
  if (!as_wanted) {
    if (const auto kept = say(schema.retention(o.max_age_seconds)); !kept) return kept.error();
  }
  std::string out = "ClickHouse's database " + schema.database + ": ";
  out += *before == clickhouse_schema::newest ? "its tables are of version " + std::to_string(*before) + " already"
                                              : "tables made or migrated from version " + std::to_string(*before) +
                                                    " to " + std::to_string(clickhouse_schema::newest);
  out += o.max_age_seconds == 0 ? "; nothing is removed"
                                : "; what is older than " + std::to_string(o.max_age_seconds) + " s is removed";
  return out;
}

result<std::unique_ptr<store>> open_clickhouse(clickhouse_options o) {
  if (const auto good = check_clickhouse(o); !good) return good.error();
  auto at = parse_clickhouse_url(o.url);
  auto s = std::make_unique<clickhouse_store>(std::move(o), std::move(*at));
  if (const auto started = s->start(); !started) return started.error();
  return std::unique_ptr<store>(std::move(s));
}

}  // namespace telltale::hub
