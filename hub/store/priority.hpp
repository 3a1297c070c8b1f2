// Who keeps what comes in yields to who asks: on a busy machine a question doesn't wait for its turn among writers.
#pragma once

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace telltale::hub {

// Of this thread and those that it starts from now on; Linux has it by thread.
inline void yield_to_questions(int nice) noexcept {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), nice);
}
// The same for a thread of a library's, whenever it comes by.
inline void yield_once(int nice) noexcept {
  thread_local bool yields = false;
  if (yields) return;
  yields = true;
  yield_to_questions(nice);
}
inline constexpr int nice_ingest = 10;
inline constexpr int nice_upkeep = 15;

}  // namespace telltale::hub
