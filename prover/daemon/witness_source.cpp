// Witnesses that come as they are.
#include "prover/daemon/witness_source.hpp"

namespace prover::daemon {

witness_source::made wtns_reader::make(const kind& k, payload p, std::stop_token, std::optional<steady_time>) {
  if (p.form != payload_form::wtns) {
    return failure{failure_class::bad_input, "kind \"" + k.name +
                                                 "\" has no witness generator: send a witness (.wtns), or have the "
                                                 "operator set generator in its [[kind]]."};
  }
  auto read = witness::from_bytes(std::move(p.content), "the job's witness");
  if (!read) return failure{failure_class::bad_input, read.error().message};
  return std::move(*read);
}

}  // namespace prover::daemon
