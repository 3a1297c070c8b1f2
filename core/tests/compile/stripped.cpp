// The same functions with lines and spans above the level that is compiled in, and without.
#define TELLTALE_MAX_LEVEL 2
#include <telltale/core/telltale.hpp>

#if defined(WITH_LINES)
using namespace telltale::literals;
#define LINE(...) __VA_ARGS__
#else
#define LINE(...)
#endif

extern "C" unsigned long work(const unsigned* values, unsigned long count) {
  LINE(TELLTALE_SPAN("stripped_span", "stripped_key"_a = count);)
  const unsigned long first = values[0] * 17ul + count;
  LINE(TELLTALE_DEBUG("stripped {stripped_first}", "stripped_first"_a = first);)
  if (first % 3 == 0) {
    LINE(TELLTALE_DEBUG_SPAN("stripped_inner");)
    return first ^ values[1];
  }
  LINE(TELLTALE_INFO("stripped line of {stripped_count}", "stripped_count"_a = count);)
  return first / 5;
}

extern "C" unsigned long loop(const unsigned* values, unsigned long count) {
  LINE(TELLTALE_SPAN("stripped_loop", "stripped_key"_a = count);)
  unsigned long sum = 0;
  for (unsigned long i = 0; i < count; ++i) {
    LINE(TELLTALE_DEBUG_SPAN("stripped_turn");)
    sum += values[i] * (sum ^ i);
    LINE(TELLTALE_DEBUG("stripped turn");)
  }
  LINE(TELLTALE_INFO("stripped lines");)
  return sum;
}
