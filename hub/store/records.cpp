#include "hub/store/records.hpp"

#include "hub/otlp/text.hpp"

namespace telltale::hub {

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

result<log_row> log_of(const duck::rows& r, std::size_t i) {
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
  if (!attributes) return attributes.error();
  auto resource = parse_attributes(r.text(13, i));
  if (!resource) return resource.error();
  l.attributes = std::move(*attributes);
  l.resource = std::move(*resource);
  return l;
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

}  // namespace telltale::hub
