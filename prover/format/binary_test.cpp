// The readers of .zkey, .wtns and .r1cs: what is well formed is read, and every way of being wrong has its sentence.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "prover/curve/test_points.hpp"
#include "prover/format/byte_sink.hpp"
#include "prover/format/r1cs.hpp"
#include "prover/format/tiny_files.hpp"
#include "prover/format/wtns.hpp"
#include "prover/format/zkey.hpp"

namespace prover::format {
namespace {

using prover::testing::byte_writer;
using prover::testing::bytes;
using prover::testing::file_section;
using sections = std::vector<file_section>;

std::string error_of(const auto& result) {
  return result ? "" : result.error().message;
}

std::string read_key(bytes file) {
  thread_pool pool(1);
  const auto source = byte_source::from_memory(std::move(file), "x.zkey", "key");
  const auto header = read_zkey_header(source);
  if (!header) return header.error().message;
  return with_curve(header->curve, [&](auto c) {
    return error_of(read_zkey<decltype(c)>(source, key_checks::full, code_path::portable, pool));
  });
}

std::string read_witness(bytes file) {
  return error_of(read_wtns(byte_source::from_memory(std::move(file), "x.wtns", "witness")));
}
std::string read_system(bytes file) {
  return error_of(read_r1cs(byte_source::from_memory(std::move(file), "x.r1cs", "constraints")));
}

bytes& content(sections& all, std::uint32_t id) {
  return std::find_if(all.begin(), all.end(), [&](const file_section& s) { return s.id == id; })->content;
}

void put_u32(bytes& into, std::size_t at, std::uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) into[at + i] = static_cast<std::byte>(value >> (8 * i));
}
void put(bytes& into, std::size_t at, const bytes& value) {
  std::copy(value.begin(), value.end(), into.begin() + static_cast<std::ptrdiff_t>(at));
}
const bytes all_ones(32, std::byte{0xff});

// A way to be wrong: applied to the sections, and the words that the error must contain.
struct mutation {
  const char* name;
  std::function<void(sections&)> apply;
  std::string expected;
};

template <class Read>
void expect_errors(const std::vector<mutation>& mutations, const sections& good, std::string_view magic,
                   std::uint32_t version, Read read) {
  for (const auto& m : mutations) {
    sections changed = good;
    m.apply(changed);
    const std::string message = read(prover::testing::container(magic, version, changed));
    EXPECT_NE(message.find(m.expected), std::string::npos) << m.name << " gave: " << message;
    EXPECT_EQ(message.rfind("cannot read ", 0), 0u) << m.name;
  }
}

// Every file, whatever it holds, can be broken in these ways.
template <class Read>
void expect_container_errors(const bytes& good, Read read) {
  EXPECT_EQ(read(good), "");
  EXPECT_NE(read({}).find("the file is empty"), std::string::npos);
  for (std::size_t size = 1; size < good.size(); ++size) {
    EXPECT_NE(read(bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))), "") << "cut to " << size;
  }
  bytes file = good;
  file.push_back(std::byte{0});
  EXPECT_NE(read(file).find("something after its end"), std::string::npos);
  file = good;
  file[0] = std::byte{'Z'};
  EXPECT_NE(read(file).find("does not begin with"), std::string::npos);
  file = good;
  file[4] = std::byte{9};
  EXPECT_NE(read(file).find("its version is 9"), std::string::npos);
  file[4] = std::byte{0};
  EXPECT_NE(read(file).find("its version is 0"), std::string::npos);
  file = good;
  put_u32(file, 8, 4'000'000'000);
  EXPECT_NE(read(file).find("promises 4,000,000,000 sections"), std::string::npos);
  file = good;
  put(file, 16, bytes(8, std::byte{0xff}));  // the first section's length
  EXPECT_NE(read(file).find("which no file has"), std::string::npos);
  file = good;
  put_u32(file, 12, 0);  // the first section's number
  EXPECT_NE(read(file).find("is missing"), std::string::npos);
  // A section that ends inside the next one, or leaves a gap before it; one that is far beyond the end; one whose end
  // overflows.
  for (std::size_t at = 12; at < good.size();) {
    byte_cursor size_field(std::span<const std::byte>(good).subspan(at + 4));
    const u64 size = size_field.u64_();
    for (const u64 wrong : {size + 1, size - 1, size + 4, size + 12, size * 2 + 1, u64{1} << 46, ~u64{0} - at - 11}) {
      file = good;
      put(file, at + 4, byte_writer().u64_(wrong).done());
      EXPECT_NE(read(file), "") << "section at " << at << " with " << wrong << " bytes";
    }
    at += 12 + size;
  }
}

// Sections may come in any order.
template <class Read>
void expect_any_order(sections all, std::string_view magic, std::uint32_t version, Read read) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::rotate(all.begin(), all.begin() + 1, all.end());
    EXPECT_EQ(read(prover::testing::container(magic, version, all)), "");
    EXPECT_EQ(read(prover::testing::container(magic, version, {all.rbegin(), all.rend()})), "");
  }
}

template <class Curve>
class zkey_reader : public ::testing::Test {};
using curves = ::testing::Types<bn254, bls12_381>;
TYPED_TEST_SUITE(zkey_reader, curves);

TYPED_TEST(zkey_reader, reads_a_key_with_its_sections_in_any_order) {
  auto all = prover::testing::tiny_zkey_sections<TypeParam>();
  EXPECT_EQ(read_key(prover::testing::container("zkey", 1, all)), "");
  std::reverse(all.begin(), all.end());
  const auto source = byte_source::from_memory(prover::testing::container("zkey", 1, all), "x.zkey", "key");
  thread_pool pool(2);
  const auto key = read_zkey<TypeParam>(source, key_checks::full, code_path::portable, pool);
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->header.variables, prover::testing::tiny_variables);
  EXPECT_EQ(key->values.size(), 1u);
  EXPECT_EQ(key->a_rows.entries.size() + key->b_rows.entries.size(), 4u);
  EXPECT_EQ(key->a_rows.entries[1].signal, 3u);
  EXPECT_TRUE(key->b1[0].is_infinity());
}

TYPED_TEST(zkey_reader, refuses_broken_containers) {
  expect_container_errors(prover::testing::tiny_zkey<TypeParam>(), read_key);
}

// Where infinity may stand, and where not.
TYPED_TEST(zkey_reader, allows_infinity_where_a_polynomial_may_be_zero_and_nowhere_else) {
  using fp = typename TypeParam::fp;
  constexpr std::size_t q = sizeof(fp);
  constexpr std::size_t points = 4 + q + 4 + 32 + 12;  // where the header's points begin
  const auto zeros = [](std::size_t n) { return bytes(n, std::byte{0}); };
  auto all = prover::testing::tiny_zkey_sections<TypeParam>();
  for (const std::uint32_t id : {3U, 5U, 6U, 7U, 8U}) content(all, id) = zeros(content(all, id).size());
  EXPECT_EQ(read_key(prover::testing::container("zkey", 1, all)), "");

  struct place {
    const char* name;
    std::size_t at;
    std::size_t size;
  };
  for (const auto& [name, at, size] : {place{"alpha1", 0, 2 * q},
                                       {"beta1", 2 * q, 2 * q},
                                       {"beta2", 4 * q, 4 * q},
                                       {"gamma2", 8 * q, 4 * q},
                                       {"delta1", 12 * q, 2 * q},
                                       {"delta2", 14 * q, 4 * q}}) {
    auto changed = all;
    put(content(changed, 2), points + at, zeros(size));
    const auto message = read_key(prover::testing::container("zkey", 1, changed));
    EXPECT_NE(message.find(std::string("in section 2 (the header), ") + name + " is the point at infinity"),
              std::string::npos)
        << message;
  }
  put(content(all, 9), 7 * 2 * q, zeros(2 * q));
  EXPECT_NE(read_key(prover::testing::container("zkey", 1, all)).find("point 7 is the point at infinity"),
            std::string::npos);
}

// Every point of every section, on the curve but outside the subgroup (BN254's G1 has no such points), not on the
// curve, or with a coordinate that is the prime itself.
TYPED_TEST(zkey_reader, checks_every_point_of_every_section) {
  using fp = typename TypeParam::fp;
  constexpr std::size_t q = sizeof(fp);
  const auto good = prover::testing::tiny_zkey_sections<TypeParam>();
  const auto g1 = byte_writer().point(prover::testing::any_point<typename TypeParam::g1>(1)).done();
  const auto g2 = byte_writer().point(prover::testing::any_point<typename TypeParam::g2>(1)).done();
  const auto expect = [&](std::uint32_t id, std::size_t at, const bytes& value, const char* expected) {
    auto changed = good;
    put(content(changed, id), at, value);
    const auto message = read_key(prover::testing::container("zkey", 1, changed));
    EXPECT_NE(message.find(expected), std::string::npos) << "section " << id << " at " << at << ": " << message;
  };
  const auto expect_all = [&](std::uint32_t id, std::size_t at, std::size_t size) {
    const bool is_g2 = size == 4 * q;
    if (is_g2 || TypeParam::id == curve_id::bls12_381) expect(id, at, is_g2 ? g2 : g1, "is not in the subgroup");
    expect(id, at + size - q, byte_writer().number(fp::modulus).done(), "a coordinate that is not below");
    expect(id, at, byte_writer().coordinate(fp::from_u64(7)).done(), "is not on the curve");
  };
  constexpr std::size_t points = 4 + q + 4 + 32 + 12;
  for (const std::size_t at : {0U, 2U, 12U}) expect_all(2, points + at * q, 2 * q);
  for (const std::size_t at : {4U, 8U, 14U}) expect_all(2, points + at * q, 4 * q);
  for (const std::uint32_t id : {3U, 5U, 7U, 8U, 9U}) {
    const std::size_t size = id == 7 ? 4 * q : 2 * q;
    auto copy = good;
    expect_all(id, 0, size);
    expect_all(id, content(copy, id).size() - size, size);  // the last one
  }
}

TYPED_TEST(zkey_reader, refuses_what_is_wrong_and_says_what) {
  using fp = typename TypeParam::fp;
  constexpr std::size_t q = sizeof(fp);
  constexpr std::size_t counts = 4 + q + 4 + 32;  // where the header's counts begin
  constexpr std::size_t points = counts + 12;
  const auto off_curve = byte_writer().coordinate(fp::one()).coordinate(fp::one()).done();
  const auto any_g2 = byte_writer().point(prover::testing::any_point<typename TypeParam::g2>(1)).done();
  const auto zeros = [](std::size_t n) { return bytes(n, std::byte{0}); };
  const std::vector<mutation> mutations{
      {"duplicate section", [](sections& s) { s.push_back(s[3]); }, "section 3 comes twice"},
      {"missing section", [](sections& s) { s.erase(s.begin() + 4); }, "section 9 (the H points) is missing"},
      {"PLONK key", [](sections& s) { put_u32(content(s, 1), 0, 2); }, "its protocol is 2 (PLONK)"},
      {"long protocol", [](sections& s) { content(s, 1).resize(5); }, "section 1 (the protocol) has 5 bytes"},
      {"empty header", [](sections& s) { content(s, 2).clear(); }, "section 2 (the header) has 0 bytes"},
      {"short header", [](sections& s) { content(s, 2).pop_back(); }, "section 2 (the header) has"},
      {"other base field", [](sections& s) { content(s, 2)[4] ^= std::byte{2}; }, "its primes are not those of"},
      {"other scalar field", [](sections& s) { content(s, 2)[4 + q + 4] ^= std::byte{2}; },
       "its primes are not those of"},
      {"primes of two curves",
       [](sections& s) {
         using other = std::conditional_t<TypeParam::id == curve_id::bn254, bls12_381_fr, bn254_fr>;
         put(content(s, 2), 4 + q + 4, byte_writer().number(other::modulus).done());
       },
       "its primes are not those of"},
      {"prime of 2^32 bytes", [](sections& s) { put_u32(content(s, 2), 0, ~0U); }, "ends inside its primes"},
      {"no variables", [](sections& s) { put_u32(content(s, 2), counts, 0); }, "2 public signals but only 0 variables"},
      {"2^32 variables", [](sections& s) { put_u32(content(s, 2), counts, ~0U); }, "promises 4,294,967,295 variables"},
      {"2^31 - 1 variables", [](sections& s) { put_u32(content(s, 2), counts, (1U << 31) - 1); },
       "section 5 (the A points) has"},
      {"too many publics", [](sections& s) { put_u32(content(s, 2), counts + 4, ~0U); },
       "4,294,967,295 public signals"},
      {"domain no power of two", [](sections& s) { put_u32(content(s, 2), counts + 8, 7); },
       "domain size, 7, is not a power of two"},
      {"domain zero", [](sections& s) { put_u32(content(s, 2), counts + 8, 0); },
       "domain size, 0, is not a power of two"},
      {"domain larger", [](sections& s) { put_u32(content(s, 2), counts + 8, 16); }, "section 9 (the H points) has"},
      {"domain 2^31", [](sections& s) { put_u32(content(s, 2), counts + 8, 1U << 31); },
       TypeParam::id == curve_id::bn254 ? "above the supported 2^27" : "section 9 (the H points) has"},
      {"domain too small", [](sections& s) { put_u32(content(s, 2), counts + 8, 2); }, "section 9 (the H points) has"},
      {"alpha off the curve", [&](sections& s) { put(content(s, 2), points, off_curve); },
       "alpha1 is not on the curve"},
      {"alpha infinite", [&](sections& s) { put(content(s, 2), points, zeros(2 * q)); },
       "alpha1 is the point at infinity"},
      {"beta outside the subgroup", [&](sections& s) { put(content(s, 2), points + 4 * q, any_g2); },
       "beta2 is not in the subgroup"},
      {"coordinate not reduced", [&](sections& s) { put(content(s, 5), 2 * q * 3, bytes(q, std::byte{0xff})); },
       "in section 5 (the A points), point 3 has a coordinate that is not below"},
      {"A off the curve", [&](sections& s) { put(content(s, 5), 2 * q * 4, off_curve); },
       "in section 5 (the A points), point 4 is not on the curve"},
      {"B2 outside the subgroup", [&](sections& s) { put(content(s, 7), 4 * q * 2, any_g2); },
       "in section 7 (the B points in G2), point 2 is not in the subgroup"},
      {"H infinite", [&](sections& s) { put(content(s, 9), 0, zeros(2 * q)); },
       "in section 9 (the H points), point 0 is the point at infinity"},
      {"IC too short", [](sections& s) { content(s, 3).pop_back(); }, "section 3 (the public signals' points) has"},
      {"C too long", [](sections& s) { content(s, 8).push_back(std::byte{0}); }, "section 8 (the C points) has"},
      {"2^32 coefficients", [](sections& s) { put_u32(content(s, 4), 0, ~0U); }, "section 4 (the coefficients) has"},
      {"no count", [](sections& s) { content(s, 4).resize(3); }, "too short for its count"},
      {"matrix 7", [](sections& s) { put_u32(content(s, 4), 4, 7); }, "entry 0 names matrix 7"},
      {"constraint too large", [](sections& s) { put_u32(content(s, 4), 8, 8); }, "entry 0 names constraint 8"},
      {"signal too large", [](sections& s) { put_u32(content(s, 4), 12, 5); }, "entry 0 names signal 5"},
      {"value is r", [](sections& s) { put(content(s, 4), 16, byte_writer().number(TypeParam::fr::modulus).done()); },
       "entry 0 has a value that is not below"},
      {"value not reduced", [](sections& s) { put(content(s, 4), 16, all_ones); },
       "entry 0 has a value that is not below"},
  };
  expect_errors(mutations, prover::testing::tiny_zkey_sections<TypeParam>(), "zkey", 1, read_key);
}

TEST(zkey_reader, names_the_file_what_is_wrong_and_what_to_do) {
  auto file = prover::testing::tiny_zkey<bn254>();
  file.resize(file.size() - 1);
  EXPECT_EQ(read_key(file), "cannot read key \"x.zkey\": section 7 ends at byte " + grouped(file.size() + 1) +
                                " but the file has " + grouped(file.size()) +
                                " (truncated?). Download or build it again.");
}

TEST(zkey_reader, leaves_the_curve_unchecked_only_when_told_to) {
  auto all = prover::testing::tiny_zkey_sections<bn254>();
  put(content(all, 5), 0, byte_writer().coordinate(bn254_fp::one()).coordinate(bn254_fp::one()).done());
  const auto source = byte_source::from_memory(prover::testing::container("zkey", 1, all), "x.zkey", "key");
  thread_pool pool(1);
  EXPECT_TRUE(read_zkey<bn254>(source, key_checks::none, code_path::portable, pool));
  EXPECT_FALSE(read_zkey<bn254>(source, key_checks::on_curve, code_path::portable, pool));
}

template <class Curve>
class wtns_reader : public ::testing::Test {};
TYPED_TEST_SUITE(wtns_reader, curves);

TYPED_TEST(wtns_reader, reads_and_refuses) {
  using fr = typename TypeParam::fr;
  expect_any_order(prover::testing::tiny_wtns_sections<TypeParam>(), "wtns", 2, read_witness);
  expect_container_errors(prover::testing::tiny_wtns<TypeParam>(), read_witness);
  const std::vector<mutation> mutations{
      {"duplicate section", [](sections& s) { s.push_back(s[1]); }, "section 2 comes twice"},
      {"missing values", [](sections& s) { s.pop_back(); }, "section 2 (the values) is missing"},
      {"64-byte values", [](sections& s) { put_u32(content(s, 1), 0, 64); }, "its values have 64 bytes each"},
      {"other field", [](sections& s) { content(s, 1)[4] ^= std::byte{2}; }, "its prime is not the order"},
      {"long header", [](sections& s) { content(s, 1).push_back(std::byte{0}); },
       "section 1 (the header) has 41 bytes"},
      {"2^32 values", [](sections& s) { put_u32(content(s, 1), 36, ~0U); }, "section 2 (the values) has 160 bytes"},
      {"a value less", [](sections& s) { content(s, 2).resize(128); }, "section 2 (the values) has 128 bytes"},
      {"no values",
       [](sections& s) {
         put_u32(content(s, 1), 36, 0);
         content(s, 2).clear();
       },
       "it holds no values"},
      {"value not reduced", [](sections& s) { put(content(s, 2), 64, all_ones); }, "value 2 is not below"},
      {"value is r", [](sections& s) { put(content(s, 2), 32, byte_writer().number(fr::modulus).done()); },
       "value 1 is not below"},
      {"first is two", [](sections& s) { put_u32(content(s, 2), 0, 2); }, "its first value is not 1"},
  };
  expect_errors(mutations, prover::testing::tiny_wtns_sections<TypeParam>(), "wtns", 2, read_witness);
}

template <class Curve>
class r1cs_reader : public ::testing::Test {};
TYPED_TEST_SUITE(r1cs_reader, curves);

TYPED_TEST(r1cs_reader, reads_and_refuses) {
  const auto source = byte_source::from_memory(prover::testing::tiny_r1cs<TypeParam>(), "x.r1cs", "constraints");
  const auto system = read_r1cs(source);
  ASSERT_TRUE(system) << system.error().message;
  EXPECT_EQ(system->starts, (std::vector<u64>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(system->values.size(), 6u);
  expect_any_order(prover::testing::tiny_r1cs_sections<TypeParam>(), "r1cs", 1, read_system);
  expect_container_errors(prover::testing::tiny_r1cs<TypeParam>(), read_system);
  const std::vector<mutation> mutations{
      {"duplicate section", [](sections& s) { s.push_back(s[0]); }, "section 2 comes twice"},
      {"missing header", [](sections& s) { s.erase(s.begin() + 1); }, "section 1 (the header) is missing"},
      {"other field", [](sections& s) { content(s, 1)[4] ^= std::byte{2}; }, "its prime is not the order"},
      {"more inputs than wires", [](sections& s) { put_u32(content(s, 1), 40, ~0U); },
       "more inputs and outputs than its 5 wires"},
      {"2^32 constraints", [](sections& s) { put_u32(content(s, 1), 60, ~0U); }, "promises 4,294,967,295 constraints"},
      {"a constraint more", [](sections& s) { put_u32(content(s, 1), 60, 3); },
       "constraint 2 is beyond the section's end"},
      {"a constraint less", [](sections& s) { put_u32(content(s, 1), 60, 1); },
       "has 120 bytes after the last constraint"},
      {"2^32 terms", [](sections& s) { put_u32(content(s, 2), 0, ~0U); }, "constraint 0 promises 4,294,967,295 terms"},
      {"wire too large", [](sections& s) { put_u32(content(s, 2), 4, 5); }, "constraint 0 names wire 5"},
      {"value not reduced", [](sections& s) { put(content(s, 2), 8, all_ones); }, "constraint 0 has a coefficient"},
      {"value is r", [](sections& s) { put(content(s, 2), 8, byte_writer().number(TypeParam::fr::modulus).done()); },
       "constraint 0 has a coefficient"},
      {"labels of another size", [](sections& s) { content(s, 3).pop_back(); }, "section 3 (the labels) has 39 bytes"},
      {"custom gates", [](sections& s) { s.push_back({4, byte_writer().u32(1).done()}); },
       "it uses custom gates (section 4)"},
  };
  expect_errors(mutations, prover::testing::tiny_r1cs_sections<TypeParam>(), "r1cs", 1, read_system);
  auto with_empty_lists = prover::testing::tiny_r1cs_sections<TypeParam>();
  with_empty_lists.push_back({4, byte_writer().u32(0).done()});
  with_empty_lists.push_back({5, {}});
  EXPECT_EQ(read_system(prover::testing::container("r1cs", 1, with_empty_lists)), "");
}

TEST(byte_source, says_why_a_file_cannot_be_opened) {
  EXPECT_EQ(error_of(byte_source::open("/no/such/file", "key")),
            "cannot read key \"/no/such/file\": No such file or directory. Check the path and its permissions.");
  EXPECT_EQ(error_of(byte_source::open("/", "key")),
            "cannot read key \"/\": it is not a regular file. Give the path of a file.");
}

TEST(byte_source, gives_an_error_for_a_file_that_became_shorter) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "telltale_shrinking_file";
  std::ofstream(path) << "0123456789";
  const auto source = byte_source::open(path.string(), "key");
  ASSERT_TRUE(source);
  std::filesystem::resize_file(path, 4);
  std::array<std::byte, 10> into{};
  EXPECT_NE(error_of(source->read(0, into)).find("it became shorter while it was read"), std::string::npos);
  std::filesystem::remove(path);
}

TEST(write_text, says_why_a_file_cannot_be_written_and_leaves_nothing_behind) {
  EXPECT_EQ(error_of(write_text("/no/such/folder/proof.json", "{}", "proof")),
            "cannot write proof \"/no/such/folder/proof.json\": No such file or directory. Check the folder, its "
            "permissions and the space that is left.");
}

}  // namespace
}  // namespace prover::format
