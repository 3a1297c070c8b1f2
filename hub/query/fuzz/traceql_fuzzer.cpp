// libFuzzer: queries. What is no query has a message with a mark; what is one is the same query when it is written
// again, and is answered on a small trace.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "../rows.hpp"
#include "../traceql/evaluate.hpp"
#include "../traceql/parse.hpp"

namespace {

void require(bool what) {
  if (!what) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace telltale::hub;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const traceql::parsed query = traceql::parse(text);
  if (!query) {
    require(query.error().message.ends_with("^"));
    return 0;
  }
  const traceql::parsed again = traceql::parse(to_string(*query));
  // Written again it may be nested deeper than the limit.
  if (again) {
    require(*again == *query);
  } else {
    require(again.kind() == traceql::refusal::unsupported);
  }
  const std::vector<span_row> rows{test::row(1, 0, "a", 0, 100), test::row(2, 1, "b", 10, 20),
                                   test::row(3, 1, "b", 20, 30)};
  const traceql::trace_index trace(rows);
  traceql::evaluator e(*query);
  for (const traceql::span_group& g : e.run(trace)) {
    for (const std::size_t i : g.spans) require(i < rows.size());
  }
  if (e.makes_metrics()) {
    const traceql::steps over{0, 50, 2};
    e.add(trace, over);
    for (const traceql::series& s : e.metrics_so_far(over)) require(s.values.size() == 2);
  }
  return 0;
}
