// The buckets of some windows of one multi-scalar multiplication: from sorted digits to one point per bit.
//
// Filling: the points of a window are sorted by digit, and each bucket's points are added in a tree, many buckets
// together in one batch of affine additions. A chunk of buckets at a time keeps everything after the first touch of a
// point in the second-level cache.
// Summing b * bucket[b]: with B'[k] = bucket[2k] + bucket[2k + 1] it is 2 * sum k B'[k] + the sum of the odd buckets.
// So each halving gives one point, the sum of that level's odd buckets, that stands at one bit; all sums are again
// trees of batched additions. As many additions as the usual running sum, 2 per bucket, but independent and affine.
#pragma once
#include <cstdint>

#include "digits.h"
#include "memory.h"
#include "msm.h"

namespace prover::vector {

// Not thread-safe: one per task that runs at a time. Keeps its memory from run to run.
class bucket_sum {
 public:
  explicit bucket_sum(const bases& points);

  // Windows that are `sets` apart form a set and share their buckets; the k-th of a set is of the k-th slice of the
  // bases' tables. Without tables there are as many sets as windows. For every set s of [first, first + count) and bit
  // j below the width: writes the point that counts 2^j in set s to record (s - first) * width + j of results, and its
  // index, or kAbsent, to the same place in slots.
  void run(const recoded_scalars& scalars, unsigned sets, unsigned first, unsigned count, std::uint64_t* results,
           std::uint32_t* slots);

 private:
  // A point in the pool and the bucket (or, later, the bit) it belongs to.
  struct entry {
    std::uint32_t key, slot;
  };
  // A point of the bases, with its sign, on the way to its bucket.
  struct keyed_reference {
    std::uint32_t bucket, reference;
  };
  enum class operands : bool { bases, pool };

  void sort(const recoded_scalars& scalars, unsigned sets, unsigned set);
  void fill(unsigned set_in_task, unsigned width);
  void take(std::uint32_t key, const std::uint32_t* references, std::size_t count);
  void begin_chunk(std::size_t used);
  void finish_chunk(bool bucket_continues);
  void halve(unsigned count, unsigned width);
  void collapse(secret_pages<entry>& entries);
  void add(secret_pages<addition>& additions, operands from);
  void reserve_pool(std::size_t records);
  std::uint64_t* record(std::size_t slot) { return pool_.data() + slot * kernels_.record_words; }

  const bases& points_;
  const group_kernels& kernels_;
  const std::size_t chunk_slots_, batch_;  // sized so that a chunk and a batch's workspace stay in 2 MiB of cache
  secret_pages<std::uint32_t> references_, bucket_end_;
  secret_pages<keyed_reference> partitioned_;
  secret_pages<entry> chunk_, buckets_, bits_;
  secret_pages<addition> additions_, copies_;
  buffer<std::uint64_t> workspace_, pool_;
  std::size_t pool_records_ = 0;
  std::size_t chunk_used_ = 0, additions_used_ = 0;  // slots [0, chunk_slots) are the chunk's, the buckets follow
};

}  // namespace prover::vector
