// What an instrumented file costs the compiler: processor seconds of the compiler that built this, for files that
// differ in one thing.
#include <fstream>
#include <string>

#include "core/bench/child.hpp"
#include "core/bench/figures.hpp"
#include "core/bench/medians.hpp"

namespace telltale::bench {
namespace {

constexpr int rounds = 9;
constexpr int sites = 40;  // half of them spans, half of them lines

const std::string header = "#include <telltale/core/telltale.hpp>\n";
const std::string printf_header = "#include <cstdio>\n";

std::string instrumented() {
  std::string text = header + "TELLTALE_MODULE(\"bench\");\nusing namespace telltale::literals;\n";
  for (int i = 0; i < sites; i += 2) {
    const std::string k = std::to_string(i);
    text += "void f" + k + "(int n) {\n  TELLTALE_SPAN(\"step " + k + R"(", "n"_a = n, "device"_a = "cuda:0");)" +
            "\n  TELLTALE_INFO(\"step " + k + R"( of {n}", "n"_a = n);)" + "\n}\n";
  }
  return text;
}
std::string printing() {
  std::string text = printf_header;
  for (int i = 0; i < sites; i += 2) {
    const std::string k = std::to_string(i);
    text += "void f" + k + "(int n) {\n  std::printf(\"span " + k + " n=%d device=%s\\n\", n, \"cuda:0\");" +
            "\n  std::printf(\"step " + k + " of %d\\n\", n);\n}\n";
  }
  return text;
}

// Milliseconds; negative where it does not compile.
double compile(const std::string& file, const std::string& object) {
  const ended e = run_child({TELLTALE_BENCH_COMPILER, "-std=c++20", "-O2", "-DNDEBUG", "-I" TELLTALE_BENCH_INCLUDE,
                             "-c", file, "-o", object});
  return e.code == 0 ? e.cpu_seconds * 1e3 : -1;
}

}  // namespace

void add_compile_time_figures(report& r) {
  const scratch_directory scratch;
  const std::vector<std::pair<std::string, std::string>> files = {{"string.cpp", "#include <string>\n"},
                                                                  {"header.cpp", header},
                                                                  {"sites.cpp", instrumented()},
                                                                  {"printf_header.cpp", printf_header},
                                                                  {"printf.cpp", printing()}};
  for (const auto& [name, text] : files) std::ofstream(scratch / name) << text;
  std::vector<std::vector<double>> ms(files.size());
  for (int k = 0; k < rounds; ++k) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      ms[i].push_back(compile(scratch / files[i].first, scratch / "object.o"));
      if (ms[i].back() < 0)
        return r.absent("compile time", TELLTALE_BENCH_COMPILER " did not compile " + files[i].first);
    }
  }
  const auto median = [&](std::size_t i) { return spread_of(ms[i]).median; };
  r.add({.name = "compiling the include",
         .value = median(1),
         .unit = "ms",
         .reference = "#include <string>",
         .reference_value = median(0)});
  r.add({.name = "compiling a span or a line",
         .value = (median(2) - median(1)) / sites,
         .unit = "ms",
         .reference = "a printf",
         .reference_value = (median(4) - median(3)) / sites});
}

}  // namespace telltale::bench
