// What the plain code of the number-theoretic transform calls: one table of functions per field and backend. The
// functions allocate nothing, lock nothing and may run on any number of threads with different memory.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels.h"

namespace prover::vector {

enum class scalar_field { bn254, bls12_381 };

// A field element in the kernels' form: five limbs of 52 bits, Montgomery with R = 2^260, below 2 p.
struct limbs5 {
  std::uint64_t l[5];
};

// The n elements are a matrix of rows x columns in row-major order; a transform goes down the columns, multiplies by
// the twiddles in the middle, and goes along the rows. Both lengths are powers of two of at least 8; see ntt.h.
struct ntt_matrix {
  std::size_t rows, columns;
};

// Roots of unity for the transforms of one length: for every block length m = length, length / 4, ... above 4, for
// j < m / 4: w^j, w^2j, w^3j with w of order m. And the root of order 4.
struct ntt_roots {
  const limbs5* powers;
  limbs5 quarter;
};

// A vector of 8 elements stands in 40 words, limb by limb.
inline constexpr std::size_t kNttVectorWords = 40;

struct ntt_kernels {
  limbs5 (*from_plain)(const std::uint64_t* plain);
  limbs5 (*multiply)(const limbs5& a, const limbs5& b);

  // table[(column / 8) * rows + row], vectors of 8 elements as words: first * row_base[row]^column
  void (*fill_middle)(const ntt_matrix& m, std::size_t row, const limbs5& row_base, const limbs5& first,
                      std::uint64_t* table);

  // Eight columns from `column`: transform downwards, times the middle table, back in place.
  void (*columns_down)(std::uint64_t* data, const ntt_matrix& m, std::size_t column, const ntt_roots& roots,
                       const std::uint64_t* middle, std::uint64_t* workspace);
  // The same for the products of two arrays' elements, into a third.
  void (*products_down)(const std::uint64_t* a, const std::uint64_t* b, std::uint64_t* data, const ntt_matrix& m,
                        std::size_t column, const ntt_roots& roots, const std::uint64_t* middle,
                        std::uint64_t* workspace);
  // Eight rows from `row`: transform along, times factors[column]; rows_up takes what this leaves.
  void (*rows_down)(std::uint64_t* data, const ntt_matrix& m, std::size_t row, const ntt_roots& roots,
                    const limbs5* factors, std::uint64_t* workspace);
  // Eight rows as rows_down leaves them: transform along, and rows again.
  void (*rows_up)(std::uint64_t* data, const ntt_matrix& m, std::size_t row, const ntt_roots& roots,
                  std::uint64_t* workspace);
  // Eight columns: times the middle table, transform upwards, back in place, in the kernels' form below 1.1 p.
  void (*columns_up)(std::uint64_t* data, const ntt_matrix& m, std::size_t column, const std::uint64_t* middle,
                     const ntt_roots& roots, std::uint64_t* workspace);
  // h = a b - c of `count` elements, a multiple of eight, as columns_up leaves them; h as plain integers.
  void (*quotient)(const std::uint64_t* a, const std::uint64_t* b, const std::uint64_t* c, std::size_t count,
                   std::uint64_t* h);

  // The same for n elements that are no matrix, at an eighth of the speed.
  void (*small_products)(const std::uint64_t* a, const std::uint64_t* b, std::size_t n, std::uint64_t* data);
  void (*small_down)(std::uint64_t* data, std::size_t n, const ntt_roots& roots, const limbs5* factors,
                     std::uint64_t* workspace);
  void (*small_up)(std::uint64_t* data, std::size_t n, const ntt_roots& roots, std::uint64_t* workspace);
  void (*small_quotient)(const std::uint64_t* a, const std::uint64_t* b, const std::uint64_t* c, std::size_t n,
                         std::uint64_t* h);
};

// Throws std::runtime_error for a backend that cannot run here.
const ntt_kernels& kernels_of(scalar_field f, backend b);

namespace detail {
const ntt_kernels& emulated_ntt_kernels(scalar_field f);
const ntt_kernels& ifma_ntt_kernels(scalar_field f);
}  // namespace detail

}  // namespace prover::vector
