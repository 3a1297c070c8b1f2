// Where the time of a batch went: a table of all jobs and the tree of one, from the recorded spans.
#pragma once

#include <string>
#include <telltale/core/breakdown.hpp>
#include <telltale/core/trace_model.hpp>
#include <vector>

namespace prover::cli {

class batch_report {
 public:
  // Every prove_groth16 span among the recorded ones is a job.
  explicit batch_report(std::vector<telltale::trace_span> spans);

  // One line per job, times in milliseconds, and how the whole divides among the phases.
  std::string table() const;
  // The spans of one job: of the one that took longest.
  std::string tree() const;
  // The same as an array of jobs, times in nanoseconds.
  std::string json() const;

 private:
  struct job {
    std::size_t root;
    std::string id;
    std::string circuit;
    bool failed;
    telltale::breakdown parts;
  };
  void sort();

  telltale::trace_tree tree_;
  std::vector<job> jobs_;
};

}  // namespace prover::cli
