// Number-theoretic transforms over the scalar fields of BN254 and BLS12-381, as a Groth16 prover needs them.
//
//   const ntt_plan plan(scalar_field::bn254, 18, executor{});
//   plan.interpolate_products(a, b, c, threads);   // a, b: values on the domain; c: coefficients
//   for (auto* p : {a, b}) plan.interpolate(*p, threads);
//   for (auto* p : {a, b, c}) plan.evaluate(*p, threads);
//   plan.quotient(a, b, c, h, threads);            // h: the scalars of the H points, plain
//
// Elements are four little-endian words in Montgomery form with R = 2^256 (the form of a .zkey's coefficients times a
// witness). The domain is the powers of w, of order n = 2^k, w = 5^((r - 1) / n); the coset is g times it, g the root
// of order 2n, g^2 = w: the odd powers of g, to which the H points of a .zkey belong.
//
// The n elements are a matrix: transforms go down eight columns at a time, then along eight rows at a time (W. M.
// Gentleman, G. Sande, "Fast Fourier transforms for fun and profit", 1966), each in the second-level cache. Going to
// coefficients leaves bit-reversed order and coming back takes it, so there is no pass that only permutes; the
// multiplication by powers of g and by 1 / n happens on the way to coefficients, while the rows are at hand. Each
// transform goes over memory twice.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "executor.h"
#include "memory.h"
#include "ntt_kernels.h"

namespace prover::vector {

// Immutable; any number of threads may use one. Its memory: 64 n bytes. Each call works in 320 sqrt(n) bytes per
// thread, wiped before they are freed.
class ntt_plan {
 public:
  // Throws std::invalid_argument where the field has no root of order 2^(log_size + 1).
  ntt_plan(scalar_field f, unsigned log_size, const executor& threads,
           backend b = available() ? backend::ifma : backend::emulated);

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return (there_middle_.size() + back_middle_.size()) * 8; }

  // In the calls below every array must be size() elements long, else std::invalid_argument. They follow each other as
  // above: what one leaves is only good for the next.

  // From values on the domain, in natural order, to coefficients.
  void interpolate(std::span<std::uint64_t> data, const executor& threads) const;
  // The same for the products a_i b_i, into c.
  void interpolate_products(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                            std::span<std::uint64_t> c, const executor& threads) const;
  // From coefficients to values on the coset, in natural order: elements with R = 2^260, reduced to below 1.1 r only.
  void evaluate(std::span<std::uint64_t> data, const executor& threads) const;
  // h = a b - c of values on the coset, as plain integers.
  void quotient(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::span<const std::uint64_t> c,
                std::span<std::uint64_t> h, const executor& threads) const;

 private:
  struct direction {
    std::vector<limbs5> row_powers, column_powers;  // for transforms along a row, and down a column
    limbs5 quarter;
    ntt_roots along() const { return {row_powers.data(), quarter}; }
    ntt_roots down() const { return {column_powers.data(), quarter}; }
  };
  direction make_direction(const limbs5& root) const;
  limbs5 power(limbs5 base, std::span<const std::uint64_t> exponent) const;
  limbs5 plain(std::uint64_t x) const;
  void check(std::initializer_list<std::span<const std::uint64_t>> arrays) const;
  void finish_interpolation(std::span<std::uint64_t> data, const executor& threads) const;
  bool small() const { return matrix_.columns < 8; }

  const ntt_kernels* kernels_;
  std::size_t size_;
  ntt_matrix matrix_;
  direction there_, back_;                            // to coefficients, and to values
  std::vector<limbs5> factors_;                       // of each column, between there and back
  buffer<std::uint64_t> there_middle_, back_middle_;  // twiddles between columns and rows
};

}  // namespace prover::vector
