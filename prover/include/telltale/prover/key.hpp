// Proving and verification keys. Both are values that share what they hold: copies cost nothing, and any number of
// threads may use one key at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "telltale/core/result.hpp"
#include "telltale/prover/curve.hpp"

namespace prover {

// What is checked about a key's points when it is loaded. Sizes, counts, indices and ranges are checked always, and
// every proof is verified before it is returned, whatever was chosen here.
enum class key_checks : std::uint8_t {
  full,      // on the curve and in the subgroup of prime order
  on_curve,  // on the curve
  none,      // for keys that were checked before
};

// Where and how keys are kept.
struct key_storage {
  // A folder for keys as they lie in memory, so that the next start with the same key neither parses nor checks it;
  // empty for none. Made where it is missing. A file is used only while it belongs to this user and nobody else may
  // write to it; one that can't be used is replaced. What goes wrong here is a warning in the log, never an error.
  std::string cache_folder;
  // Memory for multiples of the key's points, with which every proof is faster: for keys that stay loaded, because
  // making them costs as much as some proofs. Only the code path ifma has a use for them.
  std::size_t table_bytes = 0;
};

// Verifies proofs of one circuit.
class verification_key {
 public:
  static telltale::result<verification_key> load(const std::string& path);  // snarkjs' verification_key.json
  static telltale::result<verification_key> from_json(const std::string& text, const std::string& name);

  curve_id curve() const noexcept;
  std::size_t publics() const noexcept;

  struct state;
  explicit verification_key(std::shared_ptr<const state> s) noexcept : state_(std::move(s)) {}
  const state& inner() const noexcept { return *state_; }

 private:
  std::shared_ptr<const state> state_;
};

// Makes proofs of one circuit; engine::load_key reads it.
class proving_key {
 public:
  curve_id curve() const noexcept;
  std::size_t variables() const noexcept;    // the constant one included
  std::size_t publics() const noexcept;      // the constant one not included
  std::size_t domain_size() const noexcept;  // a power of two
  std::size_t bytes() const noexcept;        // held in memory
  bool is_test_key() const noexcept;         // from `prover setup`: its secrets are public, and it says so itself
  verification_key verification() const;

  struct state;
  explicit proving_key(std::shared_ptr<const state> s) noexcept : state_(std::move(s)) {}
  const state& inner() const noexcept { return *state_; }

 private:
  std::shared_ptr<const state> state_;
};

}  // namespace prover
