// Every code path makes the same proof of the same witness and blinding.
#include "prover/code_path.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

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
proof_points<Curve> prove_by(code_path path, const std::string& name, thread_pool& pool) {
  const auto key_file = format::byte_source::open((shared_data() / (name + ".zkey")).string(), "key");
  const auto witness_file = format::byte_source::open((shared_data() / (name + ".wtns")).string(), "witness");
  auto z = format::read_zkey<Curve>(*key_file, key_checks::none, pool);
  const auto w = format::read_wtns(*witness_file);
  const key<Curve> k(std::move(*z), path, pool);
  const auto made = prove(k, *w, pool, blinding{{11, 22, 33, 44}, {55, 66, 77, 88}});
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

template <class Curve>
void expect_equal_proofs(const std::string& name) {
  if (!fs::exists(shared_data() / (name + ".zkey"))) GTEST_SKIP() << "SKIPPED: no real keys in " << shared_data();
  if (!vector::available()) GTEST_SKIP() << "SKIPPED: no AVX-512 IFMA here, so only one code path";
  thread_pool pool(2);
  EXPECT_EQ(prove_by<Curve>(code_path::portable, name, pool), prove_by<Curve>(code_path::ifma, name, pool));
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
}
TEST_F(environment, must_name_a_path) {
  ::setenv("TELLTALE_PROVER_KERNELS", "fastest", 1);
  EXPECT_THROW(choose_code_path(), std::runtime_error);
}
TEST_F(environment, left_alone_gives_the_fastest_path) {
  ::unsetenv("TELLTALE_PROVER_KERNELS");
  EXPECT_EQ(choose_code_path(), vector::available() ? code_path::ifma : code_path::portable);
}

}  // namespace
}  // namespace prover::groth16
