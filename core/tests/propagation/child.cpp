// A child that belongs to whoever started it: one span and one line, as JSON lines on its output.
#include <telltale/core/propagation.hpp>
#include <telltale/core/telltale.hpp>

TELLTALE_MODULE("child");

int main() {
  const telltale::remote_scope from{telltale::extract_environment()};
  TELLTALE_SPAN("child");
  TELLTALE_INFO("at work");
  return 0;
}
