// Where the time of a batch went: a table of all jobs, from recorded spans or from a daemon's answers.
#pragma once

#include <cstdint>
#include <string>
#include <telltale/core/trace_model.hpp>
#include <utility>
#include <vector>

namespace prover::cli {

// A job's row. The walls of its phases sum to its total.
struct job_times {
  std::string id;
  std::string circuit;
  bool failed = false;
  std::int64_t total_ns = 0;
  std::vector<std::pair<std::string, std::int64_t>> walls;  // by phase, as prove_groth16's spans are named
};

class batch_report {
 public:
  // Every prove_groth16 span among the recorded ones is a job.
  explicit batch_report(std::vector<telltale::trace_span> spans);
  // In the order in which they are to be shown.
  explicit batch_report(std::vector<job_times> jobs) : jobs_(std::move(jobs)) {}

  // One line per job, times in milliseconds, and how the whole divides among the phases; then each transform and sum.
  // At most 120 columns wide for jobs of less than 100 s.
  std::string table() const;
  // The spans of one job, of the one that took longest; empty where no spans were recorded.
  std::string tree() const { return tree_; }
  // The same as an array of jobs, times in nanoseconds.
  std::string json() const;

 private:
  std::vector<job_times> jobs_;
  std::string tree_;
};

}  // namespace prover::cli
