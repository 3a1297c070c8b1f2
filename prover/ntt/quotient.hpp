// From a and b, values of two polynomials on the n-th roots of unity, to the scalars h of a key's H points: with c the
// polynomial whose values are the products a_i b_i, h = a b - c on the odd 2n-th roots.
#pragma once

#include <memory>
#include <variant>

#include "prover/code_path.hpp"
#include "prover/ntt/domain.hpp"
#include "prover/parallel/secret.hpp"
#include "prover/vector/ntt.h"
#include "telltale/prover/stages.hpp"

namespace prover::ntt {

// Immutable: any number of threads may use one. The tables behind it are shared between keys of one size.
template <class Curve>
class quotient {
 public:
  using fr = typename Curve::fr;

  quotient(unsigned log_size, code_path path, thread_pool& pool);

  std::size_t size() const noexcept;

  // a and b hold size() elements each and are used up. The result: plain integers; nothing where `stages` says to stop.
  secret_vector<integer<4>> scalars(secret_vector<fr> a, secret_vector<fr> b, thread_pool& pool,
                                    stage_listener* stages = nullptr) const;

 private:
  using shared_domain = std::shared_ptr<const domain<Curve>>;
  using shared_plan = std::shared_ptr<const vector::ntt_plan>;
  static std::variant<shared_domain, shared_plan> tables(unsigned log_size, code_path path, thread_pool& pool);

  std::variant<shared_domain, shared_plan> tables_;
};

}  // namespace prover::ntt
