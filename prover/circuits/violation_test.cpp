// The first violated constraint is found, whatever the threads, and written down without a value of the witness.
#include "prover/circuits/violation.hpp"

#include <gtest/gtest.h>

#include "prover/format/sym.hpp"
#include "prover/format/tiny_files.hpp"

namespace prover::circuits {
namespace {

using prover::testing::byte_writer;

// (w[2] + 3) * w[2] = w[1] for constraint 0, and n - 1 times w[3] * w[3] = w[3] after it.
template <class Curve>
format::r1cs system_of(std::uint32_t n) {
  byte_writer header;
  header.u32(32).number(Curve::fr::modulus).u32(4).u32(1).u32(0).u32(0).u64_(4).u32(n);
  const auto one = small_integer<4>(1);
  byte_writer c;
  c.u32(2).u32(2).number(one).u32(0).number(small_integer<4>(3)).u32(1).u32(2).number(one).u32(1).u32(1).number(one);
  for (std::uint32_t i = 1; i < n; ++i) {
    for (int side = 0; side < 3; ++side) c.u32(1).u32(3).number(one);
  }
  auto bytes = prover::testing::container("r1cs", 1, {{1, header.done()}, {2, c.done()}});
  auto system = format::read_r1cs(format::byte_source::from_memory(std::move(bytes), "x.r1cs", "constraint system"));
  EXPECT_TRUE(system) << system.error().message;
  return std::move(*system);
}

format::wtns witness_of(curve_id curve, std::initializer_list<u64> values) {
  format::wtns w;
  w.header = {curve, static_cast<std::uint32_t>(values.size())};
  for (const u64 v : values) w.values.push_back(small_integer<4>(v));
  return w;
}

template <class Curve>
class violations : public ::testing::Test {};
using curves = ::testing::Types<bn254, bls12_381>;
TYPED_TEST_SUITE(violations, curves);

TYPED_TEST(violations, are_found_the_first_one_first) {
  const auto system = system_of<TypeParam>(5000);
  for (const unsigned threads : {1U, 4U}) {
    thread_pool pool(threads);
    const auto first = [&](std::initializer_list<u64> values) {
      const auto found = first_violation(system, witness_of(TypeParam::id, values), pool);
      EXPECT_TRUE(found);
      return *found;
    };
    EXPECT_EQ(first({1, 10, 2, 1}), std::nullopt);
    EXPECT_EQ(first({1, 11, 2, 1}), 0u);
    EXPECT_EQ(first({1, 10, 2, 5}), 1u);
    EXPECT_EQ(first({1, 11, 2, 5}), 0u);
  }
}

TYPED_TEST(violations, in_a_witness_of_another_circuit_are_not_looked_for) {
  const auto system = system_of<TypeParam>(2);
  thread_pool pool(1);
  const auto message = [&](const format::wtns& w) {
    const auto found = first_violation(system, w, pool);
    return found ? std::string() : found.error().message;
  };
  EXPECT_EQ(message(witness_of(TypeParam::id, {1, 2, 3})),
            "cannot check: the witness has 3 values and the circuit has 4 wires. Use a witness of this circuit.");
  const auto other = TypeParam::id == curve_id::bn254 ? curve_id::bls12_381 : curve_id::bn254;
  EXPECT_EQ(message(witness_of(other, {1, 10, 2, 1})), std::string("cannot check: the witness is over ") +
                                                           name_of(other) + " and the circuit over " +
                                                           name_of(TypeParam::id) + ". Use a witness of this circuit.");
}

format::r1cs system_with(std::vector<std::vector<std::pair<std::uint32_t, integer<4>>>> sides) {
  format::r1cs r;
  r.header.constraints = 1;
  r.starts.push_back(0);
  for (const auto& side : sides) {
    for (const auto& [wire, value] : side) {
      r.terms.push_back({wire, static_cast<std::uint32_t>(r.values.size())});
      r.values.push_back(value);
    }
    r.starts.push_back(r.terms.size());
  }
  return r;
}

TEST(equation, shows_signs_constants_names_and_empty_sums) {
  const auto n = [](u64 v) { return small_integer<4>(v); };
  auto minus_two = bn254_fr::modulus;
  subtract_from(minus_two, n(2));
  const auto system =
      system_with({{{5, n(1)}, {0, n(3)}}, {{5, minus_two}}, {{7, n(4)}, {9, minus_two}, {0, minus_two}}});
  EXPECT_EQ(equation(system, 0, {}), "(w[5] + 3) * -2 w[5] = 4 w[7] - 2 w[9] - 2");
  EXPECT_EQ(equation(system, 0, {{5, "main.x"}, {9, "main.h[0].out"}}),
            "(main.x + 3) * -2 main.x = 4 w[7] - 2 main.h[0].out - 2");
  EXPECT_EQ(wires_of(system, 0), (std::vector<std::uint32_t>{0, 5, 7, 9}));
  EXPECT_EQ(equation(system_with({{}, {}, {{1, n(1)}}}), 0, {}), "0 * 0 = w[1]");
}

TEST(equation, leaves_out_the_end_of_long_sums) {
  std::vector<std::pair<std::uint32_t, integer<4>>> sum(14, {1, small_integer<4>(1)});
  const auto text = equation(system_with({sum, {}, {}}), 0, {});
  EXPECT_EQ(text.find("w[1] + w[1]"), 1u);
  EXPECT_NE(text.find("w[1] + 2 more terms) * 0 = 0"), std::string::npos) << text;
}

auto names(const std::string& text, std::vector<std::uint32_t> wires) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return format::read_names(format::byte_source::from_memory({begin, begin + text.size()}, "x.sym", "signal names"),
                            wires);
}

TEST(sym_reader, gives_the_first_name_of_the_wires_asked_for) {
  const auto read =
      names("1,1,2,main.out\n2,-1,2,main.gone\r\n3,5,0,main.a[3].x_1\n4,5,0,main.b\n5,6,0,main.last", {5, 6});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, (std::map<std::uint32_t, std::string>{{5, "main.a[3].x_1"}, {6, "main.last"}}));
  EXPECT_TRUE(names("", {1})->empty());
}

TEST(sym_reader, reads_files_longer_than_its_window) {
  std::string text;
  for (int i = 1; text.size() < 3'000'000; ++i) text += std::to_string(i) + "," + std::to_string(i) + ",0,main.a\n";
  text += "9,77777777,1,main.end\n";
  EXPECT_EQ(names(text, {77777777})->at(77777777), "main.end");
}

TEST(sym_reader, refuses_what_is_wrong_and_says_where) {
  const auto message = [](const std::string& text) {
    const auto read = names(text, {1});
    return read ? std::string() : read.error().message;
  };
  const std::string shape = "is not \"label,wire,component,name\"";
  for (const std::string line : {"", "1", "1,2,3", "x,1,1,main.a", "1,x,1,main.a", "1,1,,main.a", "-1,1,1,main.a",
                                 "1,-2,1,main.a", "99999999999999999999,1,1,main.a", "1,1,-1,main.a"}) {
    EXPECT_NE(message("1,1,1,main.a\n" + line + "\n").find("line 2 " + shape), std::string::npos) << line;
  }
  for (const std::string line : {"1,1,1,", "1,1,1,main a", "1,1,1,\x1b[2J", "1,1,1,main,a"}) {
    EXPECT_NE(message(line + "\n").find("line 1 has a name that no signal can have"), std::string::npos) << line;
  }
  EXPECT_NE(message("1,1,1," + std::string(2'000'000, 'a')).find("line 1 is too long"), std::string::npos);
  EXPECT_EQ(message("1,1,1,\n"),
            "cannot read signal names \"x.sym\": line 1 has a name that no signal can have. Compile the circuit again, "
            "with --sym.");
}

}  // namespace
}  // namespace prover::circuits
