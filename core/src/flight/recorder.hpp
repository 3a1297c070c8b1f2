// The flight recorder: this process's memory, moved into a file that outlives it (docs/core.md).
//
// Memory is made plain and moved before the first ring is handed out; addresses stay. A forked child gets a plain copy
// of what its parent had, and moves into a file of its own with its first record. A ring for which the disk has no
// room lies in plain memory and is said to; nothing mapped is ever without its block on disk, so that no store can
// fail.
//
// Everything here needs registry_mutex, but for what says otherwise.
#pragma once

#include <cstdint>
#include <string>

#include "../memory.hpp"
#include "files.hpp"

namespace telltale::detail {

struct flight {
  // Moves `m` into a new file, now.
  static result<void> start(memory_map& m, const flight_options& o);
  // The same in a forked child whose parent had one, before its first ring; says on stderr what goes wrong.
  static void move_in_late(memory_map& m) noexcept;
  // Space on disk for ring `n`; where there is none, plain memory (false).
  static bool extend(memory_map& m, std::uint32_t n) noexcept;

  // What this process was told; null: it has no recorder. Without the lock, by the drain's thread.
  static const flight_options* settings() noexcept;
  // The file is no longer needed: everything recorded is out. Without the lock, at exit.
  static void discard() noexcept;

  static void before_fork() noexcept;
  static void after_fork_in_parent() noexcept;
  static void after_fork_in_child() noexcept;
};

}  // namespace telltale::detail
