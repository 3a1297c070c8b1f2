// The passes of a transform over memory: eight columns or eight rows of the matrix into the workspace, transformed
// there, and out again. See ntt_kernels.h for what each does.
#pragma once
#include "ntt_transform.h"

namespace prover::vector {

template <class V, class M>
struct ntt_passes {
  using T = ntt_transform<V, M>;
  using F = typename T::F;
  using element = typename F::element;
  using word = typename V::word;
  using constants = typename F::constants;
  static constexpr std::size_t kWords = kNttVectorWords;

  static limbs5 lane_0(const element& a) {
    limbs5 r;
    for (std::size_t i = 0; i < 5; ++i) {
      std::uint64_t lanes[V::lanes];
      V::store(lanes, a.l[i]);
      r.l[i] = lanes[0];
    }
    return r;
  }
  static element from_words(const std::uint64_t* w) {
    word lanes[4];
    for (std::size_t i = 0; i < 4; ++i) lanes[i] = V::set(w[i]);
    return F::unpack(lanes);
  }
  static limbs5 from_plain(const std::uint64_t* plain) {
    return lane_0(F::mul_called(from_words(plain), F::constant(constants::from_plain)));
  }
  static limbs5 multiply(const limbs5& a, const limbs5& b) {
    return lane_0(F::mul_called(T::broadcast(a), T::broadcast(b)));
  }

  static void fill_middle(const ntt_matrix& m, std::size_t row, const limbs5& row_base, const limbs5& first,
                          std::uint64_t* table) {
    // Lanes hold first * base^0 ... base^7; then steps of base^8.
    const element base = T::broadcast(row_base);
    std::uint64_t limbs[kWords];
    element power = T::broadcast(first), eighth = F::one();
    for (std::size_t lane = 0; lane < 8; ++lane) {
      const limbs5 p = lane_0(power);
      for (std::size_t i = 0; i < 5; ++i) limbs[8 * i + lane] = p.l[i];
      power = F::mul_called(power, base);
      eighth = F::mul_called(eighth, base);
    }
    power = F::load(limbs);
    for (std::size_t c = 0; c < m.columns / 8; ++c) {
      store_vector(table + (c * m.rows + row) * 32, F::canonical(power));
      power = F::mul_called(power, eighth);
    }
  }

  // Eight elements as a vector: word by word.
  PROVER_VECTOR_INLINE static element load_vector(const std::uint64_t* p) {
    word w[4];
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < 4; ++i) w[i] = V::load(p + 8 * i);
    return F::unpack(w);
  }
  PROVER_VECTOR_INLINE static void store_vector(std::uint64_t* p, const element& a) {
    word w[4];
    F::pack(a, w);
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < 4; ++i) V::store(p + 8 * i, w[i]);
  }
  // Eight consecutive elements; F::mul leaves them below 2 p, which fits into 256 bits for both fields.
  PROVER_VECTOR_INLINE static element load_elements(const std::uint64_t* p) {
    word w[4];
    V::load_elements(p, w);
    return F::unpack(w);
  }
  PROVER_VECTOR_INLINE static void store_elements(std::uint64_t* p, const element& a) {
    word w[4];
    F::pack(a, w);
    V::store_elements(p, w);
  }

  static void columns_down(std::uint64_t* data, const ntt_matrix& m, std::size_t column, const ntt_roots& roots,
                           const std::uint64_t* middle, std::uint64_t* workspace) {
    for (std::size_t r = 0; r < m.rows; ++r) {
      F::store(workspace + r * kWords, load_elements(data + (r * m.columns + column) * 4));
    }
    finish_down(data, m, column, roots, middle, workspace);
  }
  static void products_down(const std::uint64_t* a, const std::uint64_t* b, std::uint64_t* data, const ntt_matrix& m,
                            std::size_t column, const ntt_roots& roots, const std::uint64_t* middle,
                            std::uint64_t* workspace) {
    for (std::size_t r = 0; r < m.rows; ++r) {
      const std::size_t at = (r * m.columns + column) * 4;
      F::store(workspace + r * kWords, product(load_elements(a + at), load_elements(b + at)));
    }
    finish_down(data, m, column, roots, middle, workspace);
  }
  // Of two numbers in the outside form, again in the outside form.
  PROVER_VECTOR_INLINE static element product(const element& a, const element& b) {
    return F::mul(F::mul(a, b), F::constant(constants::from_outside));
  }
  static void finish_down(std::uint64_t* data, const ntt_matrix& m, std::size_t column, const ntt_roots& roots,
                          const std::uint64_t* middle, std::uint64_t* workspace) {
    T::down(workspace, m.rows, roots.powers, roots.quarter);
    const std::uint64_t* factor = middle + column / 8 * m.rows * 32;
    for (std::size_t r = 0; r < m.rows; ++r) {
      const element x = F::mul(F::load(workspace + r * kWords), load_vector(factor + r * 32));
      store_elements(data + (r * m.columns + column) * 4, x);
    }
  }

  static void load_rows(const std::uint64_t* data, const ntt_matrix& m, std::size_t row, std::uint64_t* workspace) {
    const std::uint64_t* rows[8];
    for (std::size_t i = 0; i < 8; ++i) rows[i] = data + (row + i) * m.columns * 4;
    for (std::size_t c = 0; c < m.columns; c += 2) {
      word w[8];
      V::load_transposed(rows, c * 4, w);
      F::store(workspace + c * kWords, F::unpack(w));
      F::store(workspace + (c + 1) * kWords, F::unpack(w + 4));
    }
  }
  static void store_rows(const std::uint64_t* workspace, const ntt_matrix& m, std::size_t row, std::uint64_t* data) {
    std::uint64_t* rows[8];
    for (std::size_t i = 0; i < 8; ++i) rows[i] = data + (row + i) * m.columns * 4;
    for (std::size_t c = 0; c < m.columns; c += 2) {
      word w[8];
      F::pack(F::reduce(F::load(workspace + c * kWords)), w);
      F::pack(F::reduce(F::load(workspace + (c + 1) * kWords)), w + 4);
      V::store_transposed(rows, c * 4, w);
    }
  }
  // Between the two, a block of eight rows holds its columns one after the other, each a vector of eight elements.
  static void rows_down(std::uint64_t* data, const ntt_matrix& m, std::size_t row, const ntt_roots& roots,
                        const limbs5* factors, std::uint64_t* workspace) {
    load_rows(data, m, row, workspace);
    T::down(workspace, m.columns, roots.powers, roots.quarter);
    std::uint64_t* const block = data + row * m.columns * 4;
    for (std::size_t c = 0; c < m.columns; ++c) {
      store_vector(block + c * 32, F::mul(F::load(workspace + c * kWords), T::broadcast(factors[c])));
    }
  }
  static void rows_up(std::uint64_t* data, const ntt_matrix& m, std::size_t row, const ntt_roots& roots,
                      std::uint64_t* workspace) {
    const std::uint64_t* const block = data + row * m.columns * 4;
    for (std::size_t c = 0; c < m.columns; ++c) F::store(workspace + c * kWords, load_vector(block + c * 32));
    T::up(workspace, m.columns, roots.powers, roots.quarter);
    store_rows(workspace, m, row, data);
  }
  static void columns_up(std::uint64_t* data, const ntt_matrix& m, std::size_t column, const std::uint64_t* middle,
                         const ntt_roots& roots, std::uint64_t* workspace) {
    const std::uint64_t* factor = middle + column / 8 * m.rows * 32;
    for (std::size_t r = 0; r < m.rows; ++r) {
      const element x = load_elements(data + (r * m.columns + column) * 4);
      F::store(workspace + r * kWords, F::mul(x, load_vector(factor + r * 32)));
    }
    T::up(workspace, m.rows, roots.powers, roots.quarter);
    for (std::size_t r = 0; r < m.rows; ++r) {
      store_elements(data + (r * m.columns + column) * 4, F::reduce(F::load(workspace + r * kWords)));
    }
  }
  // a b - c of numbers in the kernels' form, as plain integers.
  PROVER_VECTOR_INLINE static element difference(const element& a, const element& b, const element& c) {
    limbs52<5> one{};
    one.l[0] = 1;
    const element h = F::tidy(F::template sub<2>(F::mul(a, b), c));
    return F::canonical(F::mul(h, F::constant(one)));
  }
  static void quotient(const std::uint64_t* a, const std::uint64_t* b, const std::uint64_t* c, std::size_t count,
                       std::uint64_t* h) {
    for (std::size_t i = 0; i < 4 * count; i += 32) {
      store_elements(h + i, difference(load_elements(a + i), load_elements(b + i), load_elements(c + i)));
    }
  }

  // The same for a few elements, one at a time in lane 0.
  static void small_products(const std::uint64_t* a, const std::uint64_t* b, std::size_t n, std::uint64_t* data) {
    for (std::size_t i = 0; i < n; ++i) {
      store_one(data + 4 * i, F::canonical(product(from_words(a + 4 * i), from_words(b + 4 * i))));
    }
  }
  static void small_down(std::uint64_t* data, std::size_t n, const ntt_roots& roots, const limbs5* factors,
                         std::uint64_t* workspace) {
    for (std::size_t i = 0; i < n; ++i) F::store(workspace + i * kWords, from_words(data + 4 * i));
    T::down(workspace, n, roots.powers, roots.quarter);
    for (std::size_t i = 0; i < n; ++i) {
      store_one(data + 4 * i, F::mul_called(F::load(workspace + i * kWords), T::broadcast(factors[i])));
    }
  }
  static void small_up(std::uint64_t* data, std::size_t n, const ntt_roots& roots, std::uint64_t* workspace) {
    for (std::size_t i = 0; i < n; ++i) F::store(workspace + i * kWords, from_words(data + 4 * i));
    T::up(workspace, n, roots.powers, roots.quarter);
    for (std::size_t i = 0; i < n; ++i) store_one(data + 4 * i, F::reduce(F::load(workspace + i * kWords)));
  }
  static void small_quotient(const std::uint64_t* a, const std::uint64_t* b, const std::uint64_t* c, std::size_t n,
                             std::uint64_t* h) {
    for (std::size_t i = 0; i < 4 * n; i += 4) {
      store_one(h + i, difference(from_words(a + i), from_words(b + i), from_words(c + i)));
    }
  }
  static void store_one(std::uint64_t* to, const element& x) {
    std::uint64_t all[32];
    store_elements(all, x);
    for (std::size_t i = 0; i < 4; ++i) to[i] = all[i];
  }

  static constexpr ntt_kernels kTable{from_plain, multiply, fill_middle,   columns_down, products_down,
                                      rows_down,  rows_up,  columns_up,    quotient,     small_products,
                                      small_down, small_up, small_quotient};
};

template <class V>
const ntt_kernels& ntt_table_of(scalar_field f) {
  return f == scalar_field::bn254 ? ntt_passes<V, bn254_scalar>::kTable : ntt_passes<V, bls12_381_scalar>::kTable;
}

}  // namespace prover::vector
