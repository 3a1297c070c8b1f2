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
  if (path != code_path::ifma) return point_set<G>(std::move(all));
  const std::span<const u64> words(reinterpret_cast<const u64*>(all.data()), all.size() * sizeof(affine<G>) / 8);
  return vector::bases(group_of<G>, words, executor_of(pool), vector::backend::ifma);
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
    : points_(arrange(std::move(all), path, pool)) {}

template <class G>
resident_points<G>::resident_points(std::size_t given, std::size_t finite, code_path path, memory& to_fill)
    : points_([&]() -> std::variant<point_set<G>, vector::bases> {
        if (path != code_path::ifma) {
          typename point_set<G>::memory room;
          point_set<G> points(given, finite, room);
          to_fill = {room.index,
                     {reinterpret_cast<u64*>(room.points.data()), room.points.size() * sizeof(affine<G>) / 8}};
          return points;
        }
        vector::bases::memory room;
        vector::bases points(group_of<G>, given, finite, vector::backend::ifma, room);
        to_fill = {room.origin, room.records};
        return points;
      }()) {}

template <class G>
std::size_t resident_points<G>::words_per_point(code_path path) {
  if (path != code_path::ifma) return sizeof(affine<G>) / sizeof(u64);
  return vector::kernels_of(group_of<G>, vector::backend::ifma).record_words;
}

template <class G>
typename resident_points<G>::image resident_points<G>::prepared() const noexcept {
  if (const auto* portable = std::get_if<point_set<G>>(&points_)) {
    const auto points = portable->points();
    return {portable->index(), {reinterpret_cast<const u64*>(points.data()), points.size() * sizeof(affine<G>) / 8}};
  }
  const auto& bases = std::get<vector::bases>(points_);
  return {bases.origin(), {bases.records(), bases.finite() * bases.kernels().record_words}};
}

template <class G>
void resident_points<G>::add_tables(std::size_t bytes, thread_pool& pool) {
  if (auto* bases = std::get_if<vector::bases>(&points_)) bases->add_tables(bytes, executor_of(pool));
}

template <class G>
std::size_t resident_points<G>::given() const noexcept {
  if (const auto* portable = std::get_if<point_set<G>>(&points_)) return portable->scalar_count();
  return std::get<vector::bases>(points_).size();
}

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
  return xyzz<G>::from_affine(
      point_from<G>(vector::multiply(std::get<vector::bases>(points_), words_of(scalars), executor_of(pool))));
}

template <class G>
std::vector<affine<G>> resident_points<G>::digit_sums(std::span<const integer<4>> scalars, unsigned bits,
                                                      thread_pool& pool) const {
  if (const auto* portable = std::get_if<point_set<G>>(&points_))
    return msm::digit_sums(*portable, scalars, bits, pool);
  std::vector<affine<G>> sums;
  for (const auto& sum :
       vector::digit_sums(std::get<vector::bases>(points_), words_of(scalars), bits, executor_of(pool)))
    sums.push_back(point_from<G>(sum));
  return sums;
}

template class resident_points<bn254::g1>;
template class resident_points<bn254::g2>;
template class resident_points<bls12_381::g1>;
template class resident_points<bls12_381::g2>;

}  // namespace prover::msm
