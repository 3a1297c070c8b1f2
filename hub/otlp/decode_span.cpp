// Spans, with their events and links.
#include <algorithm>

#include "hub/otlp/decoder.hpp"
#include "hub/otlp/text.hpp"

namespace telltale::hub {

namespace {

constexpr std::string_view key_link_kind = "telltale.link.kind";

}  // namespace

bool decoder::span(std::string_view bytes) {
  span_record s;
  std::string_view trace;
  std::string_view id;
  std::string_view parent;
  std::string_view name;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  found f;
  std::uint32_t attribute_count = 0;
  std::uint32_t event_count = 0;
  const std::size_t first_link = batch_.links.size();
  open_object();
  events_.clear();
  links_.clear();
  wire_reader r(bytes);
  while (r.next()) {
    switch (r.type()) {
      case wire_type::length:
        switch (r.field()) {
          case otlp::span::attributes.number:
            if (!attribute(r.bytes(), f, attribute_count)) return false;
            break;
          case otlp::span::trace_id.number:
            trace = r.bytes();
            break;
          case otlp::span::span_id.number:
            id = r.bytes();
            break;
          case otlp::span::parent_span_id.number:
            parent = r.bytes();
            break;
          case otlp::span::name.number:
            name = r.bytes();
            break;
          case otlp::span::events.number:
            if (!event(r.bytes(), event_count)) return false;
            break;
          case otlp::span::links.number:
            if (!link(r.bytes(), first_link)) return false;
            break;
          case otlp::span::status.number:
            if (!status(r.bytes(), s)) return false;
            break;
          default:
            break;
        }
        break;
      case wire_type::fixed64:
        if (r.field() == otlp::span::start_time.number) start = r.number();
        if (r.field() == otlp::span::end_time.number) end = r.number();
        break;
      case wire_type::varint:
        if (r.field() == otlp::span::kind.number && r.number() <= 5) s.kind = static_cast<std::uint8_t>(r.number());
        break;
      default:
        break;
    }
  }
  if (r.malformed()) return false;
  const auto refuse = [&](std::string_view why) {
    batch_.links.resize(first_link);
    reject("span", name, why);
    return true;
  };
  if (trace.size() != 16) return refuse("has a trace id that isn't 16 bytes long");
  if (id.size() != 8) return refuse("has a span id that isn't 8 bytes long");
  if (!parent.empty() && parent.size() != 8) return refuse("has a parent's id that isn't 8 bytes long");
  s.trace = read_trace(trace);
  s.id = read_span(id);
  if (!parent.empty()) s.parent = read_span(parent);
  if (!s.trace || !s.id) return refuse("has an id of zeros");
  if (s.parent == s.id) return refuse("is its own parent");
  if (start == 0) return refuse("has no start");
  if (end < start) return refuse("ends before it starts");
  if (end > INT64_MAX) return refuse("ends after the year 2262");
  s.start_ns = static_cast<std::int64_t>(start);
  s.duration_ns = static_cast<std::int64_t>(end - start);
  s.name = text(name);
  if (f.recovered && f.lost) s.state = span_state::lost;
  close_object();
  s.attributes = batch_.text.copy(json_);
  if (!events_.empty()) s.events = batch_.text.copy(events_ += ']');
  if (!links_.empty()) s.links = batch_.text.copy(links_ += ']');
  s.first_link = static_cast<std::uint32_t>(first_link);
  s.link_count = static_cast<std::uint32_t>(batch_.links.size() - first_link);
  place(s, f);
  batch_.spans.push_back(s);
  return true;
}

bool decoder::status(std::string_view bytes, span_record& s) {
  wire_reader r(bytes);
  while (r.next()) {
    if (r.is(otlp::span_status::code.number, wire_type::varint) && r.number() <= 2) {
      s.status = static_cast<std::uint8_t>(r.number());
    } else if (r.is(otlp::span_status::message.number, wire_type::length)) {
      s.status_message = text(r.bytes());
    }
  }
  return !r.malformed();
}

bool decoder::event(std::string_view bytes, std::uint32_t& count) {
  if (count == limits_.events) {
    ++batch_.shortened;
    return true;
  }
  ++count;
  events_ += events_.empty() ? '[' : ',';
  std::string_view name;
  std::uint64_t time = 0;
  json_.swap(kept_);  // the span's own attributes wait
  open_object();
  std::uint32_t attributes = 0;
  wire_reader r(bytes);
  bool good = true;
  while (good && r.next()) {
    if (r.is(otlp::span_event::time.number, wire_type::fixed64)) time = r.number();
    if (r.is(otlp::span_event::name.number, wire_type::length)) name = r.bytes();
    if (r.is(otlp::span_event::attributes.number, wire_type::length)) good = plain_attribute(r.bytes(), attributes);
  }
  close_object();
  events_ += R"({"time_ns":)";
  append_json(events_, static_cast<std::int64_t>(std::min<std::uint64_t>(time, INT64_MAX)));
  events_ += R"(,"name":)";
  append_json(events_, cut(name));
  events_ += R"(,"attributes":)";
  events_ += json_;
  events_ += '}';
  json_.swap(kept_);
  return good && !r.malformed();
}

bool decoder::link(std::string_view bytes, std::size_t first) {
  if (batch_.links.size() - first == limits_.links) {
    ++batch_.shortened;
    return true;
  }
  link_record l;
  std::string_view trace;
  std::string_view id;
  json_.swap(kept_);
  open_object();
  std::uint32_t attributes = 0;
  wire_reader r(bytes);
  bool good = true;
  while (good && r.next()) {
    if (r.type() != wire_type::length) continue;
    if (r.field() == otlp::span_link::trace_id.number) trace = r.bytes();
    if (r.field() == otlp::span_link::span_id.number) id = r.bytes();
    if (r.field() != otlp::span_link::attributes.number) continue;
    std::string_view key;
    raw_value value;
    good = key_value(r.bytes(), key, value);
    if (good && key == key_link_kind && value.is == raw_value::kind::text) {
      l.kind = text(value.bytes);
    } else if (good) {
      append_attribute(key, value, attributes);
    }
  }
  close_object();
  const std::string written = std::move(json_);
  json_.swap(kept_);
  if (!good || r.malformed()) return false;
  if (trace.size() != 16 || id.size() != 8) {  // the span is worth keeping without it
    ++batch_.shortened;
    return true;
  }
  l.trace = read_trace(trace);
  l.span = read_span(id);
  if (!l.trace || !l.span) {
    ++batch_.shortened;
    return true;
  }
  links_ += links_.empty() ? '[' : ',';
  links_ += R"({"trace_id":")" + to_hex(l.trace) + R"(","span_id":")" + to_hex(l.span) + R"(","kind":)";
  append_json(links_, l.kind);
  links_ += R"(,"attributes":)" + written + "}";
  batch_.links.push_back(l);
  return true;
}

}  // namespace telltale::hub
