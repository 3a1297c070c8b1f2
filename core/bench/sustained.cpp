// Spans without a pause, a live drain that keeps up or makes the program wait, nothing lost: against a hand-written
// ring with one producer and one consumer that reads every line of every record.
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

}  // namespace

void add_sustained_figures(report& r) {
  constexpr int pairs = 31;
  constexpr int spans = 200'000;  // 25 laps of the ring
  telltale::options o;
  o.sinks = "none";
  o.overflow = overflow_policy::block;
  if (const auto started = start(o); !started) {
    return r.absent("enabled span, sustained", started.error().message);
  }
  const auto counting = std::make_shared<counting_sink>();
  add_sink(counting);
  sustained_floor floor;
  paired p;
  const std::uint64_t dropped = stats().dropped_total();
  std::uint64_t recorded = 0;
  for (int k = 0; k < pairs; ++k) {
    const auto m = static_cast<std::uint64_t>(k);
    p.floor.push_back(timed([&](std::uint64_t n) { floor.span(n, m); }, spans));
    floor.drain();
    {
      TELLTALE_SPAN("parent");
      p.ours.push_back(
          timed([&](std::uint64_t n) { TELLTALE_SPAN("msm", "n"_a = n, "m"_a = m, "device"_a = "cuda:0 stream 42"); },
                spans));
    }
    flush(std::chrono::seconds(20));
    recorded += spans + 1;
  }
  remove_sink(counting);
  r.add(p.as_figure("enabled span, sustained, live drain", "hand-written ring and consumer", ratio_at_most(2)));
  const std::uint64_t lost = recorded - counting->spans() + stats().dropped_total() - dropped;
  r.add({.name = "enabled span, sustained, records lost",
         .value = static_cast<double>(lost),
         .unit = "",
         .bar = value_at_most(0)});
}

}  // namespace telltale::bench
