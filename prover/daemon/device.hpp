// What proves. The CPU is one; a GPU would be another; tests have fakes that are slow and faulty as told.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "prover/daemon/job.hpp"
#include "telltale/core/result.hpp"
#include "telltale/prover/stages.hpp"
#include "telltale/prover/witness.hpp"

namespace prover::daemon {

// What a kind takes on a device, in bytes, before anybody has measured it.
struct size_estimate {
  std::size_t key = 0;      // resident, without tables
  std::size_t loading = 0;  // beside that, while it is being loaded
  std::size_t witness = 0;  // one witness
  std::size_t working = 0;  // one proof, beside key and witness
};

// A key as a device holds it. Its memory goes with the last pointer.
class loaded_key {
 public:
  virtual ~loaded_key() = default;
  virtual std::size_t size() const = 0;  // bytes
  virtual bool hot() const = 0;          // with its tables
};

// prove() is called on `lanes()` threads at once, load() and estimate() on others meanwhile.
class device {
 public:
  virtual ~device() = default;

  virtual std::string name() const = 0;  // unique: "cpu", a GPU's UUID
  virtual std::string description() const = 0;
  // How many proofs it works on at once.
  virtual unsigned lanes() const { return 1; }
  // Whether what it uses lies in this process's memory, so that the process's peak tells what a proof took.
  virtual bool in_process_memory() const { return true; }

  // From the key file's header. An error where there is no key that can be read.
  virtual telltale::result<size_estimate> estimate(const kind& k) const = 0;

  // With `table_bytes` of tables, 0 for none. Each load reads the files anew.
  virtual std::variant<std::shared_ptr<const loaded_key>, failure> load(const kind& k, std::size_t table_bytes) = 0;

  // The device's fault, as opposed to the job's: the job may be tried again, here or elsewhere.
  struct fault {
    std::string message;
  };
  struct stopped {};  // the listener said so
  using proved = std::variant<proof_text, failure, fault, stopped>;
  // A proof, verified before it is returned, or why there is none.
  virtual proved prove(const kind& k, const loaded_key& key, const witness& w, stage_listener& stages) = 0;
};

}  // namespace prover::daemon
