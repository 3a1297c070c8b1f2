// Metrics as OTLP: each instrument is a Metric, each series a data point.
#include "attributes.hpp"
#include "encode.hpp"
#include "writer.hpp"

namespace telltale::otlp {

namespace {

template <class W>
void put_labels(W& w, field list, const label_set& labels) {
  w.begin_list(list);
  for (const auto& [key, value] : labels.labels) put_attribute(w, list, key, view_of(value));
  w.end_list();
}

template <class W>
void put_exemplars(W& w, field list, const std::vector<telltale::exemplar>& exemplars) {
  if (exemplars.empty()) return;
  w.begin_list(list);
  for (const telltale::exemplar& e : exemplars) {
    const auto m = w.begin_item(list);
    w.fixed64(exemplar::time, static_cast<std::uint64_t>(e.time_ns));
    w.number(exemplar::as_double, e.value);
    if (e.span) w.id(exemplar::span_id, e.span);
    if (e.trace) w.id(exemplar::trace_id, e.trace);
    w.end(m);
  }
  w.end_list();
}

template <class Point, class W>
void put_times(W& w, const metric_snapshot& s) {
  w.fixed64(Point::start_time, static_cast<std::uint64_t>(s.start_ns));
  w.fixed64(Point::time, static_cast<std::uint64_t>(s.time_ns));
}

template <class W>
void put_point(W& w, const metric_snapshot& s, const telltale::metric&, const telltale::number_point& p) {
  put_labels(w, number_point::attributes, *p.labels);
  put_times<number_point>(w, s);
  if (const auto* integer = std::get_if<std::int64_t>(&p.value)) {
    w.fixed_integer(number_point::as_int, *integer);
  } else {
    w.number(number_point::as_double, std::get<double>(p.value));
  }
  put_exemplars(w, number_point::exemplars, p.exemplars);
}

template <class W>
void put_point(W& w, const metric_snapshot& s, const telltale::metric& of, const telltale::histogram_point& p) {
  put_labels(w, histogram_point::attributes, *p.labels);
  put_times<histogram_point>(w, s);
  w.fixed64(histogram_point::count, p.count);
  w.number(histogram_point::sum, p.sum);
  w.fixed64_list(histogram_point::bucket_counts, p.counts);
  w.number_list(histogram_point::bounds, of.bounds);
  put_exemplars(w, histogram_point::exemplars, p.exemplars);
}

template <class W>
void put_buckets(W& w, field f, const telltale::exponential_buckets& b) {
  if (b.counts.empty()) return;
  const auto m = w.begin(f, 2);
  w.zigzag(exponential_buckets::offset, b.offset);
  w.varint_list(exponential_buckets::counts, b.counts);
  w.end(m);
}

template <class W>
void put_point(W& w, const metric_snapshot& s, const telltale::metric&, const telltale::exponential_point& p) {
  put_labels(w, exponential_point::attributes, *p.labels);
  put_times<exponential_point>(w, s);
  w.fixed64(exponential_point::count, p.count);
  w.number(exponential_point::sum, p.sum);
  w.zigzag(exponential_point::scale, p.scale);
  w.fixed64(exponential_point::zero_count, p.zero_count);
  put_buckets(w, exponential_point::positive, p.positive);
  put_buckets(w, exponential_point::negative, p.negative);
  put_exemplars(w, exponential_point::exemplars, p.exemplars);
}

// Returns how many there were.
template <class W, class Point>
std::size_t put_points(W& w, const metric_snapshot& s, const telltale::metric& of, const std::vector<Point>& points) {
  w.begin_list(metric_data::points);
  for (const Point& p : points) {
    const auto m = w.begin_item(metric_data::points, 2);
    put_point(w, s, of, p);
    w.end(m);
  }
  w.end_list();
  return points.size();
}

template <class W>
std::size_t put_metric(W& w, const metric_snapshot& s, const telltale::metric& m) {
  const auto whole = w.begin_item(scope_records::records[2], 2);
  w.string(metric::name, m.name);
  if (!m.description.empty()) w.string(metric::description, m.description);
  if (!m.unit.empty()) w.string(metric::unit, m.unit);
  std::size_t points = 0;
  const auto data = [&](field f, auto write) {
    const auto d = w.begin(f, 2);
    points = write();
    if (m.kind != metric_kind::gauge) w.enumeration(metric_data::temporality, metric_data::cumulative);
    if (m.kind == metric_kind::counter) w.boolean(metric_data::is_monotonic, true);
    w.end(d);
  };
  switch (m.kind) {
    case metric_kind::counter:
    case metric_kind::up_down_counter:
      data(metric::sum, [&] { return put_points(w, s, m, m.numbers); });
      break;
    case metric_kind::gauge:
      data(metric::gauge, [&] { return put_points(w, s, m, m.numbers); });
      break;
    case metric_kind::histogram:
      data(metric::histogram, [&] { return put_points(w, s, m, m.histograms); });
      break;
    case metric_kind::exponential_histogram:
      data(metric::exponential_histogram, [&] { return put_points(w, s, m, m.exponentials); });
      break;
  }
  w.end(whole);
  return points;
}

template <class W>
chunk write_metrics(const metric_snapshot& s) {
  chunk out;
  W w(out.bytes);
  const auto m = w.begin_item(resource_records::scopes[2], 3);
  const auto scope = w.begin(scope_records::scope);
  w.string(instrumentation_scope::name, "telltale");
  w.end(scope);
  w.begin_list(scope_records::records[2]);
  for (const telltale::metric& one : s.metrics) out.records += put_metric(w, s, one);
  w.end_list();
  w.end(m);
  return out;
}

}  // namespace

chunk encode_metrics(encoding e, const metric_snapshot& snapshot) {
  return e == encoding::json ? write_metrics<json_writer>(snapshot) : write_metrics<proto_writer>(snapshot);
}

}  // namespace telltale::otlp
