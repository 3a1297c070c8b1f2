// A library whose constructor, which runs under the loader's lock, records while another thread hits a new call site.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <telltale/core/telltale.hpp>
#include <thread>

TELLTALE_MODULE("slow_plugin");

namespace {
struct speaks_at_load {
  speaks_at_load() {
    // The program waits for this flag, then records for the first time.
    auto* flag = static_cast<std::atomic<int>*>(::dlsym(RTLD_DEFAULT, "loading"));
    if (flag != nullptr) *flag = 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    TELLTALE_INFO("from a constructor under the loader's lock");
  }
} at_load;
}  // namespace
