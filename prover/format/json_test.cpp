// The JSON files: round trips, and every way of being wrong has its sentence.
#include "prover/format/json.hpp"

#include <gtest/gtest.h>

#include "prover/curve/test_points.hpp"

namespace prover::format {
namespace {

template <class Curve>
groth16::proof_points<Curve> some_proof() {
  return {prover::testing::multiples<typename Curve::g1>(1, 1)[0],
          prover::testing::multiples<typename Curve::g2>(1, 2)[0], affine<typename Curve::g1>::infinity()};
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

template <class Curve>
class proof_json : public ::testing::Test {};
using curves = ::testing::Types<bn254, bls12_381>;
TYPED_TEST_SUITE(proof_json, curves);

TYPED_TEST(proof_json, survives_a_round_trip) {
  const auto proof = some_proof<TypeParam>();
  const auto text = write_proof(proof);
  EXPECT_NE(text.find(json_name_of(TypeParam::id)), std::string::npos);
  const auto back = parse_proof<TypeParam>(text, "p.json");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, proof);
}

TYPED_TEST(proof_json, refuses_what_is_wrong_and_says_what) {
  const auto text = write_proof(some_proof<TypeParam>());
  const auto message = [](const std::string& changed) {
    const auto r = parse_proof<TypeParam>(changed, "p.json");
    return r ? std::string() : r.error().message;
  };
  const auto x = to_decimal(some_proof<TypeParam>().a.x.to_integer());
  const auto p = to_decimal(TypeParam::fp::modulus);
  const auto b = some_proof<TypeParam>().b;
  const auto stray = prover::testing::any_point<typename TypeParam::g2>(1);
  auto outside = replaced(text, to_decimal(b.x.c0.to_integer()), to_decimal(stray.x.c0.to_integer()));
  outside = replaced(outside, to_decimal(b.x.c1.to_integer()), to_decimal(stray.x.c1.to_integer()));
  outside = replaced(outside, to_decimal(b.y.c0.to_integer()), to_decimal(stray.y.c0.to_integer()));
  outside = replaced(outside, to_decimal(b.y.c1.to_integer()), to_decimal(stray.y.c1.to_integer()));
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "the file is empty"},
      {"{", "it is not valid JSON at byte 2"},
      {"[]", "it is not a JSON object"},
      {"{}", "\"protocol\" is missing"},
      {replaced(text, "groth16", "plonk"), "\"protocol\" is not \"groth16\""},
      {replaced(text, "pi_b", "pi_x"), "\"pi_b\" is missing"},
      {replaced(text, json_name_of(TypeParam::id), "secp256k1"), "\"curve\" is neither"},
      {replaced(text, json_name_of(TypeParam::id), TypeParam::id == curve_id::bn254 ? "bls12381" : "bn128"),
       "and the key is over"},
      {replaced(text, x, "1"), "pi_a is not on the curve"},
      {replaced(text, x, p), "pi_a[0] is not below the field's prime"},
      {replaced(text, x, "-1"), "pi_a[0] is not a string of decimal digits"},
      {replaced(text, x, std::string(400, '9')), "pi_a[0] is not a string of decimal digits, or is too long"},
      {replaced(text, "\"" + x + "\"", "17"), "pi_a[0] is not a string"},
      {outside, "pi_b is not in the subgroup"},
  };
  for (const auto& [changed, expected] : cases) {
    EXPECT_NE(message(changed).find(expected), std::string::npos) << expected << " expected, got: " << message(changed);
  }
  EXPECT_EQ(message("{"),
            "cannot read proof \"p.json\": it is not valid JSON at byte 2. Prove again, and keep the file as it was "
            "written.");
}

TEST(public_json, survives_a_round_trip_and_refuses_aliases) {
  std::vector<integer<4>> signals{small_integer<4>(0), small_integer<4>(42), bn254_fr::modulus};
  subtract_from(signals[2], small_integer<4>(1));
  const auto back = parse_public(write_public(signals), "q.json", curve_id::bn254);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, signals);
  const auto message = [](const std::string& text) {
    const auto r = parse_public(text, "q.json", curve_id::bn254);
    return r ? std::string() : r.error().message;
  };
  EXPECT_NE(message("[\"" + to_decimal(bn254_fr::modulus) + "\"]").find("signal 0 is not below"), std::string::npos);
  EXPECT_NE(message("[\"1\",\"x\"]").find("signal 1 is not a string of decimal digits"), std::string::npos);
  EXPECT_NE(message("{}").find("it is not a JSON array"), std::string::npos);
  EXPECT_EQ(message("[]"), "");
}

template <class Curve>
class vkey_json : public ::testing::Test {};
TYPED_TEST_SUITE(vkey_json, curves);

template <class Curve>
groth16::verification_points<Curve> some_vkey() {
  const auto g1 = prover::testing::multiples<typename Curve::g1>(3, 3);
  const auto g2 = prover::testing::multiples<typename Curve::g2>(3, 4);
  return {g1[0], g2[0], g2[1], g2[2], {g1[1], affine<typename Curve::g1>::infinity(), g1[2]}};
}

TYPED_TEST(vkey_json, survives_a_round_trip) {
  const auto key = some_vkey<TypeParam>();
  const auto back = parse_vkey<TypeParam>(write_vkey(key), "v.json");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->alpha1, key.alpha1);
  EXPECT_EQ(back->beta2, key.beta2);
  EXPECT_EQ(back->gamma2, key.gamma2);
  EXPECT_EQ(back->delta2, key.delta2);
  EXPECT_EQ(back->ic, key.ic);
}

TYPED_TEST(vkey_json, refuses_points_that_are_wrong_and_says_which) {
  const auto good = some_vkey<TypeParam>();
  const auto text = write_vkey(good);
  const auto message = [](const std::string& changed) {
    const auto r = parse_vkey<TypeParam>(changed, "v.json");
    return r ? std::string() : r.error().message;
  };
  const auto x = [](const auto& p) { return to_decimal(p.x.to_integer()); };
  const auto prime = to_decimal(TypeParam::fp::modulus);
  const auto stray = prover::testing::any_point<typename TypeParam::g2>(1);
  const auto with = [&](auto change) {
    auto key = good;
    change(key);
    return write_vkey(key);
  };
  using key = groth16::verification_points<TypeParam>;
  const std::vector<std::pair<std::string, std::string>> cases{
      {text.substr(0, text.size() / 2), "it is not valid JSON at byte"},
      {replaced(text, x(good.alpha1), "1"), "vk_alpha_1 is not on the curve"},
      {replaced(text, x(good.alpha1), prime), "vk_alpha_1[0] is not below the field's prime"},
      {replaced(text, x(good.ic[2]), "1"), "IC[2] is not on the curve"},
      {replaced(text, "\"nPublic\": 2", "\"nPublic\": 3"), "\"IC\" does not have nPublic + 1 points"},
      {replaced(text, "\"nPublic\": 2", "\"nPublic\": 1099511627776"), "\"IC\" does not have nPublic + 1 points"},
      {with([](key& k) { k.alpha1 = affine<typename TypeParam::g1>::infinity(); }),
       "vk_alpha_1 is the point at infinity"},
      {with([](key& k) { k.beta2 = affine<typename TypeParam::g2>::infinity(); }),
       "vk_beta_2 is the point at infinity"},
      {with([](key& k) { k.gamma2 = affine<typename TypeParam::g2>::infinity(); }),
       "vk_gamma_2 is the point at infinity"},
      {with([](key& k) { k.delta2 = affine<typename TypeParam::g2>::infinity(); }),
       "vk_delta_2 is the point at infinity"},
      {with([&](key& k) { k.beta2 = stray; }), "vk_beta_2 is not in the subgroup"},
      {with([&](key& k) { k.gamma2 = stray; }), "vk_gamma_2 is not in the subgroup"},
      {with([&](key& k) { k.delta2 = stray; }), "vk_delta_2 is not in the subgroup"},
  };
  for (const auto& [changed, expected] : cases) {
    EXPECT_NE(message(changed).find(expected), std::string::npos) << expected << " expected, got: " << message(changed);
  }
  if constexpr (TypeParam::id == curve_id::bls12_381) {
    const auto outside = prover::testing::any_point<typename TypeParam::g1>(1);
    EXPECT_NE(message(with([&](key& k) { k.ic[0] = outside; })).find("IC[0] is not in the subgroup"),
              std::string::npos);
  }
}

TEST(vkey_json_of_any_curve, refuses_what_is_wrong_and_says_what) {
  const auto message = [](const std::string& text) {
    const auto curve = vkey_curve(text, "v.json");
    if (!curve) return curve.error().message;
    const auto r = parse_vkey<bn254>(text, "v.json");
    return r ? std::string() : r.error().message;
  };
  EXPECT_NE(message("{}").find("\"curve\" is missing"), std::string::npos);
  EXPECT_NE(message(R"({"curve":"bn128"})").find("\"protocol\" is missing"), std::string::npos);
  EXPECT_NE(message(R"({"curve":"bls12381","protocol":"groth16"})").find("it is over BLS12-381"), std::string::npos);
  EXPECT_NE(message(R"({"curve":"bn128","protocol":"groth16","nPublic":1,"IC":[1]})").find("nPublic + 1 points"),
            std::string::npos);
  EXPECT_NE(message(R"({"curve":"bn128","protocol":"groth16","nPublic":-1,"IC":[]})").find("nPublic + 1 points"),
            std::string::npos);
  EXPECT_NE(message(R"({"curve":"bn128","protocol":"groth16","nPublic":0,"IC":[1]})").find("\"vk_alpha_1\" is missing"),
            std::string::npos);
}

TEST(decimal, goes_both_ways) {
  for (const auto& v :
       {small_integer<4>(0), small_integer<4>(9), small_integer<4>(10'000'000'000'000'000'000ULL), bn254_fp::modulus}) {
    EXPECT_EQ(parse_decimal<4>(to_decimal(v)), v);
  }
  EXPECT_EQ(to_decimal(bn254_fr::modulus),
            "21888242871839275222246405745257275088548364400416034343698204186575808495617");
  EXPECT_FALSE(parse_decimal<1>("18446744073709551616"));
  EXPECT_TRUE(parse_decimal<1>("18446744073709551615"));
  EXPECT_FALSE(parse_decimal<1>(""));
  EXPECT_FALSE(parse_decimal<1>("1 "));
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(999), "999");
}

}  // namespace
}  // namespace prover::format
