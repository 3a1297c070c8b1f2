// Proofs of real circuits: made, verified, and compared with other provers' files.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "prover/format/byte_source.hpp"
#include "telltale/prover/engine.hpp"

namespace prover {
namespace {

namespace fs = std::filesystem;

// The folder of real keys and witnesses: $TELLTALE_SHARED_DATA, or ../shared/data beside the repository.
fs::path shared_data() {
  if (const char* set = std::getenv("TELLTALE_SHARED_DATA")) return set;
  return fs::path(PROVER_SOURCE_DIR).parent_path().parent_path() / "shared" / "data";
}

std::vector<std::byte> bytes_of(const fs::path& path) {
  const auto source = format::byte_source::open(path.string(), "file");
  EXPECT_TRUE(source);
  std::vector<std::byte> bytes(source->size());
  EXPECT_TRUE(source->read(0, bytes));
  return bytes;
}

class real_circuit : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(shared_data() / "merkle12.zkey")) {
      GTEST_SKIP() << "SKIPPED: no real keys in " << shared_data() << ". Set TELLTALE_SHARED_DATA to their folder.";
    }
  }

  static std::string file(const std::string& name) { return (shared_data() / name).string(); }

  static void prove_and_verify(const std::string& name) {
    engine e(2);
    const auto key = e.load_key(file(name + ".zkey"), key_checks::none);
    ASSERT_TRUE(key) << key.error().message;
    const auto w = witness::load(file(name + ".wtns"));
    ASSERT_TRUE(w) << w.error().message;
    const auto made = e.prove(*key, *w);
    ASSERT_TRUE(made) << made.error().message;

    // The written files verify with the exported key, after a round trip through JSON.
    const auto vkey = verification_key::load(file(name + ".vkey.json"));
    ASSERT_TRUE(vkey) << vkey.error().message;
    const auto p = proof::from_json(made->proof.to_json(), "proof.json", vkey->curve());
    ASSERT_TRUE(p) << p.error().message;
    auto signals = public_signals::from_json(made->signals.to_json(), "public.json", vkey->curve());
    ASSERT_TRUE(signals) << signals.error().message;
    const auto verdict = e.verify(*vkey, *p, *signals);
    ASSERT_TRUE(verdict) << verdict.error().message;
    EXPECT_EQ(*verdict, engine::verdict::valid);

    signals->values[0][0] ^= 1;
    EXPECT_EQ(*e.verify(*vkey, *p, *signals), engine::verdict::invalid);
  }
};

TEST_F(real_circuit, merkle12_is_proved) {
  prove_and_verify("merkle12");
}
TEST_F(real_circuit, merkle12_on_bls12_381_is_proved) {
  prove_and_verify("merkle12bls");
}
TEST_F(real_circuit, semaphore_is_proved) {
  prove_and_verify("semaphore-20");
}
TEST_F(real_circuit, sha15_is_proved) {
  prove_and_verify("sha15");
}

TEST_F(real_circuit, key_passes_the_full_checks) {
  engine e(2);
  for (const char* name : {"merkle12.zkey", "merkle12bls.zkey"}) {
    const auto key = e.load_key(file(name), key_checks::full);
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_EQ(key->variables(), 3872u);
    EXPECT_EQ(key->publics(), 3u);
    EXPECT_EQ(key->domain_size(), 4096u);
  }
}

TEST_F(real_circuit, proofs_of_other_provers_verify) {
  engine e(1);
  for (const char* name : {"merkle12", "sha15", "eddsa15", "sha17"}) {
    const auto vkey = verification_key::load(file(std::string(name) + ".vkey.json"));
    ASSERT_TRUE(vkey) << vkey.error().message;
    for (const char* peer : {"rs_", "sj_"}) {
      const std::string stem = std::string("peer-proofs/") + peer + name;
      const auto p = proof::load(file(stem + ".proof.json"), vkey->curve());
      ASSERT_TRUE(p) << p.error().message;
      const auto signals = public_signals::load(file(stem + ".public.json"), vkey->curve());
      ASSERT_TRUE(signals) << signals.error().message;
      EXPECT_EQ(*e.verify(*vkey, *p, *signals), engine::verdict::valid) << stem;
    }
  }
}

TEST_F(real_circuit, a_flipped_witness_bit_gives_an_error_and_no_proof) {
  engine e(2);
  const auto key = e.load_key(file("merkle12.zkey"), key_checks::none);
  ASSERT_TRUE(key) << key.error().message;
  auto bytes = bytes_of(file("merkle12.wtns"));
  bytes[bytes.size() - 32] ^= std::byte{1};
  const auto w = witness::from_bytes(std::move(bytes), "flipped.wtns");
  ASSERT_TRUE(w) << w.error().message;
  const auto made = e.prove(*key, *w);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("does not satisfy the circuit"), std::string::npos) << made.error().message;
}

TEST_F(real_circuit, key_and_witness_of_different_circuits_are_refused) {
  engine e(1);
  const auto key = e.load_key(file("merkle12.zkey"), key_checks::none);
  ASSERT_TRUE(key) << key.error().message;
  const auto other = witness::load(file("semaphore-20.wtns"));
  ASSERT_TRUE(other);
  const auto wrong_length = e.prove(*key, *other);
  ASSERT_FALSE(wrong_length);
  EXPECT_EQ(wrong_length.error().message,
            "cannot prove: the witness has 6,454 values and the key is for 3,872. Use a key and a witness of the same "
            "circuit.");
  const auto bls = witness::load(file("merkle12bls.wtns"));
  ASSERT_TRUE(bls);
  const auto wrong_curve = e.prove(*key, *bls);
  ASSERT_FALSE(wrong_curve);
  EXPECT_EQ(wrong_curve.error().message,
            "cannot prove: the witness is over BLS12-381 and the key over BN254. Use a key and a witness of the same "
            "circuit.");
}

TEST_F(real_circuit, eight_threads_prove_at_once_with_shared_keys) {
  engine e(2);
  const auto merkle = e.load_key(file("merkle12.zkey"), key_checks::none);
  const auto merkle_witness = witness::load(file("merkle12.wtns"));
  const auto bls = e.load_key(file("merkle12bls.zkey"), key_checks::none);
  const auto bls_witness = witness::load(file("merkle12bls.wtns"));
  ASSERT_TRUE(merkle && merkle_witness && bls && bls_witness);
  std::vector<std::string> problems(8);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < problems.size(); ++t) {
    threads.emplace_back([&, t] {
      const auto& key = t % 4 == 3 ? *bls : *merkle;
      const auto made = e.prove(key, t % 4 == 3 ? *bls_witness : *merkle_witness);
      if (!made) {
        problems[t] = made.error().message;
      } else if (*e.verify(key.verification(), made->proof, made->signals) != engine::verdict::valid) {
        problems[t] = "invalid";
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& problem : problems) EXPECT_EQ(problem, "");
}

}  // namespace
}  // namespace prover
