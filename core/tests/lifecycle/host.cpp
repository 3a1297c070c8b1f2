// Loads two libraries that use Telltale. Built twice: linked with Telltale itself, and not.
//   host A.so B.so      both speak, one inside the other's span; then they are unloaded and loaded again
#include <dlfcn.h>

#include <cstdio>

#if defined(HOST_USES_TELLTALE)
#include <telltale/core/telltale.hpp>
TELLTALE_MODULE("host");
#endif

namespace {

using speak = void (*)(void (*)());
speak other = nullptr;

struct plugin {
  void* handle;
  speak run;
};

plugin load(const char* path) {
  void* handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return {nullptr, nullptr};
  }
  return {handle, reinterpret_cast<speak>(::dlsym(handle, "plugin_speak"))};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  for (int round = 0; round < 3; ++round) {
#if defined(HOST_USES_TELLTALE)
    TELLTALE_SPAN("host");
#endif
    const plugin a = load(argv[1]);
    const plugin b = load(argv[2]);
    if (a.run == nullptr || b.run == nullptr) return 1;
    other = b.run;
    a.run([] { other(nullptr); });
    ::dlclose(a.handle);
    ::dlclose(b.handle);
#if defined(HOST_USES_TELLTALE)
    TELLTALE_INFO("after dlclose");
#endif
  }
  return 0;
}
