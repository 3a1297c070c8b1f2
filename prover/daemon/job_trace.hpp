// A job's place in the trace: the scope `prove_groth16{job_id, kind}` from its acceptance to its answer, on whichever
// threads it runs. Every line and span below it carries the job's id.
#pragma once

#include <telltale/core/telltale.h>

#include <optional>
#include <utility>

#include "prover/daemon/job.hpp"

namespace prover::daemon {

// A span that begins and ends on different threads.
class loose_span {
 public:
  loose_span() = default;
  explicit loose_span(telltale_span s) noexcept : span_(s) {}
  loose_span(loose_span&& other) noexcept : span_(std::exchange(other.span_, {})) {}
  loose_span& operator=(loose_span&& other) noexcept {
    std::swap(span_, other.span_);
    return *this;
  }
  ~loose_span() { telltale_span_end(span_); }
  telltale_span get() const noexcept { return span_; }

 private:
  telltale_span span_{};
};

class job_trace {
 public:
  // Below the caller's current span: a request that came from another process is the parent.
  job_trace(const job_id& id, const std::string& kind);

  // The calling thread works for this job, as long as the object lives.
  class inside {
   public:
    explicit inside(const job_trace& t) noexcept : former_(telltale_span_enter(t.root_.get())) {}
    ~inside() { telltale_context_set(&former_); }
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;

   private:
    telltale_context former_;
  };

  enum class wait : std::uint8_t { queue, key, device };
  loose_span begin_wait(wait what) const;

  // Ends the scope, as failed unless the job was completed.
  void end(outcome how);

 private:
  loose_span root_;
};

// The caller's way until its job is accepted: a span `submit`, beside the job's and never current, because the job
// outlives it.
class submission_trace {
 public:
  explicit submission_trace(std::size_t bytes);
  void accepted(const job_id& id);

 private:
  loose_span span_;
  bool below_caller_;
};

constexpr const char* name_of(job_trace::wait w) noexcept {
  constexpr const char* names[] = {"queue", "wait_key", "wait_device"};
  return names[static_cast<std::size_t>(w)];
}

}  // namespace prover::daemon
