// Number-theoretic transforms over a domain of n = 2^k points, as the prover needs them: from values on the n-th roots
// of unity to values on the odd 2n-th roots, in three steps that never reorder anything:
//
//   domain.interpolate(a)     values in natural order  ->  n * coefficients in bit-reversed order   (DIF)
//   domain.shift(a)           coefficient i times w_2n^i / n, in bit-reversed order
//   domain.evaluate(a)        coefficients in bit-reversed order  ->  values in natural order       (DIT)
//
// The tables (2n elements) are made once and shared; all functions are const and may run in many threads.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "prover/field/integer.hpp"
#include "prover/parallel/thread_pool.hpp"

namespace prover::ntt {

// The primitive 2^log_order-th root of unity that snarkjs uses: a power of the smallest non-residue.
template <class Curve>
typename Curve::fr root_of_unity(unsigned log_order) {
  using fr = typename Curve::fr;
  auto exponent = fr::modulus;
  exponent[0] -= 1;
  for (unsigned i = 0; i < log_order; ++i) shift_right_one(exponent);
  return fr::from_u64(Curve::fr_generator).power(exponent);
}

template <class Curve>
class domain {
 public:
  using fr = typename Curve::fr;

  // The largest domain whose 2n-th roots exist.
  static constexpr unsigned max_log_size = Curve::fr_two_adicity - 1;

  domain(unsigned log_size, thread_pool& pool);

  // The domain of this size, from those that are in use somewhere in the process, or a new one.
  static std::shared_ptr<const domain> shared(unsigned log_size, thread_pool& pool);

  std::size_t size() const noexcept { return std::size_t{1} << log_size_; }
  unsigned log_size() const noexcept { return log_size_; }

  // Each takes exactly size() elements.
  void interpolate(std::span<fr> values, thread_pool& pool) const;
  void shift(std::span<fr> coefficients, thread_pool& pool) const;
  void evaluate(std::span<fr> coefficients, thread_pool& pool) const;

 private:
  void interpolate_layer(fr* low, std::size_t half, std::size_t begin, std::size_t end) const noexcept;
  void evaluate_layer(fr* low, std::size_t half, std::size_t begin, std::size_t end) const noexcept;

  unsigned log_size_;
  std::vector<fr> roots_;   // roots_[m + j] = w_2m^j for m = 1, 2, 4 .. n/2 and j < m: each layer reads straight on
  std::vector<fr> shifts_;  // w_2n^i / n, in bit-reversed order
};

}  // namespace prover::ntt
