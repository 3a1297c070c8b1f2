// OTLP/JSON to protobuf, by a table of the messages: ids are hexadecimal, 64-bit integers may be strings, byte values
// base64.
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "hub/otlp/decode.hpp"

namespace telltale::hub {

namespace {

using otlp::field;
using json = nlohmann::json;

enum class form : std::uint8_t { message, text, id, base64, boolean, integer, zigzag, fixed64, fixed32, real };

struct message_type;
struct member {
  field of;
  form is;
  bool repeated = false;
  const message_type* type = nullptr;  // of a message
};
struct message_type {
  std::string_view name;
  std::span<const member> members;
};

extern const message_type any_value;
constexpr member key_value_members[] = {{otlp::key_value::key, form::text},
                                        {otlp::key_value::value, form::message, false, &any_value}};
constexpr message_type key_value{"KeyValue", key_value_members};
constexpr member array_members[] = {{{1, "values"}, form::message, true, &any_value}};
constexpr message_type array{"ArrayValue", array_members};
constexpr member map_members[] = {{{1, "values"}, form::message, true, &key_value}};
constexpr message_type map{"KeyValueList", map_members};
constexpr member any_members[] = {{otlp::any_value::string_value, form::text},
                                  {otlp::any_value::bool_value, form::boolean},
                                  {otlp::any_value::int_value, form::integer},
                                  {otlp::any_value::double_value, form::real},
                                  {{5, "arrayValue"}, form::message, false, &array},
                                  {{6, "kvlistValue"}, form::message, false, &map},
                                  {{7, "bytesValue"}, form::base64}};
constexpr message_type any_value{"AnyValue", any_members};

// Fields that the hub doesn't keep stand here as well: a request that goes on to another receiver goes on whole.
constexpr member resource_members[] = {{otlp::resource::attributes, form::message, true, &key_value},
                                       {{2, "droppedAttributesCount"}, form::integer}};
constexpr message_type resource{"Resource", resource_members};
constexpr member scope_members[] = {{otlp::instrumentation_scope::name, form::text},
                                    {otlp::instrumentation_scope::version, form::text},
                                    {{3, "attributes"}, form::message, true, &key_value},
                                    {{4, "droppedAttributesCount"}, form::integer}};
constexpr message_type scope{"InstrumentationScope", scope_members};

constexpr member event_members[] = {{otlp::span_event::time, form::fixed64},
                                    {otlp::span_event::name, form::text},
                                    {otlp::span_event::attributes, form::message, true, &key_value},
                                    {{4, "droppedAttributesCount"}, form::integer}};
constexpr message_type event{"Event", event_members};
constexpr member link_members[] = {{otlp::span_link::trace_id, form::id},
                                   {otlp::span_link::span_id, form::id},
                                   {{3, "traceState"}, form::text},
                                   {otlp::span_link::attributes, form::message, true, &key_value},
                                   {{5, "droppedAttributesCount"}, form::integer},
                                   {{6, "flags"}, form::fixed32}};
constexpr message_type link{"Link", link_members};
constexpr member status_members[] = {{otlp::span_status::message, form::text},
                                     {otlp::span_status::code, form::integer}};
constexpr message_type status{"Status", status_members};
constexpr member span_members[] = {{otlp::span::trace_id, form::id},
                                   {otlp::span::span_id, form::id},
                                   {otlp::span::trace_state, form::text},
                                   {otlp::span::parent_span_id, form::id},
                                   {otlp::span::name, form::text},
                                   {otlp::span::kind, form::integer},
                                   {otlp::span::start_time, form::fixed64},
                                   {otlp::span::end_time, form::fixed64},
                                   {otlp::span::attributes, form::message, true, &key_value},
                                   {otlp::span::dropped_attributes, form::integer},
                                   {otlp::span::events, form::message, true, &event},
                                   {otlp::span::dropped_events, form::integer},
                                   {otlp::span::links, form::message, true, &link},
                                   {otlp::span::dropped_links, form::integer},
                                   {otlp::span::flags, form::fixed32},
                                   {otlp::span::status, form::message, false, &status}};
constexpr message_type span_type{"Span", span_members};

constexpr member log_members[] = {{otlp::log_record::time, form::fixed64},
                                  {otlp::log_record::severity_number, form::integer},
                                  {otlp::log_record::severity_text, form::text},
                                  {otlp::log_record::body, form::message, false, &any_value},
                                  {otlp::log_record::attributes, form::message, true, &key_value},
                                  {{7, "droppedAttributesCount"}, form::integer},
                                  {otlp::log_record::flags, form::fixed32},
                                  {otlp::log_record::trace_id, form::id},
                                  {otlp::log_record::span_id, form::id},
                                  {otlp::log_record::observed_time, form::fixed64},
                                  {otlp::log_record::event_name, form::text}};
constexpr message_type log_type{"LogRecord", log_members};

constexpr member number_members[] = {{otlp::number_point::start_time, form::fixed64},
                                     {otlp::number_point::time, form::fixed64},
                                     {otlp::number_point::as_double, form::real},
                                     {otlp::number_point::as_int, form::fixed64},
                                     {otlp::number_point::attributes, form::message, true, &key_value},
                                     {{8, "flags"}, form::integer}};
constexpr message_type number_point{"NumberDataPoint", number_members};
constexpr member histogram_members[] = {{otlp::histogram_point::start_time, form::fixed64},
                                        {otlp::histogram_point::time, form::fixed64},
                                        {otlp::histogram_point::count, form::fixed64},
                                        {otlp::histogram_point::sum, form::real},
                                        {otlp::histogram_point::bucket_counts, form::fixed64, true},
                                        {otlp::histogram_point::bounds, form::real, true},
                                        {otlp::histogram_point::attributes, form::message, true, &key_value},
                                        {{10, "flags"}, form::integer},
                                        {{11, "min"}, form::real},
                                        {{12, "max"}, form::real}};
constexpr message_type histogram{"HistogramDataPoint", histogram_members};
constexpr member buckets_members[] = {{otlp::exponential_buckets::offset, form::zigzag},
                                      {otlp::exponential_buckets::counts, form::integer, true}};
constexpr message_type buckets{"Buckets", buckets_members};
constexpr member exponential_members[] = {{otlp::exponential_point::attributes, form::message, true, &key_value},
                                          {otlp::exponential_point::start_time, form::fixed64},
                                          {otlp::exponential_point::time, form::fixed64},
                                          {otlp::exponential_point::count, form::fixed64},
                                          {otlp::exponential_point::sum, form::real},
                                          {otlp::exponential_point::scale, form::zigzag},
                                          {otlp::exponential_point::zero_count, form::fixed64},
                                          {otlp::exponential_point::positive, form::message, false, &buckets},
                                          {otlp::exponential_point::negative, form::message, false, &buckets},
                                          {{10, "flags"}, form::integer},
                                          {{12, "min"}, form::real},
                                          {{13, "max"}, form::real},
                                          {{14, "zeroThreshold"}, form::real}};
constexpr message_type exponential{"ExponentialHistogramDataPoint", exponential_members};
template <const message_type& Points>
constexpr member data_members[] = {{otlp::metric_data::points, form::message, true, &Points},
                                   {otlp::metric_data::temporality, form::integer},
                                   {otlp::metric_data::is_monotonic, form::boolean}};
constexpr message_type numbers{"Gauge or Sum", data_members<number_point>};
constexpr message_type histograms{"Histogram", data_members<histogram>};
constexpr message_type exponentials{"ExponentialHistogram", data_members<exponential>};
constexpr member metric_members[] = {{otlp::metric::name, form::text},
                                     {otlp::metric::description, form::text},
                                     {otlp::metric::unit, form::text},
                                     {otlp::metric::gauge, form::message, false, &numbers},
                                     {otlp::metric::sum, form::message, false, &numbers},
                                     {otlp::metric::histogram, form::message, false, &histograms},
                                     {otlp::metric::exponential_histogram, form::message, false, &exponentials}};
constexpr message_type metric_type{"Metric", metric_members};

template <std::size_t S, const message_type& Record>
struct request_of {
  static constexpr member of_scope[] = {{otlp::scope_records::scope, form::message, false, &scope},
                                        {otlp::scope_records::records[S], form::message, true, &Record},
                                        {{3, "schemaUrl"}, form::text}};
  static constexpr message_type scopes{"ScopeRecords", of_scope};
  static constexpr member of_resource[] = {{otlp::resource_records::resource, form::message, false, &resource},
                                           {otlp::resource_records::scopes[S], form::message, true, &scopes},
                                           {{3, "schemaUrl"}, form::text}};
  static constexpr message_type resources{"ResourceRecords", of_resource};
  static constexpr member members[] = {{otlp::export_request::resources[S], form::message, true, &resources}};
  static constexpr message_type request{"request", members};
};
constexpr const message_type* requests[otlp::signals] = {
    &request_of<0, span_type>::request, &request_of<1, log_type>::request, &request_of<2, metric_type>::request};

void put_varint(std::string& out, std::uint64_t v) {
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  out += static_cast<char>(v);
}
void put_tag(std::string& out, std::uint32_t number, unsigned type) {
  put_varint(out, number << 3 | type);
}
void put_bytes(std::string& out, std::string_view bytes) {
  put_varint(out, bytes.size());
  out += bytes;
}
void put_fixed(std::string& out, std::uint64_t v, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(v >> (8 * i));
}

// Numbers may be numbers or strings. An unsigned one is kept as its bits.
std::optional<std::uint64_t> integer_of(const json& v) {
  if (v.is_number_unsigned()) return v.get<std::uint64_t>();
  if (v.is_number_integer()) return static_cast<std::uint64_t>(v.get<std::int64_t>());
  if (v.is_number_float()) {
    const double d = v.get<double>();  // 1e3 is a whole number, too
    if (!(d > -9.2e18 && d < 9.2e18) || d != static_cast<double>(static_cast<std::int64_t>(d))) return std::nullopt;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(d));
  }
  if (!v.is_string()) return std::nullopt;
  const auto& s = v.get_ref<const std::string&>();
  const char* const end = s.data() + s.size();
  std::uint64_t u = 0;
  if (const auto [p, failed] = std::from_chars(s.data(), end, u); failed == std::errc{} && p == end) return u;
  std::int64_t i = 0;
  if (const auto [p, failed] = std::from_chars(s.data(), end, i); failed == std::errc{} && p == end) {
    return static_cast<std::uint64_t>(i);
  }
  return std::nullopt;
}
std::optional<double> real_of(const json& v) {
  if (v.is_number()) return v.get<double>();
  if (!v.is_string()) return std::nullopt;
  const auto& s = v.get_ref<const std::string&>();
  if (s == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (s == "Infinity") return std::numeric_limits<double>::infinity();
  if (s == "-Infinity") return -std::numeric_limits<double>::infinity();
  double d = 0;
  const auto [p, failed] = std::from_chars(s.data(), s.data() + s.size(), d);
  if (failed != std::errc{} || p != s.data() + s.size()) return std::nullopt;
  return d;
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
// What is no hexadecimal becomes no bytes at all: an id of the wrong length, whose record the decoder rejects.
std::string from_hex(std::string_view s) {
  std::string out;
  if (s.size() % 2 != 0) return out;
  for (std::size_t i = 0; i < s.size(); i += 2) {
    const int high = hex_digit(s[i]);
    const int low = hex_digit(s[i + 1]);
    if (high < 0 || low < 0) return {};
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}
std::optional<std::string> from_base64(std::string_view s) {
  while (!s.empty() && s.back() == '=') s.remove_suffix(1);
  std::string out;
  std::uint32_t bits = 0;
  unsigned have = 0;
  for (const char c : s) {
    std::uint32_t v = 0;
    if (c >= 'A' && c <= 'Z') {
      v = static_cast<std::uint32_t>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      v = static_cast<std::uint32_t>(c - 'a' + 26);
    } else if (c >= '0' && c <= '9') {
      v = static_cast<std::uint32_t>(c - '0' + 52);
    } else if (c == '+' || c == '-') {
      v = 62;
    } else if (c == '/' || c == '_') {
      v = 63;
    } else {
      return std::nullopt;
    }
    bits = bits << 6 | v;
    have += 6;
    if (have >= 8) {
      have -= 8;
      out += static_cast<char>(bits >> have & 0xff);
    }
  }
  return out;
}

class writer {
 public:
  // Whether it could be written; else `why` says what was wrong.
  bool write(std::string& out, const message_type& type, const json& object, unsigned depth) {
    if (depth > max_depth) return fail(type.name, "nests too deeply");
    if (!object.is_object()) return fail(type.name, "is no object");
    for (const member& m : type.members) {
      const auto it = object.find(m.of.json);
      if (it == object.end() || it->is_null()) continue;
      if (!m.repeated) {
        if (!write_one(out, m, *it, depth)) return false;
        continue;
      }
      if (!it->is_array()) return fail(m.of.json, "is no list");
      if (m.is != form::message) {
        if (!write_packed(out, m, *it)) return false;
        continue;
      }
      for (const json& item : *it) {
        if (!write_one(out, m, item, depth)) return false;
      }
    }
    return true;
  }
  std::string why;

 private:
  static constexpr unsigned max_depth = 64;

  bool fail(std::string_view what, std::string_view how) {
    why = "\"" + std::string(what) + "\" " + std::string(how);
    return false;
  }

  bool write_one(std::string& out, const member& m, const json& v, unsigned depth) {
    switch (m.is) {
      case form::message: {
        std::string inner;
        if (!write(inner, *m.type, v, depth + 1)) return false;
        put_tag(out, m.of.number, 2);
        put_bytes(out, inner);
        return true;
      }
      case form::text:
      case form::id:
      case form::base64: {
        if (!v.is_string()) return fail(m.of.json, "is no string");
        const auto& s = v.get_ref<const std::string&>();
        put_tag(out, m.of.number, 2);
        if (m.is == form::text) {
          put_bytes(out, s);
        } else if (m.is == form::id) {
          put_bytes(out, from_hex(s));
        } else {
          const auto bytes = from_base64(s);
          if (!bytes) return fail(m.of.json, "is no base64");
          put_bytes(out, *bytes);
        }
        return true;
      }
      case form::boolean:
        if (!v.is_boolean()) return fail(m.of.json, "is neither true nor false");
        put_tag(out, m.of.number, 0);
        put_varint(out, v.get<bool>() ? 1 : 0);
        return true;
      case form::real: {
        const auto d = real_of(v);
        if (!d) return fail(m.of.json, "is no number");
        put_tag(out, m.of.number, 1);
        put_fixed(out, std::bit_cast<std::uint64_t>(*d), 8);
        return true;
      }
      default: {
        const auto n = integer_of(v);
        if (!n) return fail(m.of.json, "is no whole number");
        if (m.is == form::fixed64 || m.is == form::fixed32) {
          put_tag(out, m.of.number, m.is == form::fixed64 ? 1 : 5);
          put_fixed(out, *n, m.is == form::fixed64 ? 8 : 4);
        } else {
          put_tag(out, m.of.number, 0);
          const auto i = static_cast<std::int64_t>(*n);
          put_varint(out, m.is == form::integer ? *n : (*n << 1) ^ static_cast<std::uint64_t>(i >> 63));
        }
        return true;
      }
    }
  }

  bool write_packed(std::string& out, const member& m, const json& list) {
    std::string inner;
    for (const json& v : list) {
      if (m.is == form::real) {
        const auto d = real_of(v);
        if (!d) return fail(m.of.json, "holds what is no number");
        put_fixed(inner, std::bit_cast<std::uint64_t>(*d), 8);
        continue;
      }
      const auto n = integer_of(v);
      if (!n) return fail(m.of.json, "holds what is no whole number");
      if (m.is == form::fixed64) {
        put_fixed(inner, *n, 8);
      } else {
        put_varint(inner, *n);
      }
    }
    put_tag(out, m.of.number, 2);
    put_bytes(out, inner);
    return true;
  }
};

}  // namespace

result<std::string> protobuf_of_json(otlp::signal_kind signal, std::string_view text) {
  json parsed;
  try {
    parsed = json::parse(text);
  } catch (const json::parse_error& e) {
    return error{"the request is no JSON: " + std::string(e.what())};
  }
  std::string out;
  out.reserve(text.size() / 2);
  writer w;
  if (!w.write(out, *requests[static_cast<std::size_t>(signal)], parsed, 0)) {
    return error{"the request is no OTLP/JSON: " + w.why};
  }
  return out;
}

}  // namespace telltale::hub
