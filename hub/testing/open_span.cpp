// A process for tests: opens a span, and never ends it. Where its records go, its environment says.
#include <unistd.h>

#include <telltale/core/telltale.hpp>

int main() {
  using namespace telltale;
  TELLTALE_SCOPE("outer", "job_id"_a = "j1");
  TELLTALE_SPAN("endless", "n"_a = 7);
  for (;;) ::pause();
}
