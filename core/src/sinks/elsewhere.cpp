// Finding the library of a sink: beside ours first, then where the loader looks.
#include "elsewhere.hpp"

#include <dlfcn.h>

#include <string>

namespace telltale::detail {

namespace {

// The folder our own library was loaded from, with a slash; empty where the loader can't say.
std::string own_folder() {
  Dl_info me{};
  if (::dladdr(reinterpret_cast<const void*>(&make_otlp_sink), &me) == 0 || me.dli_fname == nullptr) return {};
  const std::string path = me.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

}  // namespace

result<std::shared_ptr<sink>> make_otlp_sink(sink_words words) {
  // Never closed: its sinks and their threads live as long as the process.
  void* library = ::dlopen((own_folder() + otlp_library).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) library = ::dlopen(otlp_library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* why = ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps it per thread
    return words.bad("its code is in " + std::string(otlp_library) + ", which cannot be loaded (" +
                     (why != nullptr ? why : "no reason given") +
                     "). Install telltale::otlp beside telltale::core, or add its folder to LD_LIBRARY_PATH");
  }
  const auto make = reinterpret_cast<sink_maker>(::dlsym(library, otlp_maker));
  if (make == nullptr) {
    return words.bad("the " + std::string(otlp_library) + " found is of another version of Telltale: it has no " +
                     otlp_maker + ". Install the one that belongs to this libtelltale");
  }
  result<std::shared_ptr<sink>> made = std::shared_ptr<sink>();
  make(words, made);
  return made;
}

}  // namespace telltale::detail
