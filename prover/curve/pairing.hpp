// The optimal ate pairing on both curves. A product of pairings shares its squarings and its final exponentiation:
//   final_exponentiation(miller_product<bn254>(pairs)) is one exactly where the product of e(P_i, Q_i) is.
// The result is the textbook pairing raised to a fixed power prime to r (the usual choice of faster exponents), which
// keeps it bilinear and non-degenerate.
#pragma once

#include <span>
#include <vector>

#include "prover/curve/bls12_381.hpp"
#include "prover/curve/bn254.hpp"

namespace prover {

template <class Curve>
using target = fp12<typename Curve::tower>;

template <class Curve>
struct pairing_input {
  affine<typename Curve::g1> p;
  affine<typename Curve::g2> q;
};

// A point of G2 that meets many points of G1, as those of a verification key do: the lines of its Miller loop.
template <class Curve>
class prepared_g2 {
 public:
  explicit prepared_g2(const affine<typename Curve::g2>& q);

  // y + at_x x + constant, with the powers of w that belong to each; divided by what stood at y.
  struct line {
    fp2<typename Curve::fp> at_x;
    fp2<typename Curve::fp> constant;
  };
  // In the order of the loop; none for infinity.
  std::span<const line> lines() const noexcept { return lines_; }

 private:
  std::vector<line> lines_;
};

template <class Curve>
struct prepared_pairing_input {
  affine<typename Curve::g1> p;
  const prepared_g2<Curve>* q;
};

// The Miller loop over all pairs; a pair with infinity on either side counts as one. What a prepared pair contributes
// differs from the plain one's by a factor that the final exponentiation makes one.
template <class Curve>
target<Curve> miller_product(std::span<const pairing_input<Curve>> pairs,
                             std::span<const prepared_pairing_input<Curve>> prepared = {});

template <class Curve>
target<Curve> final_exponentiation(const target<Curve>& f);

template <class Curve>
target<Curve> pairing(const affine<typename Curve::g1>& p, const affine<typename Curve::g2>& q) {
  const pairing_input<Curve> pair{p, q};
  return final_exponentiation<Curve>(miller_product<Curve>(std::span(&pair, 1)));
}

extern template class prepared_g2<bn254>;
extern template class prepared_g2<bls12_381>;
extern template target<bn254> miller_product<bn254>(std::span<const pairing_input<bn254>>,
                                                    std::span<const prepared_pairing_input<bn254>>);
extern template target<bn254> final_exponentiation<bn254>(const target<bn254>&);
extern template target<bls12_381> miller_product<bls12_381>(std::span<const pairing_input<bls12_381>>,
                                                            std::span<const prepared_pairing_input<bls12_381>>);
extern template target<bls12_381> final_exponentiation<bls12_381>(const target<bls12_381>&);

}  // namespace prover
