// From a payload to a witness: the step that may run another program.
#pragma once

#include <stop_token>
#include <variant>

#include "prover/daemon/job.hpp"
#include "telltale/prover/witness.hpp"

namespace prover::daemon {

// Called from several threads at once, each inside its job's scope, so that lines and spans belong to the job.
class witness_source {
 public:
  virtual ~witness_source() = default;

  // `stop` is requested where the job is cancelled, expires, or the daemon stops: the call then returns soon, with
  // whatever. It must end by `deadline` in any case, where there is one. May use `kind::witness_source_memory` bytes
  // beside the payload and the witness; the ledger has them. The payload is the callee's.
  using made = std::variant<witness, failure>;
  virtual made make(const kind& k, payload p, std::stop_token stop, std::optional<steady_time> deadline) = 0;
};

// Reads .wtns payloads, and refuses inputs: what there is where no generator is configured.
class wtns_reader final : public witness_source {
 public:
  made make(const kind& k, payload p, std::stop_token stop, std::optional<steady_time> deadline) override;
};

}  // namespace prover::daemon
