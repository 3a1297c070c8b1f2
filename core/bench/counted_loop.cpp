// core_counted_loop off|span|log_off|log|empty N: N iterations of one loop, for callgrind to count. What is counted is
// the function counted() and what it calls.
#include <charconv>
#include <cstring>
#include <string_view>
#include <telltale/core/telltale.hpp>

TELLTALE_MODULE("bench");

using namespace telltale::literals;

namespace {

template <class F>
[[gnu::always_inline]] inline void repeat(std::uint64_t n, F f) {
  for (std::uint64_t i = 0; i < n; ++i) {
    asm volatile("" : : : "memory");  // the loop stays a loop
    f(i);
  }
}

}  // namespace

// One function per loop, so that each call is inlined as it would be in a program.
extern "C" {
[[gnu::noinline]] void counted_empty(std::uint64_t n) {
  repeat(n, [](std::uint64_t) {});
}
[[gnu::noinline]] void counted_span(std::uint64_t n) {
  repeat(n, [](std::uint64_t i) { TELLTALE_SPAN("msm", "n"_a = i, "m"_a = i, "device"_a = "cuda:0 stream 42"); });
}
[[gnu::noinline]] void counted_log(std::uint64_t n) {
  repeat(n, [](std::uint64_t i) { TELLTALE_INFO("msm", "n"_a = i, "m"_a = i, "device"_a = "cuda:0 stream 42"); });
}
[[gnu::noinline]] void counted_span_off(std::uint64_t n) {
  repeat(n, [](std::uint64_t i) { TELLTALE_DEBUG_SPAN("msm", "n"_a = i, "m"_a = i, "device"_a = "cuda:0 stream 42"); });
}
[[gnu::noinline]] void counted_log_off(std::uint64_t n) {
  repeat(n, [](std::uint64_t i) { TELLTALE_DEBUG("msm", "n"_a = i, "m"_a = i, "device"_a = "cuda:0 stream 42"); });
}
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view what{argv[1]};
  std::uint64_t n = 0;
  if (std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), n).ec != std::errc{}) return 2;
  telltale::options o;
  o.sinks = "none";
  o.ring_bytes = std::size_t{16} << 20;  // takes everything, however slow the drain is under callgrind
  o.overhead = 0;                        // each span, however many
  if (!telltale::start(o)) return 2;
  TELLTALE_SPAN("parent");
  if (what == "empty") {
    counted_empty(n);
  } else if (what == "span") {
    counted_span(n);
  } else if (what == "log") {
    counted_log(n);
  } else if (what == "span_off") {
    counted_span_off(n);
  } else if (what == "log_off") {
    counted_log_off(n);
  } else {
    return 2;
  }
  return telltale::stats().dropped_total() == 0 ? 0 : 3;
}
