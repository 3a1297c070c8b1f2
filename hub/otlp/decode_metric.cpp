// Points of metrics.
#include "hub/otlp/decoder.hpp"
#include "hub/otlp/text.hpp"

namespace telltale::hub {

bool decoder::metric(std::string_view bytes) {
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

bool decoder::keep(point_record& p, std::uint64_t time) {
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

bool decoder::number(std::string_view bytes, point_record& p) {
  std::uint64_t time = 0;
  std::uint32_t count = 0;
  open_object();
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

bool decoder::histogram(std::string_view bytes, point_record& p) {
  std::uint64_t time = 0;
  std::uint32_t count = 0;
  std::string bounds;
  std::string counts;
  open_object();
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

bool decoder::exponential(std::string_view bytes, point_record& p) {
  std::uint64_t time = 0;
  std::uint32_t count = 0;
  std::int64_t scale = 0;
  std::uint64_t zero = 0;
  std::string sides[2];
  open_object();
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

}  // namespace telltale::hub
