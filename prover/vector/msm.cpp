// Preparing bases, choosing the window width, and sharing the windows out to threads; see msm.h.
#include "msm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "bucket_sum.h"
#include "constants.h"
#include "digits.h"
#include "reuse.h"

namespace prover::vector {
namespace {

bool is_bn254(group g) {
  return g == group::bn254_g1 || g == group::bn254_g2;
}

std::array<std::uint64_t, 4> order_of(group g) {
  const integer<4> r = is_bn254(g) ? bn254_scalar::modulus : bls12_381_scalar::modulus;
  return {r.w[0], r.w[1], r.w[2], r.w[3]};
}

// How scalars are cut: windows of `width` bits, of which those that are `sets` apart share their buckets.
struct plan {
  unsigned width, sets;
};

constexpr unsigned kNarrowest = 3;

unsigned order_length_of(group g) {
  return is_bn254(g) ? 254 : 255;
}

unsigned windows_of(unsigned width, unsigned order_length) {
  return (order_length + width - 1) / width;
}

// Costs in additions, measured: a point in a window is added once and sorted; a bucket in use costs about two
// additions in the halving, less the one it saves by being a bucket's first, and where few buckets are in use one more
// for every level at which it finds no neighbour; a window's buckets cost their small last batches.
double cost_of(const plan& p, const length_histogram& lengths, unsigned order_length) {
  constexpr double kPoint = 1.2, kBucket = 1.3, kLonelyLevel = 1, kWindow = 120;
  const unsigned windows = windows_of(p.width, order_length);
  const double buckets = std::ldexp(1.0, static_cast<int>(p.width) - 1);
  std::vector<double> points(std::min(p.sets, windows));
  for (unsigned w = 0; w < windows; ++w) {
    for (unsigned l = w * p.width > 1 ? w * p.width - 1 : 1; l < lengths.count.size(); ++l)
      points[w % points.size()] += lengths.count[l];
  }
  double cost = 0;
  for (const double n : points) {
    if (n == 0) break;
    const double used = buckets * -std::expm1(-n / buckets);
    cost += kPoint * n + (kBucket + kLonelyLevel * std::log2(buckets / used)) * used + kWindow;
  }
  return cost;
}

// Of those in which no windows share buckets.
plan best_plain(const length_histogram& lengths, unsigned order_length) {
  const auto plain = [&](unsigned width) { return plan{width, windows_of(width, order_length)}; };
  plan best = plain(kNarrowest);
  double best_cost = cost_of(best, lengths, order_length);
  for (unsigned width = kNarrowest + 1; width <= kWidestWindow; ++width) {
    const double cost = cost_of(plain(width), lengths, order_length);
    if (cost < best_cost) {
      best = plain(width);
      best_cost = cost;
    }
  }
  return best;
}

plan best_plan(const bases& points, const length_histogram& lengths) {
  const unsigned order_length = order_length_of(points.which());
  const plan plain = best_plain(lengths, order_length);
  if (points.tabled().slices == 1) return plain;
  const plan tabled{points.tabled().width, points.tabled().windows_per_slice};
  return cost_of(tabled, lengths, order_length) < cost_of(plain, lengths, order_length) ? tabled : plain;
}

// Sets of buckets per task: enough points to fill batches, but a task for every thread.
unsigned sets_per_task(std::size_t points_per_set, unsigned sets, std::size_t threads) {
  constexpr std::size_t kPoints = 65536;
  const std::size_t wanted = std::max<std::size_t>(kPoints / std::max<std::size_t>(points_per_set, 1), 1);
  const std::size_t fair = (sets + threads - 1) / threads;
  return static_cast<unsigned>(std::min(wanted, fair));
}

}  // namespace

std::size_t words_per_point(group g) {
  switch (g) {
    case group::bn254_g1:
      return 8;
    case group::bn254_g2:
      return 16;
    case group::bls12_381_g1:
      return 12;
    case group::bls12_381_g2:
      break;
  }
  return 24;
}

bases::bases(group g, std::span<const std::uint64_t> points, const executor& threads, const group_kernels& kernels)
    : group_(g), kernels_(&kernels), size_(points.size() / words_per_point(g)) {
  const std::size_t words = words_per_point(g);
  if (points.size() % words != 0 || size_ >= kNegated)
    throw std::invalid_argument("bases: not a whole number of points, or 2^31 or more of them");
  origin_.reserve(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    const auto point = points.subspan(i * words, words);
    if (std::any_of(point.begin(), point.end(), [](std::uint64_t w) { return w != 0; }))
      origin_.push_back(static_cast<std::uint32_t>(i));
  }
  origin_.shrink_to_fit();
  records_ = buffer<std::uint64_t>(origin_.size() * kernels_->record_words);
  constexpr std::size_t kPart = 4096;
  threads.run((origin_.size() + kPart - 1) / kPart, [&](std::size_t part) {
    // Runs of points without a gap go to the kernel as they lie.
    const std::size_t end = std::min(origin_.size(), (part + 1) * kPart);
    for (std::size_t i = part * kPart; i < end;) {
      std::size_t j = i + 1;
      while (j < end && origin_[j] == origin_[j - 1] + 1) ++j;
      kernels_->import_points(points.data() + origin_[i] * words, j - i, records_.data() + i * kernels_->record_words);
      i = j;
    }
  });
}

bases::bases(group g, std::size_t given, std::size_t finite, const group_kernels& kernels, memory& to_fill)
    : group_(g), kernels_(&kernels), size_(given), origin_(finite), records_(finite * kernels_->record_words) {
  if (size_ >= kNegated || finite > size_) throw std::invalid_argument("bases: more points than there can be");
  to_fill = {origin_, {records_.data(), records_.size()}};
}

void bases::add_tables(std::size_t bytes, const executor& threads) {
  const unsigned order_length = order_length_of(group_);
  const std::size_t n = finite(), words = kernels_->record_words;
  length_histogram full_size;
  full_size.count[order_length - 1] = static_cast<std::uint32_t>(n);
  double best_cost = cost_of(best_plain(full_size, order_length), full_size, order_length);
  for (unsigned width = kNarrowest; width <= kWidestWindow; ++width) {
    const unsigned windows = windows_of(width, order_length);
    for (auto sets = static_cast<unsigned>(std::max<std::size_t>(threads.threads, 1)); sets < windows; ++sets) {
      const unsigned slices = (windows + sets - 1) / sets;
      const double cost = cost_of({width, sets}, full_size, order_length);
      if (cost >= best_cost || (slices - 1) * n * words * 8 > bytes || slices * n >= kNegated) continue;
      best_cost = cost;
      tables_ = {width, sets, slices};
    }
  }
  if (tables_.slices == 1 || n == 0) return;

  buffer<std::uint64_t> larger(tables_.slices * n * words);
  std::memcpy(larger.data(), records_.data(), n * words * 8);
  records_ = std::move(larger);
  // Twice P is (P + Q) + (P - Q), for any Q: three additions of points that differ, which the batches are made for.
  constexpr std::size_t kPart = 2048;
  threads.run((n + kPart - 1) / kPart, [&](std::size_t part) {
    const std::size_t begin = part * kPart, count = std::min(kPart, n - begin);
    std::vector<addition> plus(count), minus(count), both(count);
    buffer<std::uint64_t> points((count + 1) * words), sums(2 * count * words);
    buffer<std::uint64_t> workspace(kernels_->workspace_words(count));
    std::memcpy(points.data(), records_.data() + begin * words, count * words * 8);
    std::memcpy(points.data() + count * words, records_.data() + (begin == 0 ? n - 1 : 0) * words, words * 8);
    const auto q = static_cast<std::uint32_t>(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      plus[i] = {i, q, 2 * i};
      minus[i] = {i, q | kNegated, 2 * i + 1};
      both[i] = {2 * i, 2 * i + 1, i};
    }
    for (unsigned slice = 1; slice < tables_.slices; ++slice) {
      for (unsigned bit = 0; bit < tables_.width * tables_.windows_per_slice; ++bit) {
        kernels_->add({points.data(), sums.data(), plus.data(), count, signs::in_bit_31, workspace.data()});
        kernels_->add({points.data(), sums.data(), minus.data(), count, signs::in_bit_31, workspace.data()});
        kernels_->add({sums.data(), points.data(), both.data(), count, signs::none, workspace.data()});
      }
      std::memcpy(records_.data() + (slice * n + begin) * words, points.data(), count * words * 8);
    }
  });
}

std::size_t bases::bytes() const {
  return records_.size() * 8 + origin_.capacity() * 4;
}

namespace {

// One point for every bit of every set of windows: the points whose digits have that bit, added up with their signs.
struct bit_sums {
  unsigned sets = 0, width = 0;
  buffer<std::uint64_t> records;
  std::vector<std::uint32_t> slots;  // of set s and bit j at s * width + j; kAbsent where no digit has the bit
};

template <class ChoosePlan>
bit_sums sum_bits(const bases& points, std::span<const std::uint64_t> scalars, const executor& threads,
                  ChoosePlan choose_plan) {
  if (scalars.size() != 4 * points.size())
    throw std::invalid_argument("multiply: " + std::to_string(points.size()) + " points but " +
                                std::to_string(scalars.size() / 4) + " scalars");
  plan chosen{};
  const recoded_scalars recoded(order_of(points.which()), scalars, points.origin(), threads,
                                [&](const length_histogram& lengths) {
                                  chosen = choose_plan(lengths);
                                  return chosen.width;
                                });
  const std::size_t record_words = points.kernels().record_words;
  const unsigned sets = std::min(chosen.sets, recoded.windows()), width = recoded.width();
  bit_sums sums{sets, width, buffer<std::uint64_t>(std::size_t{sets} * width * record_words),
                std::vector<std::uint32_t>(std::size_t{sets} * width)};
  if (sets == 0) return sums;
  const std::size_t windows_per_set = (recoded.windows() + sets - 1) / sets;
  const unsigned per_task = sets_per_task(recoded.count(0) * windows_per_set, sets, threads.threads);
  reuse_pool<bucket_sum> workers([&] { return std::make_unique<bucket_sum>(points); });
  threads.run((sets + per_task - 1) / per_task, [&](std::size_t task) {
    const unsigned first = static_cast<unsigned>(task) * per_task, count = std::min(per_task, sets - first);
    const std::size_t base = std::size_t{first} * width;
    const auto worker = workers.borrow();
    worker->run(recoded, sets, first, count, sums.records.data() + base * record_words, sums.slots.data() + base);
    for (std::size_t i = base; i < base + std::size_t{count} * width; ++i)
      if (sums.slots[i] != kAbsent) sums.slots[i] += static_cast<std::uint32_t>(base);
  });
  return sums;
}

}  // namespace

affine_point multiply(const bases& points, std::span<const std::uint64_t> scalars, const executor& threads) {
  const bit_sums sums =
      sum_bits(points, scalars, threads, [&](const length_histogram& lengths) { return best_plan(points, lengths); });
  affine_point result;
  if (sums.sets != 0)
    points.kernels().combine(sums.records.data(), sums.slots.data(), sums.sets, sums.width, result.words.data());
  return result;
}

std::vector<affine_point> digit_sums(const bases& points, std::span<const std::uint64_t> scalars, unsigned bits,
                                     const executor& threads) {
  const bit_sums sums = sum_bits(points, scalars, threads, [&](const length_histogram& lengths) {
    return best_plain(lengths, order_length_of(points.which()));
  });
  const std::size_t per_window = sums.sets == 0 ? 0 : (sums.width + bits - 1) / bits;
  std::vector<affine_point> results(sums.sets * per_window);
  threads.run(results.size(), [&](std::size_t i) {
    const std::size_t window = i / per_window, bit = i % per_window * bits;
    points.kernels().combine(sums.records.data(), sums.slots.data() + window * sums.width + bit, 1,
                             std::min<std::size_t>(bits, sums.width - bit), results[i].words.data());
  });
  return results;
}

}  // namespace prover::vector
