// Preparing bases, choosing the window width, and sharing the windows out to threads; see msm.h.
#include "msm.h"

#include <algorithm>
#include <cmath>
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

// Costs in additions, measured: a point in a window is added once and sorted; a bucket in use costs about two
// additions in the halving, less the one it saves by being a bucket's first, and where few buckets are in use one more
// for every level at which it finds no neighbour; a window costs its small last batches.
double cost_of(unsigned width, const length_histogram& lengths, unsigned order_length) {
  constexpr double kPoint = 1.2, kBucket = 1.3, kLonelyLevel = 1, kWindow = 120;
  const unsigned windows = (order_length + width - 1) / width;
  const double buckets = std::ldexp(1.0, static_cast<int>(width) - 1);
  double cost = 0;
  for (unsigned w = 0; w < windows; ++w) {
    double points = 0;
    for (unsigned l = w * width > 1 ? w * width - 1 : 1; l < lengths.count.size(); ++l) points += lengths.count[l];
    if (points == 0) break;
    const double used = buckets * -std::expm1(-points / buckets);
    cost += kPoint * points + (kBucket + kLonelyLevel * std::log2(buckets / used)) * used + kWindow;
  }
  return cost;
}

unsigned best_width(const length_histogram& lengths, unsigned order_length) {
  constexpr unsigned kNarrowest = 3;
  unsigned best = kNarrowest;
  double best_cost = cost_of(best, lengths, order_length);
  for (unsigned width = kNarrowest + 1; width <= kWidestWindow; ++width) {
    const double cost = cost_of(width, lengths, order_length);
    if (cost < best_cost) {
      best = width;
      best_cost = cost;
    }
  }
  return best;
}

// Windows per task: enough points to fill batches, but a task for every thread.
unsigned windows_per_task(const recoded_scalars& scalars, std::size_t threads) {
  constexpr std::size_t kPoints = 65536;
  const std::size_t per_window = std::max<std::size_t>(scalars.count(0), 1);
  const std::size_t wanted = std::max<std::size_t>(kPoints / per_window, 1);
  const std::size_t fair = (scalars.windows() + threads - 1) / threads;
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

bases::bases(group g, std::span<const std::uint64_t> points, const executor& threads, backend b)
    : group_(g), kernels_(&kernels_of(g, b)), size_(points.size() / words_per_point(g)) {
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

std::size_t bases::bytes() const {
  return records_.size() * 8 + origin_.capacity() * 4;
}

affine_point multiply(const bases& points, std::span<const std::uint64_t> scalars, const executor& threads) {
  if (scalars.size() != 4 * points.size())
    throw std::invalid_argument("multiply: " + std::to_string(points.size()) + " points but " +
                                std::to_string(scalars.size() / 4) + " scalars");
  const unsigned order_length = is_bn254(points.which()) ? 254 : 255;
  const recoded_scalars recoded(order_of(points.which()), scalars, points.origin(), threads,
                                [&](const length_histogram& l) { return best_width(l, order_length); });
  const group_kernels& kernels = points.kernels();
  const unsigned windows = recoded.windows(), width = recoded.width();
  affine_point result;
  if (windows == 0) return result;

  buffer<std::uint64_t> sums(std::size_t{windows} * width * kernels.record_words);
  std::vector<std::uint32_t> slots(std::size_t{windows} * width);
  const unsigned per_task = windows_per_task(recoded, threads.threads);
  reuse_pool<bucket_sum> workers([&] { return std::make_unique<bucket_sum>(points); });
  threads.run((windows + per_task - 1) / per_task, [&](std::size_t task) {
    const unsigned first = static_cast<unsigned>(task) * per_task;
    const std::size_t base = std::size_t{first} * width;
    const auto worker = workers.borrow();
    worker->run(recoded, first, std::min(per_task, windows - first), sums.data() + base * kernels.record_words,
                slots.data() + base);
    for (std::size_t i = base; i < base + std::size_t{std::min(per_task, windows - first)} * width; ++i)
      if (slots[i] != kAbsent) slots[i] += static_cast<std::uint32_t>(base);
  });
  kernels.combine(sums.data(), slots.data(), windows, width, result.words.data());
  return result;
}

}  // namespace prover::vector
