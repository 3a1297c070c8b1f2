// Prometheus' text formats.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <mutex>
#include <set>
#include <telltale/core/prometheus.hpp>
#include <unordered_set>

#include "../descriptors.hpp"
#include "../format.hpp"
#include "exponential.hpp"
#include "exposition.hpp"

namespace telltale {

namespace detail {

namespace {

constexpr std::size_t most_exponential_buckets = 20;

// Says once per name that a metric is left out.
void complain_of_same_name(const std::string& name, const std::string& as) {
  static std::mutex mutex;
  static auto& said = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (!said.insert(name).second) return;
  complain("the metric \"" + name + "\" is left out for Prometheus: another one is called " + as +
           " there, too. Give one of them another name.");
}

void put_double(buffer& w, double v) noexcept {  // needs 32 characters
  if (std::isnan(v)) return w.put("NaN");
  if (std::isinf(v)) return w.put(v > 0 ? "+Inf" : "-Inf");
  w.moved_to(std::to_chars(w.here(), w.here() + 32, v).ptr);
}

class page {
 public:
  explicit page(exposition format) : open_(format == exposition::openmetrics) {}

  void add(const metric& m) {
    if (m.numbers.empty() && m.histograms.empty() && m.exponentials.empty()) return;
    const std::string unit = exposition_unit(m.unit, m.kind);
    const std::string family = family_of(m, unit);
    switch (m.kind) {
      case metric_kind::counter:
        if (!begin(m, family, unit, "counter", {"_total"})) return;
        for (const number_point& p : m.numbers) number(family, "_total", p);
        break;
      case metric_kind::up_down_counter:
      case metric_kind::gauge:
        if (!begin(m, family, unit, "gauge", {""})) return;
        for (const number_point& p : m.numbers) number(family, "", p);
        break;
      case metric_kind::histogram:
        if (!begin(m, family, unit, "histogram", {"_bucket", "_sum", "_count"})) return;
        for (const histogram_point& p : m.histograms) {
          buckets(family, p.labels->exposition, m.bounds, p.counts, p.count, p.sum, p.exemplars);
        }
        break;
      case metric_kind::exponential_histogram:
        if (!begin(m, family, unit, "histogram", {"_bucket", "_sum", "_count"})) return;
        for (const exponential_point& p : m.exponentials) exponential(family, p);
        break;
    }
  }

  void add_target_info(const resource_attributes& resource) {
    names_.insert("target_info");
    out_.append(open_ ? "# TYPE target info\n# HELP target What this process is\n"
                      : "# TYPE target_info gauge\n# HELP target_info What this process is\n");
    begin_sample("target_info", "", exposition_labels(resource));
    out_.put("1\n");
  }

  std::string finish() {
    if (open_) out_.append("# EOF\n");
    return std::string(out_.view());
  }

 private:
  // The name without what a kind of sample adds to it.
  static std::string family_of(const metric& m, const std::string& unit) {
    std::string name = exposition_name(m.name);
    if (m.kind == metric_kind::counter && name.ends_with("_total")) name.resize(name.size() - 6);
    if (!unit.empty() && name != unit && !name.ends_with('_' + unit)) {
      if (!name.ends_with('_')) name += '_';
      name += unit;
    }
    return name;
  }

  // TYPE, UNIT and HELP; false where one of the names is taken.
  bool begin(const metric& m, const std::string& family, const std::string& unit, std::string_view type,
             std::initializer_list<std::string_view> suffixes) {
    bool taken = names_.contains(family);
    for (const std::string_view s : suffixes) taken = taken || names_.contains(family + std::string(s));
    if (taken) {
      complain_of_same_name(m.name, family);
      return false;
    }
    names_.insert(family);
    for (const std::string_view s : suffixes) names_.insert(family + std::string(s));

    // OpenMetrics names the family, 0.0.4 the samples.
    const std::string name = !open_ && type == "counter" ? family + "_total" : family;
    std::string help;
    append_help(help, m.description, open_);
    out_.reserve(3 * name.size() + help.size() + unit.size() + type.size() + 40);
    if (!help.empty()) {
      out_.put("# HELP ");
      out_.put(name);
      out_.put(' ');
      out_.put(help);
      out_.put('\n');
    }
    out_.put("# TYPE ");
    out_.put(name);
    out_.put(' ');
    out_.put(type);
    out_.put('\n');
    if (open_ && !unit.empty()) {
      out_.put("# UNIT ");
      out_.put(name);
      out_.put(' ');
      out_.put(unit);
      out_.put('\n');
    }
    return true;
  }

  // name_suffix{labels} and a blank, with room for a number and an exemplar behind it.
  void begin_sample(std::string_view name, std::string_view suffix, std::string_view labels) {
    out_.reserve(name.size() + suffix.size() + labels.size() + 320);
    out_.put(name);
    out_.put(suffix);
    if (!labels.empty()) {
      out_.put('{');
      out_.put(labels);
      out_.put('}');
    }
    out_.put(' ');
  }

  void number(std::string_view family, std::string_view suffix, const number_point& p) {
    begin_sample(family, suffix, p.labels->exposition);
    if (const auto* whole = std::get_if<std::int64_t>(&p.value)) {
      out_.number(*whole);
    } else {
      put_double(out_, std::get<double>(p.value));
    }
    if (!p.exemplars.empty() && suffix == "_total") exemplar(p.exemplars.front());
    out_.put('\n');
  }

  void exemplar(const telltale::exemplar& e) {
    if (!open_) return;
    out_.put(" # {trace_id=\"");
    put_hex(out_, e.trace.high);
    put_hex(out_, e.trace.low);
    out_.put("\",span_id=\"");
    put_hex(out_, e.span.value);
    out_.put("\"} ");
    put_double(out_, e.value);
    out_.put(' ');
    // Seconds with their nanoseconds: a double would lose them.
    out_.number(e.time_ns / 1'000'000'000);
    out_.put('.');
    char fraction[9];
    std::int64_t rest = e.time_ns % 1'000'000'000;
    for (std::size_t i = sizeof fraction; i-- > 0; rest /= 10) fraction[i] = static_cast<char>('0' + rest % 10);
    out_.put(std::string_view(fraction, sizeof fraction));
  }

  // `exemplars` in any order: each belongs to the first bucket whose bound is not below it.
  void buckets(std::string_view family, const std::string& labels, const std::vector<double>& bounds,
               const std::vector<std::uint64_t>& counts, std::uint64_t count, double sum,
               const std::vector<telltale::exemplar>& exemplars) {
    std::uint64_t so_far = 0;
    double below = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i <= bounds.size(); ++i) {
      const double bound = i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity();
      so_far += counts[i];
      out_.reserve(family.size() + labels.size() + 320);
      out_.put(family);
      out_.put("_bucket{");
      out_.put(labels);
      out_.put(labels.empty() ? std::string_view("le=\"") : std::string_view(",le=\""));
      const char* const number = out_.here();
      put_double(out_, bound);
      // OpenMetrics writes 1 as 1.0.
      if (open_ && std::all_of(number, static_cast<const char*>(out_.here()),
                               [](char c) { return c == '-' || (c >= '0' && c <= '9'); })) {
        out_.put(".0");
      }
      out_.put("\"} ");
      out_.number(so_far);
      const telltale::exemplar* latest = nullptr;
      for (const telltale::exemplar& e : exemplars) {
        if (e.value > below && e.value <= bound && (latest == nullptr || e.time_ns > latest->time_ns)) latest = &e;
      }
      if (latest != nullptr) exemplar(*latest);
      out_.put('\n');
      below = bound;
    }
    begin_sample(family, "_sum", labels);
    put_double(out_, sum);
    out_.put('\n');
    begin_sample(family, "_count", labels);
    out_.number(count);
    out_.put('\n');
  }

  void exponential(std::string_view family, const exponential_point& point) {
    exponential_point p = point;
    while (p.positive.counts.size() > most_exponential_buckets) halve(p, 1);
    std::vector<double> bounds;
    std::vector<std::uint64_t> counts;
    std::uint64_t not_positive = p.zero_count;
    for (const std::uint64_t n : p.negative.counts) not_positive += n;
    if (not_positive != 0) {
      bounds.push_back(0);
      counts.push_back(not_positive);
    }
    std::uint64_t beyond = 0;  // in a bucket whose bound no double can hold
    for (std::size_t i = 0; i < p.positive.counts.size(); ++i) {
      const double bound = exponential_bound(p.positive.offset + static_cast<std::int32_t>(i) + 1, p.scale);
      if (std::isinf(bound)) {
        beyond += p.positive.counts[i];
      } else {
        bounds.push_back(bound);
        counts.push_back(p.positive.counts[i]);
      }
    }
    counts.push_back(beyond);
    buckets(family, p.labels->exposition, bounds, counts, p.count, p.sum, p.exemplars);
  }

  bool open_;
  buffer out_;
  std::unordered_set<std::string> names_;  // of families and samples
};

// One element of an Accept header: "text/plain;version=0.0.4;q=0.5".
struct media_range {
  std::string_view type;
  std::string_view version;
  double quality = 1;
};

std::string_view trimmed(std::string_view s) noexcept {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

std::string_view take_until(std::string_view& s, char end) noexcept {
  const std::size_t at = s.find(end);
  const std::string_view taken = s.substr(0, at);
  s = at == std::string_view::npos ? std::string_view{} : s.substr(at + 1);
  return trimmed(taken);
}

media_range read_media_range(std::string_view element) noexcept {
  media_range out;
  out.type = take_until(element, ';');
  while (!element.empty()) {
    std::string_view value = take_until(element, ';');
    const std::string_view name = take_until(value, '=');
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    if (name == "version") out.version = value;
    if (name == "q" && std::from_chars(value.data(), value.data() + value.size(), out.quality).ec != std::errc{}) {
      out.quality = 0;
    }
  }
  return out;
}

bool same_letters(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x + 32 : x) == y; });
}

}  // namespace

}  // namespace detail

std::string_view content_type(exposition format) noexcept {
  return format == exposition::openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                           : "text/plain; version=0.0.4; charset=utf-8";
}

exposition negotiate_exposition(std::string_view accept) noexcept {
  double open = 0;
  double text = 0;
  while (!accept.empty()) {
    const detail::media_range m = detail::read_media_range(detail::take_until(accept, ','));
    if (detail::same_letters(m.type, "application/openmetrics-text") && (m.version.empty() || m.version == "1.0.0")) {
      open = std::max(open, m.quality);
    } else if (detail::same_letters(m.type, "text/plain") || m.type == "text/*" || m.type == "*/*") {
      text = std::max(text, m.quality);
    }
  }
  return open > 0 && open >= text ? exposition::openmetrics : exposition::text;
}

std::string render_prometheus(const metric_snapshot& snapshot, exposition format, const resource_attributes& resource) {
  detail::page page(format);
  if (!resource.empty()) page.add_target_info(resource);
  for (const metric& m : snapshot.metrics) page.add(m);
  return page.finish();
}

}  // namespace telltale
