// Test keys: their parts against the definitions, and whole ones by proofs, and by the key that snarkjs made.
#include "prover/setup/test_key.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "prover/field/test_values.hpp"
#include "prover/format/json.hpp"
#include "prover/format/section_writer.hpp"
#include "prover/format/test_key_notice.hpp"
#include "prover/format/tiny_files.hpp"
#include "prover/format/zkey.hpp"
#include "prover/setup/fixed_base.hpp"
#include "prover/setup/lagrange.hpp"
#include "telltale/prover/engine.hpp"

namespace prover::setup {
namespace {

namespace fs = std::filesystem;
using prover::testing::byte_writer;
using prover::testing::bytes;

template <class G>
class multiples_of_the_generator : public ::testing::Test {};
using groups = ::testing::Types<bn254::g1, bn254::g2, bls12_381::g1, bls12_381::g2>;
TYPED_TEST_SUITE(multiples_of_the_generator, groups);

TYPED_TEST(multiples_of_the_generator, are_right_for_every_window_and_kind_of_scalar) {
  using fr = typename TypeParam::curve::fr;
  testing::values random(1);
  thread_pool pool(2);
  std::vector<integer<4>> all{small_integer<4>(0), small_integer<4>(1), small_integer<4>(2), fr::modulus, fr::modulus};
  subtract_from(all[3], small_integer<4>(1));
  shift_right_one(all[4]);
  for (const u64 top : {u64{1} << 63, ~u64{0}}) all.push_back({top, top, top, 0});
  for (int i = 0; i < 6; ++i) all.push_back(random.element<fr>().limbs);
  // The more scalars are expected, the wider the windows.
  for (const std::size_t expected : {1U, 100U, 4000U}) {
    const fixed_base<TypeParam> base(expected, pool);
    std::vector<affine<TypeParam>> made(all.size());
    base.multiply(all, made, pool);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(made[i], multiply(TypeParam::generator(), all[i]).to_affine()) << "scalar " << i << " for " << expected;
    }
  }
}

template <class Curve>
class test_keys : public ::testing::Test {};
using curves = ::testing::Types<bn254, bls12_381>;
TYPED_TEST_SUITE(test_keys, curves);

TYPED_TEST(test_keys, have_lagrange_polynomials_that_interpolate) {
  using fr = typename TypeParam::fr;
  testing::values random(2);
  const fr tau = random.element<fr>();
  thread_pool pool(2);
  for (const unsigned log_size : {0U, 1U, 5U, 11U}) {
    // By the values of x^k on the roots, every L_i must give tau^k.
    const auto some = lagrange_at<TypeParam>(tau, log_size, roots::all, pool);
    const u64 n = some.size();
    const fr w = ntt::root_of_unity<TypeParam>(log_size);
    for (const u64 k : {u64{0}, u64{1}, n - 1}) {
      if (k >= n) continue;
      fr sum = fr::zero();
      for (u64 i = 0; i < n; ++i) sum += some[i] * w.power(small_integer<1>(i * k));
      EXPECT_EQ(sum, tau.power(small_integer<1>(k))) << "x^" << k << " on 2^" << log_size;
    }
    // The odd ones belong to the domain of twice the size.
    const auto all = lagrange_at<TypeParam>(tau, log_size + 1, roots::all, pool);
    const auto odd = lagrange_at<TypeParam>(tau, log_size, roots::odd, pool);
    for (u64 i = 0; i < n; ++i) EXPECT_EQ(odd[i], all[2 * i + 1]);
  }
}

class files {
 public:
  files() : folder_(fs::path(::testing::TempDir()) / ("telltale_setup_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~files() { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  fs::path folder_;
};

template <class Curve>
telltale::result<groth16::verification_points<Curve>> make(const bytes& circuit, const std::string& path) {
  auto system = format::read_r1cs(format::byte_source::from_memory(circuit, "x.r1cs", "constraint system"));
  if (!system) return system.error();
  auto sink = format::byte_sink::create(path, "key");
  if (!sink) return sink.error();
  thread_pool pool(2);
  return write_test_key<Curve>(std::move(*system), std::move(*sink), pool);
}

// out = x^3 + 5 for a private x: wires are one, out, x, x^2. A wire twice in one combination counts twice.
template <class Curve>
bytes cube_circuit() {
  const auto small = [](u64 v) { return small_integer<4>(v); };
  auto minus_five = Curve::fr::modulus;
  subtract_from(minus_five, small(5));
  byte_writer header;
  header.u32(32).number(Curve::fr::modulus).u32(4).u32(1).u32(0).u32(1).u64_(4).u32(2);
  auto minus_one = Curve::fr::modulus;
  subtract_from(minus_one, small(1));
  byte_writer c;
  // x * x = x^2
  c.u32(1).u32(2).number(small(1)).u32(1).u32(2).number(small(1)).u32(1).u32(3).number(small(1));
  // (2 x^2 - x^2) * x = out - 5
  c.u32(2).u32(3).number(small(2)).u32(3).number(minus_one).u32(1).u32(2).number(small(1));
  c.u32(2).u32(1).number(small(1)).u32(0).number(minus_five);
  return prover::testing::container("r1cs", 1, {{1, header.done()}, {2, c.done()}});
}

template <class Curve>
bytes cube_witness(u64 out) {
  byte_writer values;
  for (const u64 v : {u64{1}, out, u64{3}, u64{9}}) values.number(small_integer<4>(v));
  return prover::testing::container(
      "wtns", 2, {{1, byte_writer().u32(32).number(Curve::fr::modulus).u32(4).done()}, {2, values.done()}});
}

TYPED_TEST(test_keys, prove_and_verify_and_refuse_a_wrong_witness) {
  const files folder;
  const auto vkey = make<TypeParam>(cube_circuit<TypeParam>(), folder.path("cube.zkey"));
  ASSERT_TRUE(vkey) << vkey.error().message;
  engine e(2);
  const auto key = e.load_key(folder.path("cube.zkey"), key_checks::full);
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_TRUE(key->is_test_key());
  EXPECT_EQ(key->variables(), 4u);
  EXPECT_EQ(key->publics(), 1u);
  EXPECT_EQ(key->domain_size(), 4u);

  const auto made = e.prove(*key, *witness::from_bytes(cube_witness<TypeParam>(32), "w.wtns"));
  ASSERT_TRUE(made) << made.error().message;
  // The written verification key accepts it, and nothing else.
  const auto exported = verification_key::from_json(format::write_vkey(*vkey), "vkey.json");
  ASSERT_TRUE(exported) << exported.error().message;
  EXPECT_EQ(*e.verify(*exported, made->proof, made->signals), engine::verdict::valid);
  EXPECT_EQ(*e.verify(*exported, made->proof, public_signals{{small_integer<4>(33)}}), engine::verdict::invalid);

  const auto wrong = e.prove(*key, *witness::from_bytes(cube_witness<TypeParam>(33), "w.wtns"));
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("does not satisfy the circuit"), std::string::npos);
}

TYPED_TEST(test_keys, take_no_witness_of_another_length_or_curve) {
  using other = std::conditional_t<TypeParam::id == curve_id::bn254, bls12_381, bn254>;
  const files folder;
  ASSERT_TRUE(make<TypeParam>(cube_circuit<TypeParam>(), folder.path("cube.zkey")));
  engine e(1);
  const auto key = e.load_key(folder.path("cube.zkey"));
  ASSERT_TRUE(key) << key.error().message;
  const auto short_one = e.prove(*key, *witness::from_bytes(prover::testing::tiny_wtns<TypeParam>(), "w.wtns"));
  ASSERT_FALSE(short_one);
  EXPECT_EQ(
      short_one.error().message,
      "cannot prove: the witness has 5 values and the key is for 4. Use a key and a witness of the same circuit.");
  const auto foreign = e.prove(*key, *witness::from_bytes(cube_witness<other>(32), "w.wtns"));
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().message, std::string("cannot prove: the witness is over ") + name_of(other::id) +
                                         " and the key over " + name_of(TypeParam::id) +
                                         ". Use a key and a witness of the same circuit.");
}

TYPED_TEST(test_keys, name_the_constraint_that_a_witness_violates) {
  engine e(2);
  const auto c = circuit::from_bytes(cube_circuit<TypeParam>(), "cube.r1cs");
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(*e.check(*c, *witness::from_bytes(cube_witness<TypeParam>(32), "w.wtns")), std::nullopt);
  const auto found = e.check(*c, *witness::from_bytes(cube_witness<TypeParam>(33), "w.wtns"));
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->constraint, 1u);
  EXPECT_EQ((*found)->equation, "(2 w[3] - w[3]) * w[2] = w[1] - 5");
}

TYPED_TEST(test_keys, say_that_they_are_insecure) {
  const files folder;
  ASSERT_TRUE(make<TypeParam>(cube_circuit<TypeParam>(), folder.path("cube.zkey")));
  const auto text = *format::read_text(folder.path("cube.zkey"), "key", 1 << 20);
  EXPECT_NE(text.find("INSECURE TEST KEY: its secrets are public, anyone can forge"), std::string::npos);
  const auto other = prover::testing::tiny_zkey<TypeParam>();
  EXPECT_FALSE(format::read_zkey_header(format::byte_source::from_memory(other, "x.zkey", "key"))->is_test_key);
}

TYPED_TEST(test_keys, are_refused_for_circuits_without_constraints_and_leave_no_file) {
  const files folder;
  byte_writer header;
  header.u32(32).number(TypeParam::fr::modulus).u32(1).u32(0).u32(0).u32(0).u64_(1).u32(0);
  const auto made =
      make<TypeParam>(prover::testing::container("r1cs", 1, {{1, header.done()}, {2, {}}}), folder.path("none.zkey"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "cannot make a key: the circuit has no constraints, so there is nothing to prove.");
  EXPECT_TRUE(fs::is_empty(fs::path(folder.path("none.zkey")).parent_path()));
}

fs::path shared_data() {
  if (const char* set = std::getenv("TELLTALE_SHARED_DATA")) return set;
  return fs::path(PROVER_SOURCE_DIR).parent_path().parent_path() / "shared" / "data";
}

bytes bytes_of(const fs::path& path) {
  const auto source = format::byte_source::open(path.string(), "file");
  EXPECT_TRUE(source);
  bytes all(source->size());
  EXPECT_TRUE(source->read(0, all));
  return all;
}

// A section of a .zkey, as it lies there.
bytes section_of(const fs::path& path, std::uint32_t id) {
  const auto source = format::byte_source::open(path.string(), "key");
  const auto table = format::section_table::read(*source, "zkey", 1);
  return *format::read_section(*source, *table->find(id, "it"));
}

TEST(test_key_of_a_real_circuit, proves_and_has_the_shape_of_snarkjs_key) {
  const auto circuit = shared_data() / "merkle12.r1cs";
  if (!fs::exists(circuit)) {
    GTEST_SKIP() << "SKIPPED: no " << circuit << ". Set TELLTALE_SHARED_DATA to the folder of real circuits.";
  }
  const files folder;
  const auto vkey = make<bn254>(bytes_of(circuit), folder.path("merkle12.zkey"));
  ASSERT_TRUE(vkey) << vkey.error().message;
  engine e(2);
  const auto key = e.load_key(folder.path("merkle12.zkey"), key_checks::full);
  ASSERT_TRUE(key) << key.error().message;
  const auto made = e.prove(*key, *witness::load((shared_data() / "merkle12.wtns").string()));
  ASSERT_TRUE(made) << made.error().message;

  // Header counts and coefficients don't depend on the secrets: they must be snarkjs' to the byte.
  const auto theirs = shared_data() / "merkle12.zkey";
  EXPECT_EQ(section_of(folder.path("merkle12.zkey"), 4), section_of(theirs, 4));
  const auto counts = [](bytes header) { return bytes(header.begin(), header.begin() + 4 + 32 + 4 + 32 + 12); };
  EXPECT_EQ(counts(section_of(folder.path("merkle12.zkey"), 2)), counts(section_of(theirs, 2)));
}

}  // namespace
}  // namespace prover::setup
