// The engine proves and verifies with a fixed set of threads.
//
//   prover::engine engine;
//   auto key = engine.load_key("circuit.zkey");
//   auto witness = prover::witness::load("input.wtns");
//   if (!key || !witness) …
//   auto made = engine.prove(*key, *witness);      // verified before it is returned
//   made->proof.save("proof.json");
//
// One engine may be used from many threads at once; they share its threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "telltale/core/result.hpp"
#include "telltale/prover/circuit.hpp"
#include "telltale/prover/key.hpp"
#include "telltale/prover/proof.hpp"
#include "telltale/prover/stages.hpp"
#include "telltale/prover/witness.hpp"

namespace prover {

class engine {
 public:
  // Zero means one thread per processor that this process may use.
  explicit engine(unsigned threads = 0);
  ~engine();

  unsigned threads() const noexcept;

  // A key that comes from the cache has passed the full checks before.
  telltale::result<proving_key> load_key(const std::string& path, key_checks checks = key_checks::full,
                                         const key_storage& storage = {});
  telltale::result<proving_key> parse_key(std::vector<std::byte> bytes, const std::string& name,
                                          key_checks checks = key_checks::full);

  struct proved {
    prover::proof proof;
    public_signals signals;
  };
  // An error, and never a proof, where the witness does not satisfy the circuit, or `stages` says to stop.
  telltale::result<proved> prove(const proving_key& key, const witness& w, stage_listener* stages = nullptr);

  // The first constraint that the witness does not satisfy; nothing where it satisfies all. An error where the two
  // don't belong together.
  telltale::result<std::optional<violation>> check(const circuit& c, const witness& w);

  enum class verdict : std::uint8_t { valid, invalid };
  // An error where the three don't belong together (curve, number of signals).
  telltale::result<verdict> verify(const verification_key& key, const proof& p, const public_signals& signals);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace prover
