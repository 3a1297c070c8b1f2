// How much memory a kind takes: estimated from its key at first, then the most that was seen in real runs.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "prover/daemon/device.hpp"
#include "prover/daemon/status.hpp"

namespace prover::daemon {

class size_book {
 public:
  void estimated(const std::string& kind, const size_estimate& e);
  bool knows(const std::string& kind) const { return of_.contains(kind); }

  // What a load brought: the key's size, and the peak while it was loaded where it could be measured.
  void measured_load(const std::string& kind, const loaded_key& key, std::optional<std::size_t> peak);
  // The peak of one proof beside key and witness.
  void measured_proof(const std::string& kind, std::size_t peak);

  // Whether another measurement would still tell something.
  bool wants_load(const std::string& kind) const;
  bool wants_proof(const std::string& kind) const;

  // While it is being loaded, and for the time after that until its size is known.
  std::size_t to_load(const kind& k, std::size_t table_bytes) const;
  std::size_t resident(const kind& k, std::size_t table_bytes) const;
  // One payload from its reading to its proof.
  std::size_t of_piece(const kind& k, std::size_t payload) const;

  status::sizes view(const std::string& kind) const;

 private:
  struct entry {
    size_estimate now;
    std::optional<std::size_t> hot;  // the key's size with its tables
    unsigned loads = 0;              // measured
    unsigned proofs = 0;             // measured
  };
  std::map<std::string, entry> of_;
};

}  // namespace prover::daemon
