// Tables and passes of the transforms; see ntt.h.
#include "ntt.h"

#include <bit>
#include <stdexcept>

#include "constants.h"
#include "reuse.h"

namespace prover::vector {
namespace {

constexpr unsigned kSmallest = 6;  // log2 of the smallest matrix, 8 x 8

std::size_t reversed(std::size_t i, std::size_t n) {
  std::size_t r = 0;
  for (std::size_t bit = 1; bit < n; bit <<= 1) r = r << 1 | std::size_t{(i & bit) != 0};
  return r;
}

integer<4> modulus_of(scalar_field f) {
  return f == scalar_field::bn254 ? bn254_scalar::modulus : bls12_381_scalar::modulus;
}
unsigned two_adicity_of(scalar_field f) {
  return f == scalar_field::bn254 ? bn254_scalar::two_adicity : bls12_381_scalar::two_adicity;
}

using workspace = buffer<std::uint64_t>;
reuse_pool<workspace> workspaces(std::size_t vectors) {
  return reuse_pool<workspace>(
      [=] { return std::make_unique<workspace>(vectors * kNttVectorWords, contents::secret); });
}

}  // namespace

const ntt_kernels& kernels_of(scalar_field f, backend b) {
  if (b == backend::emulated) return detail::emulated_ntt_kernels(f);
#if defined(PROVER_VECTOR_HAS_IFMA)
  if (available()) return detail::ifma_ntt_kernels(f);
#endif
  throw std::runtime_error("this processor has no AVX-512 IFMA: use the emulated backend");
}

limbs5 ntt_plan::plain(std::uint64_t x) const {
  const std::uint64_t words[4] = {x, 0, 0, 0};
  return kernels_->from_plain(words);
}

limbs5 ntt_plan::power(limbs5 base, std::span<const std::uint64_t> exponent) const {
  limbs5 r = plain(1);
  for (std::size_t i = 64 * exponent.size(); i-- > 0;) {
    r = kernels_->multiply(r, r);
    if ((exponent[i / 64] >> i % 64 & 1) != 0) r = kernels_->multiply(r, base);
  }
  return r;
}

ntt_plan::direction ntt_plan::make_direction(const limbs5& root) const {
  const auto raised = [&](const limbs5& base, std::uint64_t e) { return power(base, {&e, 1}); };
  const auto powers_for = [&](std::size_t length) {
    std::vector<limbs5> powers;
    for (std::size_t m = length; m > 4; m /= 4) {
      const limbs5 w = raised(root, size_ / m), w2 = kernels_->multiply(w, w), w3 = kernels_->multiply(w2, w);
      limbs5 x = plain(1), x2 = x, x3 = x;
      for (std::size_t j = 0; j < m / 4; ++j) {
        powers.insert(powers.end(), {x, x2, x3});
        x = kernels_->multiply(x, w);
        x2 = kernels_->multiply(x2, w2);
        x3 = kernels_->multiply(x3, w3);
      }
    }
    return powers;
  };
  return {powers_for(matrix_.columns), powers_for(matrix_.rows), size_ >= 4 ? raised(root, size_ / 4) : plain(1)};
}

ntt_plan::ntt_plan(scalar_field f, unsigned log_size, const executor& threads, backend b)
    : kernels_(&kernels_of(f, b)), size_(std::size_t{1} << (log_size % 64)) {
  if (log_size >= two_adicity_of(f))
    throw std::invalid_argument("ntt_plan: the field has no root of order 2^" + std::to_string(log_size + 1));
  const unsigned column_bits = log_size < kSmallest ? 0 : (log_size + 1) / 2;
  matrix_ = {size_ >> column_bits, std::size_t{1} << column_bits};

  const integer<4> r = modulus_of(f);
  integer<4> exponent = r;  // (r - 1) / 2n: the low bit falls off
  for (unsigned i = 0; i <= log_size; ++i) exponent = exponent.half();
  const limbs5 g = power(plain(5), exponent.w), w = kernels_->multiply(g, g);
  integer<4> two{};
  two.w[0] = 2;
  const limbs5 one_over_n = power(plain(size_), r.minus(two).w);
  const std::uint64_t n_minus_1 = size_ - 1;
  const limbs5 w_inverse = power(w, {&n_minus_1, 1});
  there_ = make_direction(w_inverse);
  back_ = make_direction(w);

  // Elements come in with R = 2^256 and are taken for ones with R = 2^260: 2^4 puts that right.
  const limbs5 scale = kernels_->multiply(one_over_n, plain(16));
  const std::size_t rows = matrix_.rows, columns = matrix_.columns;
  if (small()) {
    factors_.resize(size_);
    limbs5 x = scale;
    for (std::size_t i = 0; i < size_; ++i, x = kernels_->multiply(x, g)) factors_[reversed(i, size_)] = x;
    return;
  }
  // Coefficient i = row + rows * column gets g^i / n: the part of the row goes into the twiddles.
  factors_.resize(columns);
  const std::uint64_t row_count = rows;
  const limbs5 g_rows = power(g, {&row_count, 1});
  limbs5 x = plain(1);
  for (std::size_t i = 0; i < columns; ++i, x = kernels_->multiply(x, g_rows)) factors_[reversed(i, columns)] = x;

  there_middle_ = buffer<std::uint64_t>(4 * size_);
  back_middle_ = buffer<std::uint64_t>(4 * size_);
  std::vector<limbs5> base_there(rows), base_back(rows), first(rows);
  limbs5 a = plain(1), c = a, s = scale;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t row = reversed(i, rows);
    base_there[row] = a;
    base_back[row] = c;
    first[row] = s;
    a = kernels_->multiply(a, w_inverse);
    c = kernels_->multiply(c, w);
    s = kernels_->multiply(s, g);
  }
  threads.run(rows, [&](std::size_t row) {
    kernels_->fill_middle(matrix_, row, base_there[row], first[row], there_middle_.data());
    kernels_->fill_middle(matrix_, row, base_back[row], plain(1), back_middle_.data());
  });
}

void ntt_plan::check(std::initializer_list<std::span<const std::uint64_t>> arrays) const {
  for (const auto& data : arrays) {
    if (data.size() != 4 * size_)
      throw std::invalid_argument("ntt_plan of " + std::to_string(size_) + " elements got " +
                                  std::to_string(data.size() / 4));
  }
}

void ntt_plan::interpolate(std::span<std::uint64_t> data, const executor& threads) const {
  check({data});
  auto pool = workspaces(std::max(matrix_.columns, matrix_.rows));
  if (small()) {
    kernels_->small_down(data.data(), size_, there_.down(), factors_.data(), pool.borrow()->data());
    return;
  }
  threads.run(matrix_.columns / 8, [&](std::size_t i) {
    kernels_->columns_down(data.data(), matrix_, 8 * i, there_.down(), there_middle_.data(), pool.borrow()->data());
  });
  finish_interpolation(data, threads);
}

void ntt_plan::interpolate_products(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                                    std::span<std::uint64_t> c, const executor& threads) const {
  check({a, b, c});
  auto pool = workspaces(std::max(matrix_.columns, matrix_.rows));
  if (small()) {
    kernels_->small_products(a.data(), b.data(), size_, c.data());
    kernels_->small_down(c.data(), size_, there_.down(), factors_.data(), pool.borrow()->data());
    return;
  }
  threads.run(matrix_.columns / 8, [&](std::size_t i) {
    kernels_->products_down(a.data(), b.data(), c.data(), matrix_, 8 * i, there_.down(), there_middle_.data(),
                            pool.borrow()->data());
  });
  finish_interpolation(c, threads);
}

void ntt_plan::finish_interpolation(std::span<std::uint64_t> data, const executor& threads) const {
  auto pool = workspaces(matrix_.columns);
  threads.run(matrix_.rows / 8, [&](std::size_t i) {
    kernels_->rows_down(data.data(), matrix_, 8 * i, there_.along(), factors_.data(), pool.borrow()->data());
  });
}

void ntt_plan::evaluate(std::span<std::uint64_t> data, const executor& threads) const {
  check({data});
  auto pool = workspaces(std::max(matrix_.columns, matrix_.rows));
  if (small()) {
    kernels_->small_up(data.data(), size_, back_.down(), pool.borrow()->data());
    return;
  }
  threads.run(matrix_.rows / 8, [&](std::size_t i) {
    kernels_->rows_up(data.data(), matrix_, 8 * i, back_.along(), pool.borrow()->data());
  });
  threads.run(matrix_.columns / 8, [&](std::size_t i) {
    kernels_->columns_up(data.data(), matrix_, 8 * i, back_middle_.data(), back_.down(), pool.borrow()->data());
  });
}

void ntt_plan::quotient(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                        std::span<const std::uint64_t> c, std::span<std::uint64_t> h, const executor& threads) const {
  check({a, b, c, h});
  if (small()) {
    kernels_->small_quotient(a.data(), b.data(), c.data(), size_, h.data());
    return;
  }
  // A row at a time: a multiple of eight elements, and as many tasks as there are rows.
  threads.run(matrix_.rows, [&](std::size_t i) {
    const std::size_t at = 4 * i * matrix_.columns;
    kernels_->quotient(a.data() + at, b.data() + at, c.data() + at, matrix_.columns, h.data() + at);
  });
}

}  // namespace prover::vector
