// A library that uses Telltale, built twice under two names; loaded by host.cpp with RTLD_LOCAL.
#include <chrono>
#include <telltale/core/telltale.hpp>
#include <thread>

#define TELLTALE_TEXT_(x) #x
#define TELLTALE_TEXT(x) TELLTALE_TEXT_(x)
TELLTALE_MODULE("plugin");
using namespace telltale::literals;

namespace {
// A library that is unloaded destroys its statics: they record, and so does its thread until then.
struct speaks_at_unload {
  ~speaks_at_unload() { TELLTALE_INFO("unloaded", "plugin"_a = TELLTALE_TEXT(PLUGIN_NAME)); }
} at_unload;
}  // namespace

// Runs `inner` (null: nothing) inside a span.
extern "C" [[gnu::visibility("default")]] void plugin_speak(void (*inner)()) {
  TELLTALE_SCOPE("speak", "plugin"_a = TELLTALE_TEXT(PLUGIN_NAME));
  std::thread([] { TELLTALE_INFO("from a thread of it"); }).join();
  TELLTALE_INFO("spoken");
  if (inner != nullptr) inner();
}
