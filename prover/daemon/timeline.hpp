// When a job was in which phase, and what that sums up to. Kept beside the spans of the same names, because an answer
// must have its breakdown whatever the trace filter, the sampler and the sinks do.
#pragma once

#include <vector>

#include "prover/daemon/job.hpp"

namespace prover::daemon {

// A phase from its begin to its end. `name` is a literal.
struct interval {
  const char* name;
  steady_time begin;
  steady_time end;
};

class timeline {
 public:
  explicit timeline(steady_time begin) : begin_(begin) {}

  // A thread was at work for the job.
  void worked(const interval& i) { work_.push_back(i); }
  // The job waited. While other parts of it are worked on, it doesn't count as waiting.
  void waited(const interval& i) { waits_.push_back(i); }

  steady_time begin() const noexcept { return begin_; }
  timing up_to(steady_time end) const;

 private:
  steady_time begin_;
  std::vector<interval> work_;
  std::vector<interval> waits_;
};

}  // namespace prover::daemon
