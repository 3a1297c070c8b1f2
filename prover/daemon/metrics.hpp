// What the daemon counts, for /metrics; each with its meaning and unit.
#pragma once

#include <functional>
#include <memory>

#include "prover/daemon/job.hpp"
#include "prover/daemon/status.hpp"

namespace prover::daemon::metrics {

// Each under the job's context, so that histograms keep its trace as an exemplar.
void accepted(const std::string& kind);
void ended(const std::string& kind, const job_result& r);
void refused(const std::string& kind, refusal_reason why);
void loaded(const std::string& kind, const std::string& device, nanoseconds took, bool well);

// Gauges that ask for the status when somebody reads; the object must not outlive what the function uses.
class gauges {
 public:
  explicit gauges(std::function<status()> ask);
  ~gauges();
  gauges(const gauges&) = delete;
  gauges& operator=(const gauges&) = delete;

 private:
  struct all;
  std::unique_ptr<all> all_;
};

}  // namespace prover::daemon::metrics
