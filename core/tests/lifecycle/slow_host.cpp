// slow_host SLOW_PLUGIN.so: one thread loads it, another records for the first time meanwhile.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <telltale/core/telltale.hpp>
#include <thread>

TELLTALE_MODULE("slow_host");

extern "C" {
[[gnu::visibility("default")]] std::atomic<int> loading{0};
}

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  std::thread loader([&] {
    if (::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) == nullptr) std::fprintf(stderr, "%s\n", ::dlerror());
  });
  while (loading == 0) std::this_thread::yield();
  TELLTALE_INFO("first record of the program");
  loader.join();
  return 0;
}
