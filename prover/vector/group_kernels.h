// What the plain code that schedules a multi-scalar multiplication calls: one table of functions per curve group and
// backend. The functions allocate nothing, lock nothing and may run on any number of threads with different memory.
#pragma once
#include <cstddef>
#include <cstdint>

namespace prover::vector {

// records[out] = left + right. Bit 31 of left or right negates that operand where the job says is_signed.
struct addition {
  std::uint32_t left, right, out;
};
inline constexpr std::uint32_t kNegated = std::uint32_t{1} << 31;
inline constexpr std::uint32_t kAbsent = 0xffffffff;

enum class signs : bool { none, in_bit_31 };

struct addition_job {
  const std::uint64_t* source;  // records left and right refer to
  std::uint64_t* target;        // records out refers to; may be source, as long as no other addition reads out
  const addition* additions;
  std::size_t count;  // at least 1
  signs sign;
  std::uint64_t* workspace;  // workspace_words(count), aligned to 64 bytes
};

// A record is one affine point: coordinates in 64-bit words in the kernels' Montgomery form, below 1.1 p, padded so
// that it fills whole cache lines; infinity is all zero.
struct group_kernels {
  std::size_t record_words;
  std::size_t outside_words;  // of an affine point in the outside form (.zkey)
  std::size_t lanes;
  std::size_t (*workspace_words)(std::size_t additions);
  void (*import_points)(const std::uint64_t* outside, std::size_t count, std::uint64_t* records);
  // records[out] = left, with the sign in bit 31, for `count` additions; y of a negated point is at most 2 p.
  void (*copy)(const std::uint64_t* source, std::uint64_t* target, const addition* copies, std::size_t count);
  // Any operands: equal, opposite and infinite ones too (of the bases, finite ones).
  void (*add)(const addition_job&);
  // The sum over windows w and bits j of 2^(width w + j) records[slots[w * width + j]], an absent slot being zero;
  // to the outside form.
  void (*combine)(const std::uint64_t* records, const std::uint32_t* slots, std::size_t windows, std::size_t width,
                  std::uint64_t* outside);
};

}  // namespace prover::vector
