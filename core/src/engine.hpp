// The running library: configuration, the drain's thread, sinks, flush, shutdown, fork. One per process.
//
// Lock order: configuration (engine.cpp) before registry_mutex; neither is ever taken by a record on its hot path.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "memory.hpp"

namespace telltale::detail {

// What a record does that finds its ring full.
enum class full_action : std::uint8_t { wait, drop, drop_shut_down };

struct engine {
  // Reads the environment unless start() was called before; complains on stderr about what it can't read. Cheap once
  // done. Call it before registry_mutex is taken.
  static void ensure_configured() noexcept;
  // Starts the drain's thread if there is none.
  static void ensure_drain() noexcept;
  // Sizes for a mapping that is about to be made.
  static memory_sizes sizes_locked() noexcept;
  static full_action when_full() noexcept;
  // Keys of inherited attributes that may cross a process.
  static std::shared_ptr<const std::vector<std::string>> baggage_keys();
  // How long exit may wait for the sinks.
  TELLTALE_EXPORT static std::chrono::milliseconds exit_timeout();
  // Whether threads wait rather than drop: then nothing may be lost.
  static bool waits() noexcept;

  // Ends the drain's sleep. Costs a load where it is awake.
  static void wake_drain() noexcept;
  // Wakes the drain and sleeps until it has made room in some ring, or for a millisecond.
  static void wait_for_room(const thread_block& b) noexcept;
  // The drain says that a ring is no longer crowded.
  static void made_room() noexcept;
};

}  // namespace telltale::detail
