// Spans without a pause, a live drain that keeps up or makes the program wait, nothing lost: against a hand-written
// loop under the same drain, and for comparison against a ring whose consumer does nothing but read every line.
#include <cstring>
#include <iostream>
#include <memory>
#include <telltale/core/sink.hpp>
#include <telltale/core/telltale.hpp>

#include "core/bench/figures.hpp"
#include "core/bench/paired.hpp"
#include "core/bench/sustained_floor.hpp"

TELLTALE_MODULE("bench");

using namespace telltale::literals;

namespace telltale::bench {
namespace {

class counting_sink final : public sink {
 public:
  void on_span(const span_view& s) override {
    ++spans_;
    sum_ += s.attributes.size() + s.span.value;
  }
  std::uint64_t spans() const noexcept { return spans_; }

 private:
  std::uint64_t spans_ = 0;  // read after flush() only
  std::uint64_t sum_ = 0;
};

// The floor: two clock reads and the 128 bytes of a ready-made record, written by hand into this thread's ring, so that
// the drain has exactly the same to read. Ids and parents cost nothing here, and nothing stands open.
class by_hand {
 public:
  // A record of the call site that the spans it is compared with come from.
  explicit by_hand(const site& s) : site_(s.id()), at_(current_context()) {}

  void span(std::uint64_t n, std::uint64_t m) noexcept {
    constexpr std::size_t payload = 5;
    constexpr std::size_t bytes = detail::record_bytes(payload);
    const std::uint64_t begin = __rdtsc();
    asm volatile("" ::: "memory");
    const std::uint64_t end = __rdtsc();
    detail::thread_block* b = detail::tls.block;
    const std::uint64_t head = b->head.load(std::memory_order_relaxed);
    std::uint64_t* p = b->ring + (head & b->mask) / 8;
    if (head + bytes > b->limit) [[unlikely]]
      p = detail::reserve_slow(bytes);
    p[0] = detail::first_word(bytes, detail::record_kind::span, site_);
    p[1] = detail::second_word(0, payload);
    p[2] = begin;
    p[3] = end;
    p[4] = at_.trace.high;
    p[5] = at_.trace.low;
    p[6] = ++id_;
    p[7] = at_.span.value;
    p[8] = n;
    p[9] = m;
    p[10] = 16 | std::uint64_t{16} << 32;
    std::memcpy(p + 11, "cuda:0 stream 42", 16);
    p[13] = p[14] = p[15] = 0;
    detail::publish(detail::tls.block, bytes);
  }

 private:
  std::uint32_t site_;
  context at_;
  std::uint64_t id_ = 0;
};

}  // namespace

void add_sustained_figures(report& r) {
  constexpr int pairs = 31;
  constexpr int spans = 200'000;  // 25 laps of the ring
  telltale::options o;
  o.sinks = "none";
  o.overflow = overflow_policy::block;
  o.overhead = 0;  // each span, however many
  if (const auto started = start(o); !started) {
    return r.absent("enabled span, sustained", started.error().message);
  }
  const auto counting = std::make_shared<counting_sink>();
  add_sink(counting);
  sustained_floor bare;
  paired same_drain;
  paired bare_consumer;
  // A call site with the same attributes, for the hand-written records.
  site& site_of_floor = TELLTALE_SITE_(site_kind::span, level::info, "msm by hand")();
  const auto attributes = TELLTALE_ATTRIBUTES_("n"_a = 1, "m"_a = 1, "device"_a = "");
  using table = decltype(attributes(detail::collect_table{}));
  site_of_floor.on(table::entries, table::count);
  const std::uint64_t dropped = stats().dropped_total();
  std::uint64_t recorded = 0;
  for (int k = 0; k < pairs; ++k) {
    const auto m = static_cast<std::uint64_t>(k);
    bare_consumer.floor.push_back(timed([&](std::uint64_t n) { bare.span(n, m); }, spans));
    bare.drain();
    double ours = 0;
    double floor = 0;
    const auto measure_ours = [&] {
      TELLTALE_SPAN("parent");
      ours = timed(
          [&](std::uint64_t n) { TELLTALE_SPAN("msm", "n"_a = n, "m"_a = m, "device"_a = "cuda:0 stream 42"); }, spans);
    };
    const auto measure_floor = [&] {
      TELLTALE_SPAN("parent");
      by_hand hand(site_of_floor);
      floor = timed([&](std::uint64_t n) { hand.span(n, m); }, spans);
    };
    // Both orders.
    if (k % 2 == 0) measure_ours();
    flush(std::chrono::seconds(20));
    measure_floor();
    flush(std::chrono::seconds(20));
    if (k % 2 == 1) measure_ours();
    flush(std::chrono::seconds(20));
    same_drain.ours.push_back(ours);
    same_drain.floor.push_back(floor);
    bare_consumer.ours.push_back(ours);
    recorded += 2 * (spans + 1);
  }
  remove_sink(counting);
  r.add(same_drain.as_figure("enabled span, sustained, live drain", "hand-written loop, same drain", ratio_at_most(2)));
  r.add(bare_consumer.as_figure("enabled span, sustained, bare consumer", "hand-written ring, bare consumer", {}));
  const std::uint64_t lost = recorded - counting->spans() + stats().dropped_total() - dropped;
  r.add({.name = "enabled span, sustained, records lost",
         .value = static_cast<double>(lost),
         .unit = "",
         .bar = value_at_most(0)});
}

}  // namespace telltale::bench
