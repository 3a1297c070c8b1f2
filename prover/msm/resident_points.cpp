// Between the prover's points and the vector kernels' words; both lie in memory as in a .zkey.
#include "prover/msm/resident_points.hpp"

#include <cstring>
#include <type_traits>

#include "prover/curve/bls12_381.hpp"
#include "prover/curve/bn254.hpp"
#include "prover/parallel/vector_executor.hpp"

namespace prover::msm {
namespace {

template <class G>
constexpr vector::group group_of = std::is_same_v<G, bn254::g1>       ? vector::group::bn254_g1
                                   : std::is_same_v<G, bn254::g2>     ? vector::group::bn254_g2
                                   : std::is_same_v<G, bls12_381::g1> ? vector::group::bls12_381_g1
                                                                      : vector::group::bls12_381_g2;

template <class G>
std::variant<point_set<G>, vector::bases> arrange(std::vector<affine<G>> all, code_path path, thread_pool& pool) {
  static_assert(std::is_trivially_copyable_v<affine<G>> && sizeof(affine<G>) % sizeof(u64) == 0);
  if (path == code_path::portable) return point_set<G>(std::move(all));
  const std::span<const u64> words(reinterpret_cast<const u64*>(all.data()), all.size() * sizeof(affine<G>) / 8);
  return vector::bases(group_of<G>, words, executor_of(pool), vector::backend::ifma);
}

}  // namespace

template <class G>
resident_points<G>::resident_points(std::vector<affine<G>> all, code_path path, thread_pool& pool)
    : points_(arrange(std::move(all), path, pool)) {}

template <class G>
std::size_t resident_points<G>::size() const noexcept {
  if (const auto* portable = std::get_if<point_set<G>>(&points_)) return portable->points().size();
  return std::get<vector::bases>(points_).finite();
}

template <class G>
std::size_t resident_points<G>::bytes() const noexcept {
  return std::visit([](const auto& p) { return p.bytes(); }, points_);
}

template <class G>
xyzz<G> resident_points<G>::sum(std::span<const integer<4>> scalars, thread_pool& pool) const {
  if (const auto* portable = std::get_if<point_set<G>>(&points_)) return multiply_sum(*portable, scalars, pool).sum;
  const std::span<const u64> words(reinterpret_cast<const u64*>(scalars.data()), scalars.size() * 4);
  const vector::affine_point sum = vector::multiply(std::get<vector::bases>(points_), words, executor_of(pool));
  affine<G> point;
  std::memcpy(static_cast<void*>(&point), sum.words.data(), sizeof point);
  return xyzz<G>::from_affine(point);
}

template class resident_points<bn254::g1>;
template class resident_points<bn254::g2>;
template class resident_points<bls12_381::g1>;
template class resident_points<bls12_381::g2>;

}  // namespace prover::msm
