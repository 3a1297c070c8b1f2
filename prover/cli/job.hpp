// One proving job as the command line runs it, and its id.
#pragma once

#include <string>
#include <telltale/core/result.hpp>

#include "telltale/prover/engine.hpp"

namespace prover::cli {

// Eight random hexadecimal digits: enough to tell the jobs of a log apart.
std::string new_job_id();

struct job {
  std::string id;
  std::string circuit;  // the key's file name without its ending
  std::string key;
  std::string witness;
  std::string vkey;   // where not empty, the proof must verify with this key as well
  std::string r1cs;   // where not empty, and the witness yields no proof, it says which constraint is violated
  std::string names;  // where not empty, the .sym file that goes with it
  std::string proof;  // where not empty, written here
  std::string signals;
};

struct failure {
  bool is_refusal = false;  // the witness yields no proof, as opposed to a file that can't be read or written
  telltale::error why;
};

// Loads, proves, verifies, writes. To be called inside the job's scope.
struct job_result {
  bool good = false;
  failure problem;
};
job_result run(const job& j, engine& e, key_checks checks, const key_storage& storage);

}  // namespace prover::cli
