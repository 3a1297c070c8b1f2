// Two functions that do the same, one of them with spans and lines that the level of this file compiles out. Their
// machine code is compared (instructions.cpp).
#define TELLTALE_MAX_LEVEL 2
#include <telltale/core/telltale.hpp>

TELLTALE_MODULE("bench");

using namespace telltale::literals;

extern "C" {
[[gnu::noinline]] int work_of_the_program(int n) {
  asm volatile("" : "+r"(n));
  return n + 1;
}

[[gnu::noinline]] int bare_function(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += work_of_the_program(i);
  return sum;
}

[[gnu::noinline]] int function_with_spans_compiled_out(int n) {
  TELLTALE_SPAN("sum", "n"_a = n);
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    TELLTALE_SPAN_AS(step, debug, "step", "i"_a = i, "device"_a = "cuda:0 stream 42");
    sum += work_of_the_program(i);
    step.set("sum"_a = sum);
    TELLTALE_INFO("step {i}", "i"_a = i, "sum"_a = sum);
  }
  return sum;
}
}

int main(int argc, char** /*argv*/) {
  return function_with_spans_compiled_out(argc) - bare_function(argc);
}
