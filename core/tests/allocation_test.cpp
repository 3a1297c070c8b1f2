// The calling thread allocates nothing in the steady state.
#include <cstdlib>
#include <new>

#include "recorded.hpp"

TELLTALE_MODULE("test::allocation");

using namespace telltale::literals;
using telltale::testing::recorded;

namespace {
thread_local std::size_t allocations = 0;
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t n) {
  ++allocations;
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
// Not inlined, or the compiler pairs free() with a new it knows and warns.
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}

namespace {

void everything(int i) {
  const std::string_view id = "c1a0d8a5";
  TELLTALE_SCOPE("job", "job_id"_a = telltale::text{id});
  TELLTALE_SPAN_AS(s, info, "span", "i"_a = i, "device"_a = "cuda:0");
  s.set("late"_a = 1.5, "text"_a = telltale::text{id});
  s.link(telltale::current_context());
  TELLTALE_EVENT(s, "event", "i"_a = i);
  TELLTALE_INFO("line {i}", "i"_a = i);
  TELLTALE_DEBUG("off {i}", "i"_a = i);
}

TEST(TheCallingThread, AllocatesNothing) {
  recorded r(telltale::options{.overflow = telltale::overflow_policy::block});
  everything(0);
  const std::size_t before = allocations;
  for (int i = 0; i < 10'000; ++i) everything(i);
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(r.spans().size(), 20'002u);
}

}  // namespace
