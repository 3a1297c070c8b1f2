// Log records, and what they tell of spans that are still open.
#include "hub/otlp/decoder.hpp"
#include "hub/otlp/text.hpp"

namespace telltale::hub {

bool decoder::log(std::string_view bytes) {
  log_record l;
  std::string_view trace;
  std::string_view span;
  std::uint64_t time = 0;
  std::uint64_t observed = 0;
  found f;
  std::uint32_t count = 0;
  open_object();
  wire_reader r(bytes);
  while (r.next()) {
    if (r.type() == wire_type::fixed64) {
      if (r.field() == otlp::log_record::time.number) time = r.number();
      if (r.field() == otlp::log_record::observed_time.number) observed = r.number();
    } else if (r.is(otlp::log_record::severity_number.number, wire_type::varint)) {
      l.severity = r.number() <= 24 ? static_cast<std::uint8_t>(r.number()) : 0;
    } else if (r.type() == wire_type::length) {
      switch (r.field()) {
        case otlp::log_record::severity_text.number:
          l.severity_text = text(r.bytes());
          break;
        case otlp::log_record::body.number: {
          const auto v = read_value(r.bytes());
          if (!v) return false;
          l.body = scalar_text(*v);
          break;
        }
        case otlp::log_record::attributes.number:
          if (!attribute(r.bytes(), f, count)) return false;
          break;
        case otlp::log_record::trace_id.number:
          trace = r.bytes();
          break;
        case otlp::log_record::span_id.number:
          span = r.bytes();
          break;
        case otlp::log_record::event_name.number:
          l.event_name = text(r.bytes());
          break;
        default:
          break;
      }
    }
  }
  if (r.malformed()) return false;
  const auto refuse = [&](std::string_view why) {
    reject("log record", l.body, why);
    return true;
  };
  if (!trace.empty() && trace.size() != 16) return refuse("has a trace id that isn't 16 bytes long");
  if (!span.empty() && span.size() != 8) return refuse("has a span id that isn't 8 bytes long");
  if (!trace.empty()) l.trace = read_trace(trace);
  if (!span.empty()) l.span = read_span(span);
  if (time == 0) time = observed;
  if (time > INT64_MAX) return refuse("is of after the year 2262");
  l.time_ns = static_cast<std::int64_t>(time);
  close_object();
  const std::string_view attributes = batch_.text.copy(json_);
  if (l.event_name == otlp::event_open || l.event_name == otlp::event_heartbeat) {
    if (!l.trace || !l.span || f.open_start <= 0 || f.open_start > l.time_ns) {
      return refuse("tells of an open span without saying which, or since when");
    }
    span_record s;
    s.trace = l.trace;
    s.id = l.span;
    if (const auto parent = span_id_of(f.open_parent); parent && !(*parent == l.span)) s.parent = *parent;
    s.name = f.open_name;
    s.start_ns = f.open_start;
    s.duration_ns = l.time_ns - f.open_start;
    s.state = span_state::open;
    s.attributes = attributes;
    place(s, f);
    batch_.open.push_back(s);
    return true;
  }
  l.attributes = attributes;
  l.resource = resource_index();
  l.scope = scope_index();
  l.job_id = f.promoted[0].empty() ? of().job_id : f.promoted[0];
  batch_.logs.push_back(l);
  return true;
}

}  // namespace telltale::hub
