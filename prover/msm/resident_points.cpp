// Between the prover's points and the words of vector/; both lie in memory as in a .zkey.
#include "prover/msm/resident_points.hpp"

#include <cstring>
#include <type_traits>

#include "prover/curve/bls12_381.hpp"
#include "prover/curve/bn254.hpp"
#include "prover/msm/scalar_kernels.hpp"
#include "prover/parallel/vector_executor.hpp"

namespace prover::msm {
namespace {

template <class G>
constexpr vector::group group_of = std::is_same_v<G, bn254::g1>       ? vector::group::bn254_g1
                                   : std::is_same_v<G, bn254::g2>     ? vector::group::bn254_g2
                                   : std::is_same_v<G, bls12_381::g1> ? vector::group::bls12_381_g1
                                                                      : vector::group::bls12_381_g2;

template <class G>
const vector::group_kernels& kernels_of(code_path path) {
  return path == code_path::ifma ? vector::kernels_of(group_of<G>, vector::backend::ifma) : scalar_kernels<G>();
}

template <class G>
std::span<const u64> words_of(const std::vector<affine<G>>& points) noexcept {
  static_assert(std::is_trivially_copyable_v<affine<G>> && sizeof(affine<G>) % sizeof(u64) == 0);
  return {reinterpret_cast<const u64*>(points.data()), points.size() * sizeof(affine<G>) / sizeof(u64)};
}
std::span<const u64> words_of(std::span<const integer<4>> scalars) noexcept {
  return {reinterpret_cast<const u64*>(scalars.data()), scalars.size() * 4};
}

template <class G>
affine<G> point_from(const vector::affine_point& p) noexcept {
  affine<G> point;
  std::memcpy(static_cast<void*>(&point), p.words.data(), sizeof point);
  return point;
}

}  // namespace

template <class G>
resident_points<G>::resident_points(std::vector<affine<G>> all, code_path path, thread_pool& pool)
    : points_(group_of<G>, words_of(all), executor_of(pool), kernels_of<G>(path)) {}

template <class G>
resident_points<G>::resident_points(std::size_t given, std::size_t finite, code_path path, memory& to_fill)
    : points_([&] {
        vector::bases::memory room;
        vector::bases points(group_of<G>, given, finite, kernels_of<G>(path), room);
        to_fill = {room.origin, room.records};
        return points;
      }()) {}

template <class G>
std::size_t resident_points<G>::words_per_point(code_path path) {
  return kernels_of<G>(path).record_words;
}

template <class G>
typename resident_points<G>::image resident_points<G>::prepared() const noexcept {
  return {points_.origin(), {points_.records(), points_.finite() * points_.kernels().record_words}};
}

template <class G>
void resident_points<G>::add_tables(std::size_t bytes, thread_pool& pool) {
  points_.add_tables(bytes, executor_of(pool));
}

template <class G>
std::size_t resident_points<G>::given() const noexcept {
  return points_.size();
}

template <class G>
std::size_t resident_points<G>::size() const noexcept {
  return points_.finite();
}

template <class G>
std::size_t resident_points<G>::bytes() const noexcept {
  return points_.bytes();
}

template <class G>
xyzz<G> resident_points<G>::sum(std::span<const integer<4>> scalars, thread_pool& pool) const {
  return xyzz<G>::from_affine(point_from<G>(vector::multiply(points_, words_of(scalars), executor_of(pool))));
}

template <class G>
std::vector<affine<G>> resident_points<G>::digit_sums(std::span<const integer<4>> scalars, unsigned bits,
                                                      thread_pool& pool) const {
  std::vector<affine<G>> sums;
  for (const auto& sum : vector::digit_sums(points_, words_of(scalars), bits, executor_of(pool)))
    sums.push_back(point_from<G>(sum));
  return sums;
}

template class resident_points<bn254::g1>;
template class resident_points<bn254::g2>;
template class resident_points<bls12_381::g1>;
template class resident_points<bls12_381::g2>;

}  // namespace prover::msm
