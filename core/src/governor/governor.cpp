// Measuring, and switching sites over.
#include "governor.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <telltale/core/clock.hpp>
#include <telltale/core/log.hpp>
#include <telltale/core/span.hpp>

#include "../catalogue.hpp"
#include "../drain.hpp"
#include "../processor_time.hpp"
#include "budget.hpp"
#include "tallies.hpp"

namespace telltale::detail {

namespace {

constexpr std::chrono::milliseconds period(50);
constexpr std::int32_t looks_until_release = 20;  // a second
constexpr double samples_per_second = 1000;       // of one site, over all threads
constexpr std::int64_t told_every_ns = 1'000'000'000;

constexpr site_description measured_span{"measured", "telltale", __FILE__, __LINE__, level::trace, site_kind::span};
constinit site measured_site{measured_span};

// What a span with three attributes costs its thread, beginning and end together: measured with the very code, on
// memory of its own. The drain's thread records nothing else.
double measure_span_ns() {
  struct scratch {
    thread_block block{};
    open_slot slots[4]{};
    alignas(line_bytes) std::uint64_t ring[8192]{};
  };
  const auto s = std::make_unique<scratch>();
  s->block.mask = sizeof s->ring - 1;
  s->block.limit = UINT64_MAX;
  s->block.ring = s->ring;
  s->block.top = s->slots + 1;
  s->block.top_end = s->slots + 4;
  s->block.slots_end = s->block.top_end;

  const thread_state former = tls;
  tls.block = &s->block;
  tls.current = {};
  tls.current.trace = {1, 1};
  tls.current.span = {1};
  constexpr int spans = 500;
  std::vector<double> runs;
  for (int run = 0; run < 9; ++run) {
    const std::int64_t begin = thread_processor_ns();
    for (int i = 0; i < spans; ++i) {
      const opening o = open_at_once(measured_site, 3);
      for (std::size_t k = 0; k < 3; ++k) put(o.slot->words + header_words + k, k);
      opened(o);
      finish(o.slot);
    }
    runs.push_back(static_cast<double>(thread_processor_ns() - begin) / spans);
  }
  tls = former;
  std::nth_element(runs.begin(), runs.begin() + 4, runs.end());
  // Where the time-stamp counter isn't used, both readings of the clock cost more than those.
  const std::int64_t begin = thread_processor_ns();
  std::uint64_t sum = 0;
  for (int i = 0; i < spans; ++i) sum += ticks() - hasty_ticks();
  asm("" : : "r"(sum));
  const double both = static_cast<double>(thread_processor_ns() - begin) / spans;
  return std::max(runs[4], both);
}

attribute_view number(std::string_view key, std::uint32_t key_number, double value) noexcept {
  return {key, attribute_type::float64, false, std::bit_cast<std::uint64_t>(value), {}, key_number};
}

// Lines of the library's own, told by the drain without a record.
constexpr attribute_description about_counted[] = {{"span.name", attribute_type::string},
                                                   {"span.calls_per_second", attribute_type::float64},
                                                   {"telemetry.share_percent", attribute_type::float64},
                                                   {"telemetry.budget_percent", attribute_type::float64}};
constexpr site_description counted_line{
    "span {span.name} is only counted from here on, its time known from a sample: {span.calls_per_second} calls a "
    "second "
    "took telemetry to {telemetry.share_percent} % of the program's processor time, above its budget of "
    "{telemetry.budget_percent} %",
    "telltale",
    __FILE__,
    __LINE__,
    level::warn,
    site_kind::log};
constinit site counted_line_site{counted_line};

constexpr attribute_description about_recorded[] = {{"span.name", attribute_type::string}};
constexpr site_description recorded_line{
    "span {span.name} is recorded in full again", "telltale", __FILE__, __LINE__, level::info, site_kind::log};
constinit site recorded_line_site{recorded_line};

}  // namespace

governor::clocks governor::read_clocks(const drain& d) {
  return {std::chrono::steady_clock::now(), processor_ns(CLOCK_PROCESS_CPUTIME_ID),
          thread_processor_ns() + sink_threads_ns.load(std::memory_order_relaxed), d.records_read(),
          d.records_dropped()};
}

void governor::look(drain& d, const sink_list& sinks) {
  if (budget_ == 0) return let_go();
  const auto now = std::chrono::steady_clock::now();
  if (now - last_.at < period) return;
  if (!counted_.empty()) {
    collect(d);
    d.tell_aggregates(sinks, told_every_ns);
  }
  const clocks before = std::exchange(last_, read_clocks(d));
  std::vector<std::uint64_t> calls = d.take_calls();
  if (before.at == std::chrono::steady_clock::time_point{}) return;

  period_cost p;
  p.seconds = std::chrono::duration<double>(last_.at - before.at).count();
  const auto records = static_cast<double>(last_.records - before.records);
  const auto dropped = static_cast<double>(last_.dropped - before.dropped);
  const auto drained = static_cast<double>(last_.drain_ns - before.drain_ns);
  if (records > 0) drained_ns_ = drained / records;
  if (span_ns_ == 0 && records + dropped > ordinary_calls_per_second * p.seconds) span_ns_ = measure_span_ns();
  const double writing = (records + dropped) * span_ns_;
  p.call_ns = span_ns_ + drained_ns_;
  p.telemetry_ns = writing + drained;
  p.program_ns = static_cast<double>(last_.process_ns - before.process_ns) - p.telemetry_ns;

  std::vector<site_load> loads;
  // What was dropped is known of all sites together: shared out as what was read.
  const double each = records > 0 ? 1 + dropped / records : 1;
  for (std::uint32_t site = 0; site < calls.size(); ++site) {
    if (calls[site] != 0) loads.push_back({site, static_cast<double>(calls[site]) * each, false});
  }
  for (std::size_t tally = 0; tally < counted_.size(); ++tally) {
    counted_site& c = counted_[tally];
    const std::uint64_t total = d.calls_counted(static_cast<std::uint32_t>(tally));
    const auto recent = static_cast<double>(total - std::exchange(c.calls, total));
    if (!c.now) continue;
    if (!is_counted(c.site)) {  // a filter has switched it off
      c.now = false;
      continue;
    }
    std::erase_if(loads, [&](const site_load& l) { return l.site == c.site; });  // the last ones before it was counted
    loads.push_back({c.site, recent, true});
    const auto one_in = static_cast<std::uint64_t>(std::max(1.0, recent / p.seconds / samples_per_second));
    const std::uint64_t so_far = calls_per_sample(tally);
    if (one_in > 2 * so_far || 2 * one_in < so_far) set_calls_per_sample(tally, one_in);
  }

  const budget_verdict v = weigh(p, loads, budget_);
  const double share = p.telemetry_ns / (v.allowed_ns / budget_);
  for (const std::uint32_t site : v.count) {
    const auto load = std::find_if(loads.begin(), loads.end(), [&](const site_load& l) { return l.site == site; });
    start_counting(site, load->calls / p.seconds, share, d, sinks);
  }
  for (counted_site& c : counted_) {
    if (!c.now) continue;
    const bool fits = std::find(v.spare.begin(), v.spare.end(), c.site) != v.spare.end();
    c.spare_looks = fits ? c.spare_looks + 1 : 0;
    if (c.spare_looks == looks_until_release) stop_counting(c, d, sinks);
  }
}

void governor::start_counting(std::uint32_t site, double calls_per_second, double share, drain& d,
                              const sink_list& sinks) {
  auto c = std::find_if(counted_.begin(), counted_.end(), [&](const counted_site& s) { return s.site == site; });
  if (c == counted_.end()) {
    if (counted_.size() == max_tallies) return;  // it stays as expensive as it is
    c = counted_.insert(c, counted_site{.site = site});
  }
  const auto tally = static_cast<std::uint8_t>(c - counted_.begin());
  set_calls_per_sample(tally, static_cast<std::uint64_t>(std::max(1.0, calls_per_second / samples_per_second)));
  if (!count_site(site, tally)) return;
  c->now = true;
  c->spare_looks = 0;
  const std::string& name = d.name_of(site);
  const attribute_view text{"span.name", attribute_type::string, false, 0, name, register_key("span.name")};
  const auto tenths = [](double x) { return std::round(x * 10) / 10; };
  d.say(counted_line_site, about_counted,
        {text, number("span.calls_per_second", register_key("span.calls_per_second"), std::round(calls_per_second)),
         number("telemetry.share_percent", register_key("telemetry.share_percent"), tenths(share * 100)),
         number("telemetry.budget_percent", register_key("telemetry.budget_percent"), budget_ * 100)},
        sinks);
}

void governor::stop_counting(counted_site& c, drain& d, const sink_list& sinks) {
  record_site(c.site);
  c.now = false;
  collect(d);
  d.tell_aggregates(sinks, 0);
  const std::string& name = d.name_of(c.site);
  d.say(recorded_line_site, about_recorded,
        {{"span.name", attribute_type::string, false, 0, name, register_key("span.name")}}, sinks);
}

// Also of sites that are no longer counted: a call may have come late.
void governor::collect(drain& d) {
  std::vector<std::uint32_t> sites;
  for (const counted_site& c : counted_) sites.push_back(c.site);
  d.collect_counts(sites);
}

void governor::tell(drain& d, const sink_list& sinks) {
  if (counted_.empty()) return;
  collect(d);
  d.tell_aggregates(sinks, 0);
}

void governor::let_go() noexcept {
  for (counted_site& c : counted_) {
    if (std::exchange(c.now, false)) record_site(c.site);
  }
}

}  // namespace telltale::detail
