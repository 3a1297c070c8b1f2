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

fs::path shared_data() {
  if (const char* set = std::getenv("TELLTALE_SHARED_DATA")) return set;
  return fs::path(PROVER_SOURCE_DIR).parent_path().parent_path() / "shared" / "data";
}

template <class Curve>
proof_points<Curve> prove_by(code_path path, const std::string& name, thread_pool& pool, std::size_t table_bytes = 0) {
  const auto key_file = format::byte_source::open((shared_data() / (name + ".zkey")).string(), "key");
  const auto witness_file = format::byte_source::open((shared_data() / (name + ".wtns")).string(), "witness");
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
void expect_equal_proofs(const std::string& name) {
  if (!fs::exists(shared_data() / (name + ".zkey"))) GTEST_SKIP() << "SKIPPED: no real keys in " << shared_data();
  thread_pool pool(2);
  const auto portable = prove_by<Curve>(code_path::portable, name, pool);
  if (has_adx()) {
    EXPECT_EQ(prove_by<Curve>(code_path::adx, name, pool), portable);
  }
  if (vector::available()) {
    EXPECT_EQ(prove_by<Curve>(code_path::ifma, name, pool), portable);
    EXPECT_EQ(prove_by<Curve>(code_path::ifma, name, pool, std::size_t{16} << 20), portable);
  }
  if (!has_adx() && !vector::available()) GTEST_SKIP() << "SKIPPED: this processor has only one code path";
}

TEST(code_paths, make_the_same_proof_of_merkle12) {
  expect_equal_proofs<bn254>("merkle12");
}
TEST(code_paths, make_the_same_proof_of_merkle12_on_bls12_381) {
  expect_equal_proofs<bls12_381>("merkle12bls");
}
TEST(code_paths, make_the_same_proof_of_semaphore) {
  expect_equal_proofs<bn254>("semaphore-20");
}
TEST(code_paths, make_the_same_proof_of_a_witness_of_bits) {
  expect_equal_proofs<bn254>("sha15");
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
