// What "the same payload" and "the same request" mean.
#pragma once

#include "prover/daemon/journal.hpp"

namespace prover::daemon {

// SHA-256 of its content.
digest digest_of_payload(const payload& p);

// Over the kind, and form, size and content of every payload, in order; neither priority nor deadline.
digest digest_of_request(const journal_entry& e);

}  // namespace prover::daemon
