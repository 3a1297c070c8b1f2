// Loads the client's library when somebody wants to talk to a daemon.
#include <dlfcn.h>

#include "prover/daemon/rpc/client.hpp"

namespace prover::daemon {

telltale::result<std::unique_ptr<client>> client::open(const client_settings& settings) {
  using opener = void(const client_settings&, telltale::result<std::unique_ptr<client>>&);
  // Never unloaded: gRPC's threads outlive every client.
  static void* const library = ::dlopen(PROVER_CLIENT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  static void* const symbol = library != nullptr ? ::dlsym(library, "telltale_prover_open_client") : nullptr;
  if (symbol == nullptr) {
    const char* why = ::dlerror();  // NOLINT(concurrency-mt-unsafe): the thread's own
    return telltale::error{"cannot talk to a daemon: " + std::string(why != nullptr ? why : PROVER_CLIENT_LIBRARY) +
                           ". It is installed beside libtelltale.so, with gRPC (apt-get install libgrpc++1.51)."};
  }
  telltale::result<std::unique_ptr<client>> opened = telltale::error{};
  reinterpret_cast<opener*>(symbol)(settings, opened);
  return opened;
}

}  // namespace prover::daemon
