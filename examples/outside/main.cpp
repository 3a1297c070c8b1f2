// The smallest instrumented program: a scope whose attribute everything inside inherits, a span, a log line.
// Where the records go is up to the environment: TELLTALE_SINKS=json:trace.jsonl ./outside job-7
#include <string>
#include <telltale/core/telltale.hpp>

TELLTALE_MODULE("example");
using namespace telltale::literals;

int main(int argc, char** argv) {
  const std::string id = argc > 1 ? argv[1] : "job-1";
  TELLTALE_SCOPE("serve", "job_id"_a = telltale::text{id});
  TELLTALE_SPAN("work", "n"_a = 3);
  TELLTALE_INFO("did {n} things", "n"_a = 3);
}
