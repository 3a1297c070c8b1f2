// Records a known load, with what TELLTALE_SINKS says: sender SPANS [SECONDS]. With SECONDS the load is spread over
// that time, within one span, so that a receiver can be stopped and started meanwhile. Prints what was dropped.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <telltale/core/telltale.hpp>
#include <thread>

TELLTALE_MODULE("peers::sender");
using namespace telltale::literals;

namespace {
constinit telltale::counter jobs{"peers.jobs", "jobs done"};
}

int main(int argc, char** argv) {
  if (const auto started = telltale::start(); !started) {
    std::fprintf(stderr, "%s\n", started.error().message.c_str());
    return 2;
  }
  const int spans = argc > 1 ? std::atoi(argv[1]) : 100;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 0;
  std::optional<telltale::span> whole;
  if (seconds > 0) {
    whole.emplace(TELLTALE_SITE_(telltale::site_kind::span, telltale::level::info, "whole"), TELLTALE_ATTRIBUTES_());
  }
  for (int i = 0; i < spans; ++i) {
    TELLTALE_SCOPE_AS(job, "job", "job_id"_a = telltale::text{std::to_string(i)});
    TELLTALE_SPAN_AS(s, info, "msm", "points"_a = i, "big"_a = ~std::uint64_t{0}, "share"_a = 0.25 * i,
                     "on"_a = i % 2 == 0, "text"_a = telltale::text{"grüße \xff end"});
    s.kind(static_cast<telltale::span_kind>(i % 5));
    s.link(job.get_context(), telltale::link_kind::input_of);
    TELLTALE_EVENT(s, "window", "n"_a = i);
    TELLTALE_WARN("done {n}", "n"_a = i);
    jobs.add();
    if (i % 7 == 0) s.fail("out_of_memory");
    if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds / spans));
  }
  whole.reset();
  const bool flushed = telltale::flush(std::chrono::seconds(60));
  const telltale::statistics now = telltale::stats();
  std::printf("flushed %d dropped %llu\n", flushed ? 1 : 0,
              static_cast<unsigned long long>(now.sink_dropped + now.dropped_total()));
}
