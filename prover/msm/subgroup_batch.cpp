// The test, in blocks; see subgroup_batch.hpp.
#include "prover/msm/subgroup_batch.hpp"

#include <algorithm>
#include <atomic>

#include "prover/curve/subgroup.hpp"
#include "prover/field/random.hpp"
#include "prover/msm/resident_points.hpp"

namespace prover::msm {
namespace {

// The largest pieces whose values, from -(2^b - 1) to 2^b - 1, differ by less than the cofactor's smallest prime. All
// three cofactors are odd.
template <class G>
constexpr unsigned piece_bits = 0;
template <>
constexpr unsigned piece_bits<bn254::g2> = 12;  // 10,069
template <>
constexpr unsigned piece_bits<bls12_381::g1> = 1;  // 3
template <>
constexpr unsigned piece_bits<bls12_381::g2> = 2;  // 13

// Fewer points than this are tested one by one: the sums' own tests would cost as much.
constexpr std::size_t smallest_batch = 256;
// What a batch copies of the points at once.
constexpr std::size_t block = std::size_t{1} << 19;

template <class G>
std::optional<std::size_t> test_each(std::span<const affine<G>> points, thread_pool& pool) {
  std::atomic<std::size_t> first{points.size()};
  pool.for_ranges(points.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && i < first; ++i) {
      if (is_in_subgroup(points[i])) continue;
      for (std::size_t known = first; i < known && !first.compare_exchange_weak(known, i);) {
      }
    }
  });
  if (first == points.size()) return std::nullopt;
  return first;
}

template <class G>
bool all_inside(std::span<const affine<G>> points, code_path path, thread_pool& pool) {
  std::vector<integer<2>> random(points.size());
  fill_randomly(std::as_writable_bytes(std::span(random)));
  std::vector<integer<4>> scalars(points.size());
  for (std::size_t i = 0; i < scalars.size(); ++i) scalars[i] = {random[i][0], random[i][1], 0, 0};
  const resident_points<G> resident({points.begin(), points.end()}, path, pool);
  return !test_each<G>(resident.digit_sums(scalars, piece_bits<G>, pool), pool);
}

}  // namespace

template <class G>
std::optional<std::size_t> find_outside_subgroup(std::span<const affine<G>> points, code_path path, thread_pool& pool) {
  if constexpr (piece_bits<G> == 0) return std::nullopt;  // BN254's G1 is the whole curve
  for (std::size_t begin = 0; begin < points.size(); begin += block) {
    const auto some = points.subspan(begin, std::min(block, points.size() - begin));
    if (some.size() >= smallest_batch && all_inside<G>(some, path, pool)) continue;
    if (const auto found = test_each<G>(some, pool)) return begin + *found;
  }
  return std::nullopt;
}

template std::optional<std::size_t> find_outside_subgroup(std::span<const affine<bn254::g1>>, code_path, thread_pool&);
template std::optional<std::size_t> find_outside_subgroup(std::span<const affine<bn254::g2>>, code_path, thread_pool&);
template std::optional<std::size_t> find_outside_subgroup(std::span<const affine<bls12_381::g1>>, code_path,
                                                          thread_pool&);
template std::optional<std::size_t> find_outside_subgroup(std::span<const affine<bls12_381::g2>>, code_path,
                                                          thread_pool&);

}  // namespace prover::msm
