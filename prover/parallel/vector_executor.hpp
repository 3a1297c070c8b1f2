// The thread pool as the vector kernels' drivers see it.
#pragma once

#include "prover/parallel/thread_pool.hpp"
#include "prover/vector/executor.h"

namespace prover {

inline vector::executor executor_of(thread_pool& pool) {
  return {pool.threads(),
          [&pool](std::size_t count, const std::function<void(std::size_t)>& task) { pool.for_each(count, task); }};
}

}  // namespace prover
