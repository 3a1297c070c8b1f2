// Scheduling of the additions of some windows; see bucket_sum.h.
#include "bucket_sum.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace prover::vector {
namespace {
constexpr std::size_t kChunkBytes = std::size_t{1} << 19;

// A few points, with a window for every two bits of their scalars, need less than a whole chunk.
std::size_t chunk_slots(const bases& points) {
  return std::min(kChunkBytes / 8 / points.kernels().record_words, 128 * std::max<std::size_t>(points.finite(), 1));
}
}  // namespace

bucket_sum::bucket_sum(const bases& points)
    : points_(points),
      kernels_(points.kernels()),
      chunk_slots_(chunk_slots(points)),
      batch_(chunk_slots_ / 2),
      workspace_(kernels_.workspace_words(batch_)) {}

void bucket_sum::run(const recoded_scalars& scalars, unsigned sets, unsigned first, unsigned count,
                     std::uint64_t* results, std::uint32_t* slots) {
  const unsigned width = scalars.width();
  const std::size_t half = std::size_t{1} << (width - 1);
  std::size_t most_buckets = 0;
  for (unsigned s = first; s < first + count; ++s) {
    std::size_t digits = 0;
    for (unsigned w = s; w < scalars.windows(); w += sets) digits += scalars.count(w);
    most_buckets += std::min(half, digits);
  }
  reserve_pool(chunk_slots_ + most_buckets);

  buckets_.clear();
  copies_.clear();
  begin_chunk(0);
  for (unsigned s = 0; s < count; ++s) {
    sort(scalars, sets, first + s);
    fill(s, width);
  }
  finish_chunk(false);
  additions_.clear();
  halve(count, width);

  std::fill(slots, slots + count * width, kAbsent);
  for (const entry& e : bits_) {
    std::memcpy(results + e.key * kernels_.record_words, record(e.slot), kernels_.record_words * 8);
    slots[e.key] = e.key;
  }
}

// references_ gets the points of bucket 1, 2, ..., and bucket_end_ where each ends. Two counting sorts, by the high and
// then by the low bits of the bucket: each has few enough places to write to for the first-level cache and its TLB.
void bucket_sum::sort(const recoded_scalars& scalars, unsigned sets, unsigned set) {
  constexpr unsigned kLowBits = 8;
  constexpr std::size_t kLow = std::size_t{1} << kLowBits;
  const std::size_t half = std::size_t{1} << (scalars.width() - 1);
  const std::size_t parts = half / kLow + 1;

  std::array<std::uint32_t, (std::size_t{1} << (kWidestWindow - 1 - kLowBits)) + 2> next{};
  std::size_t n = 0, zeros = 0;
  for (unsigned w = set; w < scalars.windows(); w += sets) {
    const std::span<const std::uint32_t> digits = scalars.digits(w);
    n += digits.size();
    for (const std::uint32_t d : digits) {
      ++next[(d & ~kNegated) >> kLowBits];
      zeros += (d & ~kNegated) == 0 ? 1 : 0;
    }
  }
  next[0] -= static_cast<std::uint32_t>(zeros);
  std::uint32_t at = 0;
  for (std::size_t part = 0; part < parts; ++part) at += std::exchange(next[part], at);
  // Zeros, without a branch, are all written to one place behind the end.
  next[parts] = at;
  partitioned_.resize(n - zeros + 1);
  std::uint32_t slice = 0;  // where the records of this window's multiples begin
  for (unsigned w = set; w < scalars.windows(); w += sets, slice += static_cast<std::uint32_t>(points_.finite())) {
    const std::span<const std::uint32_t> digits = scalars.digits(w);
    for (std::size_t i = 0; i < digits.size(); ++i) {
      const std::uint32_t bucket = digits[i] & ~kNegated;
      std::uint32_t& place = next[bucket != 0 ? bucket >> kLowBits : parts];
      partitioned_[place] = {bucket, (slice + scalars.record(i)) | (digits[i] & kNegated)};
      place += bucket != 0 ? 1 : 0;
    }
  }

  references_.resize(n - zeros);
  bucket_end_.resize(parts * kLow);
  std::uint32_t begin = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    std::uint32_t* count = &bucket_end_[part * kLow];
    std::fill(count, count + kLow, 0);
    const std::uint32_t end = next[part];
    for (std::uint32_t i = begin; i < end; ++i) ++count[partitioned_[i].bucket % kLow];
    at = begin;
    for (std::size_t b = 0; b < kLow; ++b) at += std::exchange(count[b], at);
    for (std::uint32_t i = begin; i < end; ++i)
      references_[count[partitioned_[i].bucket % kLow]++] = partitioned_[i].reference;
    begin = end;
  }
}

void bucket_sum::fill(unsigned set_in_task, unsigned width) {
  const std::size_t half = std::size_t{1} << (width - 1);
  std::uint32_t begin = bucket_end_[0];
  for (std::size_t b = 1; b <= half; ++b) {
    const std::uint32_t end = bucket_end_[b];
    if (end != begin) {
      take((set_in_task << width) | static_cast<std::uint32_t>(b), &references_[begin], end - begin);
    }
    begin = end;
  }
}

void bucket_sum::take(std::uint32_t key, const std::uint32_t* references, std::size_t count) {
  while (count > 0) {
    const std::size_t now = std::min(count, 2 * (chunk_slots_ - chunk_used_));
    // Every slot has its entry; additions_ and chunk_ are as long as the chunk.
    for (std::size_t i = 0; i + 1 < now; i += 2) {
      const auto slot = static_cast<std::uint32_t>(chunk_used_++);
      additions_[additions_used_++] = {references[i], references[i + 1], slot};
      chunk_[slot] = {key, slot};
    }
    if (now % 2 != 0) {
      const auto slot = static_cast<std::uint32_t>(chunk_used_++);
      copies_.push_back({references[now - 1], 0, slot});
      chunk_[slot] = {key, slot};
    }
    references += now;
    count -= now;
    if (chunk_used_ == chunk_slots_) finish_chunk(count > 0);
  }
}

// Sums the chunk's buckets and moves them behind the chunk. A bucket that continues stays, as the next chunk's first.
void bucket_sum::finish_chunk(bool bucket_continues) {
  additions_.resize(additions_used_);
  chunk_.resize(chunk_used_);
  add(additions_, operands::bases);
  kernels_.copy(points_.records(), pool_.data(), copies_.data(), copies_.size());
  copies_.clear();
  collapse(chunk_);

  const std::size_t finished = chunk_.size() - (bucket_continues ? 1 : 0);
  for (std::size_t i = 0; i < finished; ++i) {
    const auto slot = static_cast<std::uint32_t>(chunk_slots_ + buckets_.size());
    std::memcpy(record(slot), record(chunk_[i].slot), kernels_.record_words * 8);
    buckets_.push_back({chunk_[i].key, slot});
  }
  if (bucket_continues) {
    const entry open = chunk_.back();
    if (open.slot != 0) std::memcpy(record(0), record(open.slot), kernels_.record_words * 8);
    chunk_[0] = {open.key, 0};
  }
  begin_chunk(bucket_continues ? 1 : 0);
}

void bucket_sum::begin_chunk(std::size_t used) {
  chunk_.resize(chunk_slots_);
  additions_.resize(chunk_slots_);
  chunk_used_ = used;
  additions_used_ = 0;
}

// Adds up neighbours of the same key, level by level, until every key is there once. Without branches on the keys:
// bucket sizes are random, and a misprediction costs as much as a quarter of an addition.
void bucket_sum::collapse(secret_pages<entry>& entries) {
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  for (;;) {
    const std::size_t n = entries.size();
    additions_.resize(n + 1);
    std::size_t kept = 0, pairs = 0;
    std::uint64_t open_key = kNone;
    std::uint32_t open_slot = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const entry e = entries[i];
      const bool same = e.key == open_key;
      additions_[pairs] = {open_slot, e.slot, open_slot};
      pairs += same ? 1 : 0;
      entries[kept] = e;
      kept += same ? 0 : 1;
      open_key = same ? kNone : e.key;
      open_slot = e.slot;
    }
    entries.resize(kept);
    additions_.resize(pairs);
    if (pairs == 0) return;
    add(additions_, operands::pool);
  }
}

void bucket_sum::halve(unsigned count, unsigned width) {
  const std::uint32_t bucket_mask = (std::uint32_t{1} << width) - 1;
  // Each level makes at most as many new points as it has entries, and as half the buckets it spans.
  std::size_t fresh = chunk_slots_ + buckets_.size(), most = fresh;
  for (unsigned j = 1; j <= width; ++j) most += std::min(buckets_.size(), (std::size_t{count} << (width - j)) + count);
  reserve_pool(most);

  bits_.clear();
  for (unsigned j = 0; j < width && !buckets_.empty(); ++j) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      const entry e = buckets_[i];
      const std::uint32_t half_key = (e.key & ~bucket_mask) | (e.key & bucket_mask) >> 1;
      const bool odd = (e.key & 1) != 0;
      std::uint32_t slot = e.slot;
      if (!odd && i + 1 < buckets_.size() && buckets_[i + 1].key == e.key + 1) {
        slot = static_cast<std::uint32_t>(fresh++);
        additions_.push_back({e.slot, buckets_[i + 1].slot, slot});
        bits_.push_back({j * count + (e.key >> width), buckets_[i + 1].slot});
        ++i;
      } else if (odd) {
        bits_.push_back({j * count + (e.key >> width), e.slot});
        if ((half_key & bucket_mask) == 0) continue;
        slot = static_cast<std::uint32_t>(fresh++);
        copies_.push_back({e.slot, 0, slot});
      }
      buckets_[kept++] = {half_key, slot};
    }
    buckets_.resize(kept);
    add(additions_, operands::pool);
    kernels_.copy(pool_.data(), pool_.data(), copies_.data(), copies_.size());
    copies_.clear();
  }
  collapse(bits_);
  for (entry& e : bits_) e.key = e.key % count * width + e.key / count;
}

// In batches that share an inversion each; empties the list.
void bucket_sum::add(secret_pages<addition>& additions, operands from) {
  for (std::size_t done = 0; done < additions.size(); done += batch_) {
    const addition_job job{from == operands::bases ? points_.records() : pool_.data(),
                           pool_.data(),
                           additions.data() + done,
                           std::min(batch_, additions.size() - done),
                           from == operands::bases ? signs::in_bit_31 : signs::none,
                           workspace_.data()};
    kernels_.add(job);
  }
  additions.clear();
}

void bucket_sum::reserve_pool(std::size_t records) {
  if (records <= pool_records_) return;
  buffer<std::uint64_t> larger(records * kernels_.record_words);
  if (pool_records_ != 0) std::memcpy(larger.data(), pool_.data(), pool_records_ * kernels_.record_words * 8);
  pool_ = std::move(larger);
  pool_records_ = records;
}

}  // namespace prover::vector
