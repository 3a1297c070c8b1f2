// The caller's threads, as the kernels' drivers see them.
#pragma once
#include <cstddef>
#include <functional>

namespace prover::vector {

// run(count, task) calls task(0) ... task(count - 1), on any threads and in any order, and returns when all are done;
// the first exception of a task comes out of run. threads is how many may run at once (a hint for cutting the work).
struct executor {
  std::size_t threads = 1;
  std::function<void(std::size_t count, const std::function<void(std::size_t)>& task)> run =
      [](std::size_t count, const std::function<void(std::size_t)>& task) {
        for (std::size_t i = 0; i < count; ++i) task(i);
      };
};

}  // namespace prover::vector
