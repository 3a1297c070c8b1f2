// Every code path makes the same proof of the same witness and blinding.
#include "prover/code_path.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "prover/field/instructions.hpp"
#include "prover/format/byte_source.hpp"
#include "prover/groth16/prove.hpp"
#include "prover/vector/kernels.h"

namespace prover::groth16 {
namespace {

namespace fs = std::filesystem;

template <class Curve>
proof_points<Curve> prove_by(code_path path, const fs::path& stem, thread_pool& pool, std::size_t table_bytes = 0) {
  const auto key_file = format::byte_source::open(stem.string() + ".zkey", "key");
  const auto witness_file = format::byte_source::open(stem.string() + ".wtns", "witness");
  auto z = format::read_zkey<Curve>(*key_file, key_checks::none, path, pool);
  const auto w = format::read_wtns(*witness_file);
  auto content = prepare(std::move(*z), path, pool);
  if (table_bytes != 0) add_tables(content, table_bytes, pool);
  const key<Curve> k(std::move(content), pool);
  use_multiplications_of(path);
  const auto made = prove(k, *w, pool, blinding{{11, 22, 33, 44}, {55, 66, 77, 88}});
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

template <class Curve>
void expect_equal_proofs(const fs::path& stem) {
  thread_pool pool(2);
  const auto portable = prove_by<Curve>(code_path::portable, stem, pool);
  if (has_adx()) {
    EXPECT_EQ(prove_by<Curve>(code_path::adx, stem, pool), portable);
  }
  if (vector::available()) {
    EXPECT_EQ(prove_by<Curve>(code_path::ifma, stem, pool), portable);
    EXPECT_EQ(prove_by<Curve>(code_path::ifma, stem, pool, std::size_t{16} << 20), portable);
  }
  if (!has_adx() && !vector::available()) GTEST_SKIP() << "SKIPPED: this processor has only one code path";
}

// The kernels' own tests compare the paths on input of every kind; here is a real circuit, and with TELLTALE_TEST_LONG
// (./test --long) four more: under the sanitizers each takes a minute or three.
TEST(code_paths, make_the_same_proof) {
  const fs::path root = fs::path(PROVER_SOURCE_DIR).parent_path();
  expect_equal_proofs<bn254>(root / "data" / "semaphore-1");
  if (std::getenv("TELLTALE_TEST_LONG") == nullptr) return;
  const char* set = std::getenv("TELLTALE_SHARED_DATA");
  const fs::path shared = set != nullptr ? fs::path(set) : root.parent_path() / "shared" / "data";
  if (!fs::exists(shared)) GTEST_SKIP() << "SKIPPED: no more real keys in " << shared;
  for (const char* name : {"merkle12", "semaphore-20", "sha15"}) expect_equal_proofs<bn254>(shared / name);
  expect_equal_proofs<bls12_381>(shared / "merkle12bls");
}

class environment : public ::testing::Test {
 protected:
  void TearDown() override { ::unsetenv("TELLTALE_PROVER_KERNELS"); }
};
TEST_F(environment, chooses_the_portable_path) {
  ::setenv("TELLTALE_PROVER_KERNELS", "portable", 1);
  EXPECT_EQ(choose_code_path(), code_path::portable);
  EXPECT_FALSE(multiply_with_adx);
}
TEST_F(environment, chooses_the_adx_path_where_there_is_one) {
  ::setenv("TELLTALE_PROVER_KERNELS", "adx", 1);
  if (has_adx()) {
    EXPECT_EQ(choose_code_path(), code_path::adx);
    EXPECT_TRUE(multiply_with_adx);
  } else {
    EXPECT_THROW(choose_code_path(), std::runtime_error);
  }
}
TEST_F(environment, must_name_a_path) {
  ::setenv("TELLTALE_PROVER_KERNELS", "fastest", 1);
  EXPECT_THROW(choose_code_path(), std::runtime_error);
}
TEST_F(environment, left_alone_gives_the_fastest_path) {
  ::unsetenv("TELLTALE_PROVER_KERNELS");
  EXPECT_EQ(choose_code_path(), vector::available() ? code_path::ifma
                                : has_adx()         ? code_path::adx
                                                    : code_path::portable);
}

}  // namespace
}  // namespace prover::groth16
