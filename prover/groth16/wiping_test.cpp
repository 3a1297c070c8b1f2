// After a proof nothing of its witness and blinding is left in memory that was given back: all that the process may
// write is looked through, but its stack.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <unordered_map>

#include "prover/code_path.hpp"
#include "prover/field/instructions.hpp"
#include "prover/format/byte_source.hpp"
#include "prover/groth16/prove.hpp"
#include "prover/vector/kernels.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TELLTALE_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TELLTALE_ADDRESS_SANITIZER 1
#endif

#if defined(TELLTALE_ADDRESS_SANITIZER)
// Its own copies of stack frames would be taken for the heap.
extern "C" const char* __asan_default_options();  // NOLINT: its name
extern "C" const char* __asan_default_options() {
  return "detect_stack_use_after_return=0";
}
#endif

namespace prover::groth16 {
namespace {

namespace fs = std::filesystem;

// Secret numbers, kept in a form that is not found itself.
class secrets {
 public:
  void add(const integer<4>& value) {
    masked m{};
    for (std::size_t i = 0; i < 4; ++i) m[i] = value[i] ^ mask;
    by_first_word_.emplace(m[0], m);
  }

  // How many copies of them there are in what this process may write.
  std::size_t copies_in_memory() const {
    std::size_t copies = 0;
    std::vector<std::uint64_t> part(std::size_t{1} << 17);
    const auto mine = reinterpret_cast<std::uintptr_t>(part.data());
    std::ifstream maps("/proc/self/maps");
    std::FILE* memory = std::fopen("/proc/self/mem", "rb");
    for (std::string line; std::getline(maps, line);) {
      std::uintptr_t begin = 0;
      std::uintptr_t end = 0;
      char rights[5] = {};
      if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, rights) != 3) continue;
      if (rights[0] != 'r' || rights[1] != 'w' || line.ends_with("[stack]")) continue;
      if (end - begin > std::uintptr_t{1} << 36) continue;  // the address sanitizer's shadow
      // Parts overlap by a number, so that none is cut in two.
      for (std::uintptr_t at = begin; at + 32 <= end; at += (part.size() - 4) * 8) {
        const std::size_t words = std::min(part.size(), (end - at) / 8);
        const ssize_t got = ::pread(::fileno(memory), part.data(), words * 8, static_cast<off_t>(at));
        for (std::size_t i = 0; got > 0 && i + 4 <= static_cast<std::size_t>(got) / 8; ++i) {
          const std::uintptr_t address = at + i * 8;
          if (address + 32 > mine && address < mine + part.size() * 8) continue;
          copies += is_secret(&part[i]) ? 1U : 0U;
        }
      }
    }
    std::fclose(memory);
    explicit_bzero(part.data(), part.size() * 8);
    return copies;
  }

 private:
  static constexpr std::uint64_t mask = 0x5bd1e995c3a5f00d;
  using masked = std::array<std::uint64_t, 4>;

  bool is_secret(const std::uint64_t* words) const {
    const auto found = by_first_word_.find(words[0] ^ mask);
    if (found == by_first_word_.end()) return false;
    for (std::size_t i = 1; i < 4; ++i) {
      if ((words[i] ^ mask) != found->second[i]) return false;
    }
    return true;
  }
  std::unordered_map<std::uint64_t, masked> by_first_word_;
};

// A number plainly, in Montgomery's form, and negated: as scalars, polynomials and digits have it. False where it is a
// small one, or small below zero: those are found everywhere.
bool add_all_forms(secrets& all, const integer<4>& value) {
  const auto as_field = bn254_fr::from_integer(value);
  if (bit_length(value) < 200 || bit_length((-as_field).to_integer()) < 200) return false;
  all.add(value);
  all.add(as_field.limbs);
  all.add((-as_field).to_integer());
  all.add((-as_field).limbs);
  return true;
}

void expect_nothing_left(code_path path, std::size_t table_bytes) {
  SCOPED_TRACE(name_of(path));
  const fs::path stem = fs::path(PROVER_SOURCE_DIR).parent_path() / "data" / "semaphore-1";
  use_multiplications_of(path);
  thread_pool pool(1);  // no other stack than this one
  auto z = format::read_zkey<bn254>(*format::byte_source::open(stem.string() + ".zkey", "key"), key_checks::none, path,
                                    pool);
  auto content = prepare(std::move(*z), path, pool);
  if (table_bytes != 0) add_tables(content, table_bytes, pool);
  const key<bn254> k(std::move(content), pool);

  secrets all;
  std::size_t numbers = 0;
  {
    const auto w = format::read_wtns(*format::byte_source::open(stem.string() + ".wtns", "witness"));
    ASSERT_TRUE(w);
    for (std::size_t i = std::size_t{k.header.publics} + 1; i < w->values.size(); ++i) {
      if (add_all_forms(all, w->values[i])) ++numbers;
    }
    std::optional<blinding> blind(blinding{random_below(bn254_fr::modulus), random_below(bn254_fr::modulus)});
    add_all_forms(all, blind->r);
    add_all_forms(all, blind->s);
    ASSERT_TRUE(prove(k, *w, pool, blind));
    explicit_bzero(&*blind, sizeof *blind);
    EXPECT_GE(all.copies_in_memory(), numbers) << "the witness is still there";
  }
  EXPECT_GT(numbers, 100U);
  EXPECT_EQ(all.copies_in_memory(), 0U);
}

TEST(secrets_of_a_proof, leave_nothing_in_memory) {
#if defined(TELLTALE_ADDRESS_SANITIZER)
  expect_nothing_left(choose_code_path(), 0);  // one says enough where each takes long
#else
  expect_nothing_left(code_path::portable, 0);
  if (has_adx()) expect_nothing_left(code_path::adx, 0);
  if (vector::available()) {
    expect_nothing_left(code_path::ifma, 0);
    expect_nothing_left(code_path::ifma, std::size_t{16} << 20);
  }
#endif
}

}  // namespace
}  // namespace prover::groth16
