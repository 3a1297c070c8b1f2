// From a parsed .zkey to a key in use.
#include "prover/groth16/key.hpp"

#include <bit>

namespace prover::groth16 {

namespace {

// Points into the layout of a path. By value and in a function of its own, so that what was read is gone before the
// next section is laid out: together they were the most memory that a load takes.
template <class G>
msm::resident_points<G> laid_out(std::vector<affine<G>> points, code_path path, thread_pool& pool) {
  return {std::move(points), path, pool};
}

}  // namespace

template <class Curve>
key_content<Curve> prepare(format::zkey<Curve> z, code_path path, thread_pool& pool) {
  auto a = laid_out(std::move(z.a), path, pool);
  auto b1 = laid_out(std::move(z.b1), path, pool);
  auto b2 = laid_out(std::move(z.b2), path, pool);
  auto c = laid_out(std::move(z.c), path, pool);
  auto h = laid_out(std::move(z.h), path, pool);
  return {z.header,
          path,
          z.alpha1,
          z.beta1,
          z.delta1,
          z.beta2,
          z.gamma2,
          z.delta2,
          std::move(z.ic),
          std::move(a),
          std::move(b1),
          std::move(b2),
          std::move(c),
          std::move(h),
          std::move(z.a_rows),
          std::move(z.b_rows),
          std::move(z.values)};
}

template <class Curve>
void add_tables(key_content<Curve>& k, std::size_t bytes, thread_pool& pool) {
  const auto size = [](const auto& points) { return static_cast<double>(points.prepared().words.size()); };
  const double all = size(k.a) + size(k.b1) + size(k.b2) + size(k.c) + size(k.h);
  const auto add = [&](auto& points) {
    points.add_tables(static_cast<std::size_t>(static_cast<double>(bytes) * (size(points) / all)), pool);
  };
  add(k.a);
  add(k.b1);
  add(k.b2);
  add(k.c);
  add(k.h);
}

template <class Curve>
key<Curve>::key(key_content<Curve> content, thread_pool& pool)
    : key_content<Curve>(std::move(content)),
      quotient(static_cast<unsigned>(std::countr_zero(this->header.domain_size)), this->path, pool),
      check(std::make_shared<const verifier<Curve>>(
          verification_points<Curve>{this->alpha1, this->beta2, this->gamma2, this->delta2, this->ic})) {}

template <class Curve>
std::size_t key<Curve>::bytes() const noexcept {
  const auto of = [](const auto& v) { return v.size() * sizeof(v[0]); };
  return this->a.bytes() + this->b1.bytes() + this->b2.bytes() + this->c.bytes() + this->h.bytes() +
         of(this->a_rows.starts) + of(this->a_rows.entries) + of(this->b_rows.starts) + of(this->b_rows.entries) +
         of(this->values) + 2 * of(this->ic) + sizeof *this;
}

template key_content<bn254> prepare(format::zkey<bn254>, code_path, thread_pool&);
template key_content<bls12_381> prepare(format::zkey<bls12_381>, code_path, thread_pool&);
template void add_tables(key_content<bn254>&, std::size_t, thread_pool&);
template void add_tables(key_content<bls12_381>&, std::size_t, thread_pool&);
template struct key<bn254>;
template struct key<bls12_381>;

}  // namespace prover::groth16
