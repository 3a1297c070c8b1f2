// Requests are untrusted: every length is checked by wire_reader, nesting is limited, and nothing recurses over the
// trees that spans form.
#include "hub/otlp/decode.hpp"

#include <algorithm>

#include "hub/otlp/text.hpp"
#include "hub/otlp/wire.hpp"

namespace telltale::hub {

namespace {

using otlp::any_value;
using otlp::field;

// Fields of AnyValue that core doesn't write.
constexpr std::uint32_t any_array = 5;
constexpr std::uint32_t any_map = 6;
constexpr std::uint32_t any_bytes = 7;

constexpr std::size_t promoted_count = 4;
constexpr std::string_view promoted_keys[promoted_count] = {"job_id", "module_id", "task_id", "phase"};
constexpr std::string_view key_link_kind = "telltale.link.kind";
constexpr std::string_view key_open_name = "telltale.span.name";
constexpr std::string_view key_open_start = "telltale.span.start_time_unix_nano";
constexpr std::string_view key_open_parent = "telltale.span.parent_id";
constexpr std::string_view key_recovered = "telltale.recovered";

std::size_t promoted(std::string_view key) noexcept {
  std::size_t i = 0;
  while (i < promoted_count && key != promoted_keys[i]) ++i;
  return i;
}

// A value as it came: a scalar, or the bytes of an AnyValue that nests.
struct raw_value {
  enum class kind : std::uint8_t { none, text, boolean, integer, real, nested } is = kind::none;
  std::string_view bytes;
  std::uint64_t number = 0;
};

std::optional<raw_value> read_value(std::string_view any) {
  raw_value v;
  wire_reader r(any);
  while (r.next()) {
    if (r.is(any_value::string_value.number, wire_type::length)) {
      v = {raw_value::kind::text, r.bytes(), 0};
    } else if (r.is(any_value::int_value.number, wire_type::varint)) {
      v = {raw_value::kind::integer, {}, r.number()};
    } else if (r.is(any_value::double_value.number, wire_type::fixed64)) {
      v = {raw_value::kind::real, {}, r.number()};
    } else if (r.is(any_value::bool_value.number, wire_type::varint)) {
      v = {raw_value::kind::boolean, {}, r.number()};
    } else if (r.type() == wire_type::length && r.field() >= any_array && r.field() <= any_bytes) {
      v = {raw_value::kind::nested, any, 0};
    }
  }
  if (r.malformed()) return std::nullopt;
  return v;
}

trace_id read_trace(std::string_view b) noexcept {
  trace_id id;
  std::memcpy(&id.high, b.data(), 8);
  std::memcpy(&id.low, b.data() + 8, 8);
  return {__builtin_bswap64(id.high), __builtin_bswap64(id.low)};
}
span_id read_span(std::string_view b) noexcept {
  span_id id;
  std::memcpy(&id.value, b.data(), 8);
  return {__builtin_bswap64(id.value)};
}

void append_base64(std::string& out, std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      three = three << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += i + k <= bytes.size() ? digits[three >> (18 - 6 * k) & 63] : '=';
    }
  }
}

class decoder {
 public:
  decoder(batch& into, const decode_limits& limits) : batch_(into), limits_(limits) {}

  bool request() {
    const auto s = static_cast<std::size_t>(batch_.signal);
    wire_reader r(batch_.body);
    while (r.next()) {
      if (!r.is(otlp::export_request::resources[s].number, wire_type::length)) continue;
      if (!resource(r.bytes())) return false;
    }
    return !r.malformed();
  }

 private:
  // What attributes() found beside the object it wrote.
  struct found {
    std::string_view promoted[promoted_count];
    std::string_view open_name;
    std::string_view open_parent;
    std::int64_t open_start = 0;
    bool recovered = false;
    bool lost = false;
  };

  bool resource(std::string_view bytes) {
    const auto s = static_cast<std::size_t>(batch_.signal);
    resource_record record;
    // The resource may stand behind its records.
    for (wire_reader r(bytes); r.next();) {
      if (r.is(otlp::resource_records::resource.number, wire_type::length) && !resource_attributes(record, r.bytes())) {
        return false;
      }
    }
    batch_.resources.push_back(record);
    wire_reader r(bytes);
    while (r.next()) {
      if (r.is(otlp::resource_records::scopes[s].number, wire_type::length) && !scope(r.bytes())) return false;
    }
    return !r.malformed();
  }

  bool resource_attributes(resource_record& record, std::string_view bytes) {
    json_.assign("{");
    std::uint32_t count = 0;
    std::string_view host;
    std::string_view k8s_node;
    std::string_view pid;
    wire_reader r(bytes);
    while (r.next()) {
      if (!r.is(otlp::resource::attributes.number, wire_type::length)) continue;
      std::string_view key;
      raw_value value;
      if (!key_value(r.bytes(), key, value)) return false;
      const auto as_text = [&] { return scalar_text(value); };
      if (key == "service.name") record.service = as_text();
      if (key == "host.name") host = as_text();
      if (key == "k8s.node.name") k8s_node = as_text();
      if (key == "process.pid") pid = as_text();
      std::string_view* const fields[] = {&record.job_id, &record.module_id, &record.task_id, &record.phase};
      if (const std::size_t p = promoted(key); p < promoted_count) *fields[p] = as_text();
      append_attribute(key, value, count);
    }
    json_ += '}';
    record.json = batch_.text.copy(json_);
    record.node = k8s_node.empty() ? host : k8s_node;
    if (!pid.empty()) {
      scratch_.assign(host);
      scratch_ += '\n';
      scratch_ += pid;
      scratch_ += '\n';
      scratch_ += record.service;
      record.instance = batch_.text.copy(scratch_);
    }
    return !r.malformed();
  }

  bool scope(std::string_view bytes) {
    const auto s = static_cast<std::size_t>(batch_.signal);
    std::string_view name;
    for (wire_reader r(bytes); r.next();) {
      if (!r.is(otlp::scope_records::scope.number, wire_type::length)) continue;
      for (wire_reader of_scope(r.bytes()); of_scope.next();) {
        if (of_scope.is(otlp::instrumentation_scope::name.number, wire_type::length)) name = text(of_scope.bytes());
      }
    }
    batch_.scopes.push_back(name);
    wire_reader r(bytes);
    while (r.next()) {
      if (!r.is(otlp::scope_records::records[s].number, wire_type::length)) continue;
      const bool read = batch_.signal == otlp::signal_kind::traces ? span(r.bytes())
                        : batch_.signal == otlp::signal_kind::logs ? log(r.bytes())
                                                                   : metric(r.bytes());
      if (!read) return false;
    }
    return !r.malformed();
  }

  const resource_record& of() const noexcept { return batch_.resources.back(); }
  std::uint32_t resource_index() const noexcept { return static_cast<std::uint32_t>(batch_.resources.size() - 1); }
  std::uint32_t scope_index() const noexcept { return static_cast<std::uint32_t>(batch_.scopes.size() - 1); }

  void reject(std::string_view what, std::string_view name, std::string_view why) {
    if (batch_.rejected++ != 0) return;
    batch_.why.assign(what);
    if (!name.empty()) {
      batch_.why += " \"";
      batch_.why += cut_to(text(name), 80);
      batch_.why += '"';
    }
    batch_.why += ' ';
    batch_.why += why;
  }

  bool span(std::string_view bytes) {
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
    json_.assign("{");
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

  // Where a record belongs: what it says of itself, else what its resource says.
  void place(span_record& s, const found& f) const {
    s.resource = resource_index();
    s.scope = scope_index();
    const auto one = [](std::string_view own, std::string_view inherited) { return own.empty() ? inherited : own; };
    s.job_id = one(f.promoted[0], of().job_id);
    s.module_id = one(f.promoted[1], of().module_id);
    s.task_id = one(f.promoted[2], of().task_id);
    s.phase = one(f.promoted[3], of().phase);
  }

  bool status(std::string_view bytes, span_record& s) {
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

  bool event(std::string_view bytes, std::uint32_t& count) {
    if (count == limits_.events) {
      ++batch_.shortened;
      return true;
    }
    ++count;
    events_ += events_.empty() ? '[' : ',';
    std::string_view name;
    std::uint64_t time = 0;
    json_.swap(kept_);  // the span's own attributes wait
    json_.assign("{");
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

  bool link(std::string_view bytes, std::size_t first) {
    if (batch_.links.size() - first == limits_.links) {
      ++batch_.shortened;
      return true;
    }
    link_record l;
    std::string_view trace;
    std::string_view id;
    json_.swap(kept_);
    json_.assign("{");
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

  bool log(std::string_view bytes) {
    log_record l;
    std::string_view trace;
    std::string_view span;
    std::uint64_t time = 0;
    std::uint64_t observed = 0;
    found f;
    std::uint32_t count = 0;
    json_.assign("{");
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

  bool metric(std::string_view bytes) {
    std::string_view name;
    std::string_view unit;
    for (wire_reader r(bytes); r.next();) {
      if (r.is(otlp::metric::name.number, wire_type::length)) name = text(r.bytes());
      if (r.is(otlp::metric::unit.number, wire_type::length)) unit = text(r.bytes());
    }
    wire_reader r(bytes);
    while (r.next()) {
      if (r.type() != wire_type::length) continue;
      const std::uint32_t n = r.field();
      if (n != otlp::metric::gauge.number && n != otlp::metric::sum.number && n != otlp::metric::histogram.number &&
          n != otlp::metric::exponential_histogram.number) {
        continue;
      }
      bool monotonic = false;
      for (wire_reader d(r.bytes()); d.next();) {
        if (d.is(otlp::metric_data::is_monotonic.number, wire_type::varint)) monotonic = d.number() != 0;
      }
      const std::string_view type = n == otlp::metric::gauge.number       ? "gauge"
                                    : n == otlp::metric::sum.number       ? (monotonic ? "counter" : "sum")
                                    : n == otlp::metric::histogram.number ? "histogram"
                                                                          : "exponential_histogram";
      wire_reader d(r.bytes());
      while (d.next()) {
        if (!d.is(otlp::metric_data::points.number, wire_type::length)) continue;
        point_record p;
        p.name = name;
        p.unit = unit;
        p.type = type;
        p.resource = resource_index();
        const bool read = n == otlp::metric::histogram.number               ? histogram(d.bytes(), p)
                          : n == otlp::metric::exponential_histogram.number ? exponential(d.bytes(), p)
                                                                            : number(d.bytes(), p);
        if (!read) return false;
      }
      if (d.malformed()) return false;
    }
    return !r.malformed();
  }

  // Keeps a point whose attributes are in json_.
  bool keep(point_record& p, std::uint64_t time) {
    if (time == 0 || time > INT64_MAX) {
      reject("point of metric", p.name, "has no time");
      return true;
    }
    p.time_ns = static_cast<std::int64_t>(time);
    close_object();
    p.attributes = batch_.text.copy(json_);
    batch_.points.push_back(p);
    return true;
  }

  bool number(std::string_view bytes, point_record& p) {
    std::uint64_t time = 0;
    std::uint32_t count = 0;
    json_.assign("{");
    wire_reader r(bytes);
    while (r.next()) {
      if (r.is(otlp::number_point::attributes.number, wire_type::length)) {
        if (!plain_attribute(r.bytes(), count)) return false;
      } else if (r.type() == wire_type::fixed64) {
        if (r.field() == otlp::number_point::time.number) time = r.number();
        if (r.field() == otlp::number_point::as_double.number) p.value = r.real();
        if (r.field() == otlp::number_point::as_int.number) {
          p.value = static_cast<double>(static_cast<std::int64_t>(r.number()));
        }
      }
    }
    p.count = 1;
    return !r.malformed() && keep(p, time);
  }

  bool histogram(std::string_view bytes, point_record& p) {
    std::uint64_t time = 0;
    std::uint32_t count = 0;
    std::string bounds;
    std::string counts;
    json_.assign("{");
    wire_reader r(bytes);
    while (r.next()) {
      if (r.type() == wire_type::fixed64) {
        if (r.field() == otlp::histogram_point::time.number) time = r.number();
        if (r.field() == otlp::histogram_point::count.number) p.count = r.number();
        if (r.field() == otlp::histogram_point::sum.number) p.value = r.real();
      } else if (r.type() == wire_type::length) {
        if (r.field() == otlp::histogram_point::attributes.number && !plain_attribute(r.bytes(), count)) return false;
        const bool is_counts = r.field() == otlp::histogram_point::bucket_counts.number;
        if (!is_counts && r.field() != otlp::histogram_point::bounds.number) continue;
        wire_reader packed(r.bytes());
        for (std::uint64_t v = 0; packed.next_packed_fixed64(v);) {
          std::string& list = is_counts ? counts : bounds;
          if (!list.empty()) list += ',';
          if (is_counts) {
            list += std::to_string(v);
          } else {
            append_json(list, std::bit_cast<double>(v));
          }
        }
        if (packed.malformed()) return false;
      }
    }
    if (r.malformed()) return false;
    p.buckets = batch_.text.copy(R"({"bounds":[)" + bounds + R"(],"counts":[)" + counts + "]}");
    return keep(p, time);
  }

  bool exponential(std::string_view bytes, point_record& p) {
    std::uint64_t time = 0;
    std::uint32_t count = 0;
    std::int64_t scale = 0;
    std::uint64_t zero = 0;
    std::string sides[2];
    json_.assign("{");
    const auto zigzag = [](std::uint64_t v) {
      return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
    };
    wire_reader r(bytes);
    while (r.next()) {
      if (r.type() == wire_type::fixed64) {
        if (r.field() == otlp::exponential_point::time.number) time = r.number();
        if (r.field() == otlp::exponential_point::count.number) p.count = r.number();
        if (r.field() == otlp::exponential_point::sum.number) p.value = r.real();
        if (r.field() == otlp::exponential_point::zero_count.number) zero = r.number();
      } else if (r.is(otlp::exponential_point::scale.number, wire_type::varint)) {
        scale = zigzag(r.number());
      } else if (r.type() == wire_type::length) {
        if (r.field() == otlp::exponential_point::attributes.number && !plain_attribute(r.bytes(), count)) return false;
        const bool positive = r.field() == otlp::exponential_point::positive.number;
        if (!positive && r.field() != otlp::exponential_point::negative.number) continue;
        std::int64_t offset = 0;
        std::string counts;
        wire_reader b(r.bytes());
        while (b.next()) {
          if (b.is(otlp::exponential_buckets::offset.number, wire_type::varint)) offset = zigzag(b.number());
          if (!b.is(otlp::exponential_buckets::counts.number, wire_type::length)) continue;
          wire_reader packed(b.bytes());
          for (std::uint64_t v = 0; packed.next_packed(v);) {
            if (!counts.empty()) counts += ',';
            counts += std::to_string(v);
          }
          if (packed.malformed()) return false;
        }
        if (b.malformed()) return false;
        sides[positive ? 0 : 1] = R"({"offset":)" + std::to_string(offset) + R"(,"counts":[)" + counts + "]}";
      }
    }
    if (r.malformed()) return false;
    for (std::string& side : sides) {
      if (side.empty()) side = R"({"offset":0,"counts":[]})";
    }
    p.buckets = batch_.text.copy(R"({"scale":)" + std::to_string(scale) + R"(,"zero":)" + std::to_string(zero) +
                                 R"(,"positive":)" + sides[0] + R"(,"negative":)" + sides[1] + "}");
    return keep(p, time);
  }

  // One attribute of a span or log record: promoted ones and ours go to `f`, the others into json_.
  bool attribute(std::string_view bytes, found& f, std::uint32_t& count) {
    std::string_view key;
    raw_value value;
    if (!key_value(bytes, key, value)) return false;
    if (const std::size_t p = promoted(key); p < promoted_count && value.is != raw_value::kind::none) {
      if (f.promoted[p].empty()) f.promoted[p] = scalar_text(value);
      return true;
    }
    if (key.starts_with("telltale.")) {
      if (key == key_open_name) {
        f.open_name = scalar_text(value);
        return true;
      }
      if (key == key_open_parent) {
        f.open_parent = scalar_text(value);
        return true;
      }
      if (key == key_open_start) {
        f.open_start = static_cast<std::int64_t>(value.number);
        return true;
      }
      f.recovered = f.recovered || key == key_recovered;
    } else if (key == "error.type" && value.bytes == "lost") {
      f.lost = true;
    }
    append_attribute(key, value, count);
    return true;
  }

  bool plain_attribute(std::string_view bytes, std::uint32_t& count) {
    std::string_view key;
    raw_value value;
    if (!key_value(bytes, key, value)) return false;
    append_attribute(key, value, count);
    return true;
  }

  static bool key_value(std::string_view bytes, std::string_view& key, raw_value& value) {
    wire_reader r(bytes);
    while (r.next()) {
      if (r.type() != wire_type::length) continue;
      if (r.field() == otlp::key_value::key.number) key = r.bytes();
      if (r.field() != otlp::key_value::value.number) continue;
      const auto v = read_value(r.bytes());
      if (!v) return false;
      value = *v;
    }
    return !r.malformed();
  }

  void append_attribute(std::string_view key, const raw_value& value, std::uint32_t& count) {
    if (count == limits_.attributes) {
      ++batch_.shortened;
      return;
    }
    ++count;
    if (json_.size() > 1) json_ += ',';
    append_json(json_, cut(key));
    json_ += ':';
    append_value(json_, value, 0);
  }
  void close_object() { json_ += '}'; }

  void append_value(std::string& out, const raw_value& v, std::uint32_t depth) {
    switch (v.is) {
      case raw_value::kind::text:
        return append_json(out, cut(v.bytes));
      case raw_value::kind::boolean:
        out += v.number != 0 ? "true" : "false";
        return;
      case raw_value::kind::integer:
        return append_json(out, static_cast<std::int64_t>(v.number));
      case raw_value::kind::real:
        return append_json(out, std::bit_cast<double>(v.number));
      case raw_value::kind::none:
        out += "null";
        return;
      case raw_value::kind::nested:
        return append_nested(out, v.bytes, depth);
    }
  }

  void append_nested(std::string& out, std::string_view any, std::uint32_t depth) {
    wire_reader r(any);
    std::string_view body;
    std::uint32_t kind = 0;
    while (r.next()) {
      if (r.type() == wire_type::length && r.field() >= any_array && r.field() <= any_bytes) {
        kind = r.field();
        body = r.bytes();
      }
    }
    if (kind == any_bytes) {
      out += '"';
      append_base64(out, body.substr(0, limits_.string_bytes / 4 * 3));
      out += '"';
      return;
    }
    if (depth == limits_.nesting) {
      ++batch_.shortened;
      out += "null";
      return;
    }
    const bool is_map = kind == any_map;
    out += is_map ? '{' : '[';
    bool first = true;
    for (wire_reader items(body); items.next();) {  // both lists are field 1
      if (!items.is(1, wire_type::length)) continue;
      if (!first) out += ',';
      first = false;
      std::string_view key;
      raw_value value;
      if (is_map) {
        if (!key_value(items.bytes(), key, value)) value = {};
        append_json(out, cut(key));
        out += ':';
      } else if (const auto v = read_value(items.bytes())) {
        value = *v;
      }
      append_value(out, value, depth + 1);
    }
    out += is_map ? '}' : ']';
  }

  // A value as text that lives as long as the batch.
  std::string_view scalar_text(const raw_value& v) {
    if (v.is == raw_value::kind::text) return text(v.bytes);
    if (v.is == raw_value::kind::none) return {};
    scratch_.clear();
    append_value(scratch_, v, 0);
    return batch_.text.copy(scratch_);
  }

  std::string_view cut(std::string_view s) {
    const std::string_view shorter = cut_to(s, limits_.string_bytes);
    if (shorter.size() != s.size()) ++batch_.shortened;
    return shorter;
  }
  // Cut, and in UTF-8.
  std::string_view text(std::string_view s) {
    s = cut(s);
    if (is_clean(s)) [[likely]]
      return s;
    return batch_.text.copy(cleaned(s));
  }

  batch& batch_;
  const decode_limits& limits_;
  std::string json_;
  std::string kept_;
  std::string events_;
  std::string links_;
  std::string scratch_;
};

constexpr std::string_view names[otlp::signals] = {"spans", "log records", "metrics"};

void put_varint(std::string& out, std::uint64_t v) {
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  out += static_cast<char>(v);
}

}  // namespace

result<std::shared_ptr<batch>> decode(otlp::signal_kind signal, std::string request, const decode_limits& limits) {
  auto b = std::make_shared<batch>(signal, std::move(request));
  if (!decoder(*b, limits).request()) {
    return error{"the request is no OTLP request with " + std::string(names[static_cast<std::size_t>(signal)]) + ": " +
                 std::to_string(b->body.size()) +
                 " bytes that are no protobuf of that kind. Was it cut, or sent to the wrong path?"};
  }
  return b;
}

std::string answer_protobuf(otlp::signal_kind signal, std::uint64_t rejected, std::string_view why) {
  if (rejected == 0 && why.empty()) return {};
  std::string inner;
  if (rejected != 0) {
    put_varint(inner, otlp::partial_success::rejected[static_cast<std::size_t>(signal)].number << 3);
    put_varint(inner, rejected);
  }
  put_varint(inner, otlp::partial_success::error_message.number << 3 | 2);
  put_varint(inner, why.size());
  inner += why;
  std::string out;
  put_varint(out, otlp::export_response::partial_success.number << 3 | 2);
  put_varint(out, inner.size());
  return out + inner;
}

std::string answer_json(otlp::signal_kind signal, std::uint64_t rejected, std::string_view why) {
  if (rejected == 0 && why.empty()) return "{}";
  std::string out = R"({"partialSuccess":{")";
  out += otlp::partial_success::rejected[static_cast<std::size_t>(signal)].json;
  out += R"(":")" + std::to_string(rejected) + R"(","errorMessage":)";
  append_json(out, why);
  return out + "}}";
}

}  // namespace telltale::hub
