#include "hub/store/memory_tables.hpp"

#include <algorithm>
#include <utility>

namespace telltale::hub {

memory_tables::memory_tables(duckdb_database db, std::uint64_t generation, recent_spans before)
    : generation_(generation), before_(std::move(before)), connection_(db) {
  for (const file_kind k : kinds) {
    std::vector<duckdb_type> types;
    for (const column& c : relation_of(k).columns) types.push_back(c.type);
    appenders_[index(k)] = std::make_unique<duck::appender>(connection_, table_of(k, generation), std::move(types));
    counts_[index(k)].kind = k;
  }
  resources_ = std::make_unique<duck::appender>(connection_, resources_of(generation),
                                                std::vector<duckdb_type>{DUCKDB_TYPE_UINTEGER, DUCKDB_TYPE_VARCHAR});
}

result<void> memory_tables::insert(const std::shared_ptr<const batch>& b) {
  unseen_.push_back(b);
  unseen_records_ += b->records();
  bytes_ += b->body.size();
  std::vector<std::uint32_t> resources;
  for (const resource_record& r : b->resources) resources.push_back(number_of(r));
  if (const auto kept = insert_spans(*b, resources); !kept) return kept;
  if (const auto kept = insert_logs(*b, resources); !kept) return kept;
  return insert_points(*b);
}

result<std::uint64_t> memory_tables::flush() {
  if (const auto flushed = resources_->flush(); !flushed) return flushed.error();
  for (const auto& a : appenders_) {
    if (const auto flushed = a->flush(); !flushed) return flushed.error();
  }
  unseen_.clear();
  return std::exchange(unseen_records_, 0);
}

std::uint64_t memory_tables::rows() const noexcept {
  std::uint64_t all = 0;
  for (const file_entry& e : counts_) all += e.rows;
  return all;
}

std::uint32_t memory_tables::number_of(const resource_record& r) {
  const auto it = resource_numbers_.find(std::string(r.json));
  if (it != resource_numbers_.end()) return it->second;
  const auto number = static_cast<std::uint32_t>(resource_numbers_.size());
  const auto [added, is_new] = resource_numbers_.emplace(r.json, number);
  resources_->number(0, number);
  resources_->text(1, added->first);
  (void)resources_->end_row();
  return number;
}

void memory_tables::note(file_kind k, std::int64_t ns) noexcept {
  file_entry& e = counts_[index(k)];
  e.min_ns = e.rows == 0 ? ns : std::min(e.min_ns, ns);
  e.max_ns = e.rows == 0 ? ns : std::max(e.max_ns, ns);
  ++e.rows;
}

result<void> memory_tables::insert_spans(const batch& b, const std::vector<std::uint32_t>& resources) {
  std::vector<const span_record*> fresh;
  fresh.reserve(b.spans.size());
  for (const span_record& s : b.spans) {
    if (before_.holds(s.trace, s.id, s.state) || !recent_.add(s.trace, s.id, s.state)) continue;
    fresh.push_back(&s);
  }
  repeated_ += b.spans.size() - fresh.size();
  known_->add(b, fresh);
  for (const span_record* one : fresh) {
    const span_record& s = *one;
    duck::appender& a = of(file_kind::spans);
    const resource_record& r = b.resources[s.resource];
    a.number(0, s.trace.high);
    a.number(1, s.trace.low);
    a.number(2, s.id.value);
    a.number(3, s.parent.value);
    a.text(4, s.name);
    a.text(5, r.service);
    a.text(6, b.scopes[s.scope]);
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
    a.number(21, resources[s.resource]);
    if (const auto sent = a.end_row(); !sent) return sent.error();
    note(file_kind::spans, s.start_ns);
    for (std::uint32_t i = 0; i < s.link_count; ++i) {
      const link_record& l = b.links[s.first_link + i];
      duck::appender& to = of(file_kind::links);
      to.number(0, s.trace.high);
      to.number(1, s.trace.low);
      to.number(2, s.id.value);
      to.number(3, l.trace.high);
      to.number(4, l.trace.low);
      to.number(5, l.span.value);
      to.text(6, l.kind);
      to.number(7, s.start_ns);
      if (const auto sent = to.end_row(); !sent) return sent.error();
      note(file_kind::links, s.start_ns);
    }
  }
  return {};
}

result<void> memory_tables::insert_logs(const batch& b, const std::vector<std::uint32_t>& resources) {
  for (const log_record& l : b.logs) {
    duck::appender& a = of(file_kind::logs);
    const resource_record& r = b.resources[l.resource];
    a.number(0, l.time_ns);
    a.number(1, l.trace.high);
    a.number(2, l.trace.low);
    a.number(3, l.span.value);
    a.number(4, l.severity);
    a.text(5, l.severity_text);
    a.text(6, r.service);
    a.text(7, b.scopes[l.scope]);
    a.text(8, r.node);
    a.text_or_null(9, l.event_name);
    a.text(10, l.body);
    a.text_or_null(11, l.job_id);
    a.text(12, l.attributes);
    a.number(13, resources[l.resource]);
    if (const auto sent = a.end_row(); !sent) return sent.error();
    note(file_kind::logs, l.time_ns);
  }
  return {};
}

result<void> memory_tables::insert_points(const batch& b) {
  for (const point_record& p : b.points) {
    duck::appender& a = of(file_kind::metrics);
    const resource_record& r = b.resources[p.resource];
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
    note(file_kind::metrics, p.time_ns);
  }
  return {};
}

}  // namespace telltale::hub
