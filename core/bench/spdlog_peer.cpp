// Lines of spdlog beside ours, in alternating chunks: enabled with three arguments through its asynchronous logger and
// through a plain one, both to a sink that writes nothing, and disabled.
#include <spdlog/async.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <telltale/core/telltale.hpp>

#include "core/bench/figures.hpp"
#include "core/bench/paired.hpp"

TELLTALE_MODULE("bench");

using namespace telltale::literals;

namespace telltale::bench {
namespace {

constexpr int pairs = 101;
constexpr int burst = 1000;  // fits both our ring and spdlog's queue

void our_line(std::uint64_t n) {
  TELLTALE_INFO("msm {n} {m} {device}", "n"_a = n, "m"_a = n, "device"_a = "cuda:0 stream 42");
}
void our_line_off(std::uint64_t n) {
  TELLTALE_DEBUG("msm {n} {m} {device}", "n"_a = n, "m"_a = n, "device"_a = "cuda:0 stream 42");
}

template <class After>
paired enabled(spdlog::logger& peer, After after) {
  paired p;
  for (int k = 0; k < pairs; ++k) {
    p.floor.push_back(
        timed([&](std::uint64_t n) { peer.info("msm n={} m={} device={}", n, n, "cuda:0 stream 42"); }, burst));
    after();
    p.ours.push_back(timed(our_line, burst));
    flush();
  }
  return p;
}

paired disabled(spdlog::logger& peer) {
  paired p;
  for (int k = 0; k < pairs; ++k) {
    const auto loop = timed([](std::uint64_t n) { asm volatile("" : : "r"(n) : "memory"); }, 100'000);
    p.floor.push_back(timed(
                          [&](std::uint64_t n) {
                            asm volatile("" : : "r"(n) : "memory");
                            peer.debug("msm n={} m={} device={}", n, n, "cuda:0 stream 42");
                          },
                          100'000) -
                      loop);
    p.ours.push_back(timed(
                         [](std::uint64_t n) {
                           asm volatile("" : : "r"(n) : "memory");
                           our_line_off(n);
                         },
                         100'000) -
                     loop);
  }
  return p;
}

}  // namespace

void add_spdlog_figures(report& r) {
  const auto nowhere = std::make_shared<spdlog::sinks::null_sink_mt>();
  spdlog::logger plain("plain", nowhere);
  r.add(disabled(plain).as_figure("line off, above an empty loop", "spdlog", ratio_at_most(1)));
  r.add(enabled(plain, [] {}).as_figure("enabled line, burst, drain live", "spdlog, no sink", ratio_at_most(1)));

  const auto pool = std::make_shared<spdlog::details::thread_pool>(8192, 1);
  const auto async =
      std::make_shared<spdlog::async_logger>("async", nowhere, pool, spdlog::async_overflow_policy::block);
  r.add(enabled(*async, [&] {
          while (pool->queue_size() != 0) std::this_thread::yield();
        }).as_figure("enabled line, burst, drain live", "spdlog async, no sink", ratio_at_most(1)));
}

}  // namespace telltale::bench
