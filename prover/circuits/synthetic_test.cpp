// Synthetic circuits: satisfied, of the size and kind asked for, and the same every time.
#include "prover/circuits/synthetic.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "prover/circuits/violation.hpp"
#include "prover/setup/test_key.hpp"
#include "telltale/prover/engine.hpp"

namespace prover::circuits {
namespace {

namespace fs = std::filesystem;

// A folder that goes away with the test.
class files {
 public:
  files() : folder_(fs::path(::testing::TempDir()) / ("telltale_synthetic_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~files() { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // NAME.r1cs and NAME.wtns.
  void write(const synthetic_request& wanted, const std::string& name) const {
    auto r1cs = format::byte_sink::create(path(name + ".r1cs"), "constraint system");
    auto wtns = format::byte_sink::create(path(name + ".wtns"), "witness");
    ASSERT_TRUE(r1cs && wtns);
    const auto written = write_synthetic(wanted, std::move(*r1cs), std::move(*wtns));
    ASSERT_TRUE(written) << written.error().message;
  }
  format::r1cs circuit(const std::string& name) const {
    auto r = format::read_r1cs(*format::byte_source::open(path(name + ".r1cs"), "constraint system"));
    EXPECT_TRUE(r) << r.error().message;
    return std::move(*r);
  }
  format::wtns witness(const std::string& name) const {
    auto r = format::read_wtns(*format::byte_source::open(path(name + ".wtns"), "witness"));
    EXPECT_TRUE(r) << r.error().message;
    return std::move(*r);
  }
  std::string text(const std::string& name) const { return *format::read_text(path(name), "file", u64{1} << 20); }

 private:
  fs::path folder_;
};

constexpr std::array kinds{synthetic_kind::chain, synthetic_kind::bits, synthetic_kind::mixed};
constexpr std::array curves{curve_id::bn254, curve_id::bls12_381};

TEST(synthetic_circuit, is_satisfied_by_its_witness_at_every_size_kind_and_curve) {
  const files folder;
  thread_pool pool(2);
  for (const auto kind : kinds) {
    for (const auto curve : curves) {
      for (const std::uint32_t n : {1U, 2U, 3U, 4U, 5U, 63U, 1000U}) {
        folder.write({n, kind, curve, 7}, "c");
        const auto system = folder.circuit("c");
        const auto witness = folder.witness("c");
        EXPECT_EQ(system.header.constraints, n);
        EXPECT_EQ(system.header.curve, curve);
        EXPECT_EQ(system.header.public_inputs, 1u);
        const auto found = first_violation(system, witness, pool);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_FALSE(*found) << "constraint " << **found << " of " << n;
      }
    }
  }
}

TEST(synthetic_circuit, depends_on_every_value_of_its_witness) {
  const files folder;
  thread_pool pool(1);
  for (const auto kind : {synthetic_kind::chain, synthetic_kind::mixed}) {
    folder.write({40, kind, curve_id::bn254, 3}, "c");
    const auto system = folder.circuit("c");
    auto witness = folder.witness("c");
    // A mixed circuit's bits may be left out by the few gates that take earlier ones; every made wire is constrained.
    for (std::size_t i = kind == synthetic_kind::chain ? 1 : 3; i < witness.values.size(); ++i) {
      witness.values[i][0] ^= 2;
      EXPECT_TRUE(**first_violation(system, witness, pool) < 40u) << "value " << i;
      witness.values[i][0] ^= 2;
    }
  }
}

TEST(synthetic_circuit, has_the_witness_that_its_kind_promises) {
  const files folder;
  const auto share_of = [&](synthetic_kind kind, auto&& is_it) {
    folder.write({4000, kind, curve_id::bn254, 1}, "c");
    const auto witness = folder.witness("c");
    return static_cast<double>(std::count_if(witness.values.begin(), witness.values.end(), is_it)) / 4000;
  };
  const auto is_zero = [](const integer<4>& v) { return v == integer<4>{}; };
  const auto is_one = [](const integer<4>& v) { return v == small_integer<4>(1); };
  const auto is_full = [](const integer<4>& v) { return v[3] != 0; };
  EXPECT_GT(share_of(synthetic_kind::chain, is_full), 0.99);
  EXPECT_NEAR(share_of(synthetic_kind::bits, is_zero), 0.42, 0.08);
  EXPECT_NEAR(share_of(synthetic_kind::bits, is_one), 0.58, 0.08);
  EXPECT_NEAR(share_of(synthetic_kind::mixed, is_full), 0.75, 0.01);
}

TEST(synthetic_circuit, is_the_same_for_the_same_seed_only) {
  const files folder;
  for (const auto kind : kinds) {
    folder.write({200, kind, curve_id::bn254, 5}, "a");
    folder.write({200, kind, curve_id::bn254, 5}, "b");
    folder.write({200, kind, curve_id::bn254, 6}, "c");
    EXPECT_EQ(folder.text("a.r1cs"), folder.text("b.r1cs"));
    EXPECT_EQ(folder.text("a.wtns"), folder.text("b.wtns"));
    EXPECT_NE(folder.text("a.r1cs"), folder.text("c.r1cs"));
  }
}

TEST(synthetic_circuit, is_proved_with_a_test_key) {
  const files folder;
  for (const auto kind : kinds) {
    for (const auto curve : curves) {
      folder.write({60, kind, curve, 2}, "c");
      thread_pool pool(2);
      format::with_curve(curve, [&](auto c) {
        const auto made = setup::write_test_key<decltype(c)>(
            folder.circuit("c"), std::move(*format::byte_sink::create(folder.path("c.zkey"), "key")), pool);
        EXPECT_TRUE(made) << made.error().message;
      });
      engine e(2);
      const auto key = e.load_key(folder.path("c.zkey"));
      ASSERT_TRUE(key) << key.error().message;
      const auto proved = e.prove(*key, *witness::load(folder.path("c.wtns")));
      EXPECT_TRUE(proved) << proved.error().message;
    }
  }
}

TEST(synthetic_circuit, without_constraints_is_refused_and_leaves_no_file) {
  const files folder;
  {
    auto r1cs = format::byte_sink::create(folder.path("c.r1cs"), "constraint system");
    auto wtns = format::byte_sink::create(folder.path("c.wtns"), "witness");
    const auto written = write_synthetic({}, std::move(*r1cs), std::move(*wtns));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().message,
              "cannot make a circuit of 0 constraints. Choose a number from 1 to 2,147,483,632.");
  }
  EXPECT_TRUE(fs::is_empty(fs::path(folder.path("c")).parent_path()));
}

}  // namespace
}  // namespace prover::circuits
