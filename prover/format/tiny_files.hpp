// A key, a witness and a constraint system small enough to look at, for tests and as seeds of the fuzzers. The key is
// well formed (every check passes) but belongs to no circuit: it proves nothing.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "prover/curve/bls12_381.hpp"
#include "prover/curve/bn254.hpp"

namespace prover::testing {

using bytes = std::vector<std::byte>;

// Appends numbers and values as they lie in the formats.
class byte_writer {
 public:
  byte_writer& u32(u64 value) { return little_endian(value, 4); }
  byte_writer& u64_(u64 value) { return little_endian(value, 8); }
  template <std::size_t N>
  byte_writer& number(const integer<N>& value) {
    for (const u64 limb : value) little_endian(limb, 8);
    return *this;
  }
  template <class F>
  byte_writer& coordinate(const F& value) {
    if constexpr (requires { value.limbs; }) {
      return number(value.limbs);
    } else {
      return coordinate(value.c0).coordinate(value.c1);
    }
  }
  template <class G>
  byte_writer& point(const affine<G>& p) {
    return coordinate(p.x).coordinate(p.y);
  }
  bytes done() { return std::move(bytes_); }

 private:
  byte_writer& little_endian(u64 value, unsigned n) {
    for (unsigned i = 0; i < n; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
  bytes bytes_;
};

struct file_section {
  std::uint32_t id;
  bytes content;
};

// The container with these sections.
inline bytes container(std::string_view magic, std::uint32_t version, const std::vector<file_section>& sections) {
  bytes all;
  for (const char c : magic) all.push_back(static_cast<std::byte>(c));
  const auto append = [&](const bytes& more) { all.insert(all.end(), more.begin(), more.end()); };
  append(byte_writer().u32(version).u32(sections.size()).done());
  for (const auto& s : sections) {
    append(byte_writer().u32(s.id).u64_(s.content.size()).done());
    append(s.content);
  }
  return all;
}

inline constexpr std::uint32_t tiny_variables = 5;
inline constexpr std::uint32_t tiny_publics = 2;
inline constexpr std::uint32_t tiny_domain = 8;

template <class Curve>
std::vector<file_section> tiny_zkey_sections() {
  using fr = typename Curve::fr;
  const auto g1 = Curve::g1::generator();
  const auto g2 = Curve::g2::generator();
  const auto points = [](const auto& p, std::size_t n) {
    byte_writer w;
    for (std::size_t i = 0; i < n; ++i) w.point(p);
    return w.done();
  };
  byte_writer header;
  header.u32(sizeof(typename Curve::fp)).number(Curve::fp::modulus).u32(32).number(fr::modulus);
  header.u32(tiny_variables).u32(tiny_publics).u32(tiny_domain);
  header.point(g1).point(g1).point(g2).point(g2).point(g1).point(g2);
  byte_writer coefficients;
  coefficients.u32(4);
  for (std::uint32_t i = 0; i < 4; ++i) coefficients.u32(i % 2).u32(i).u32(i + 1).number(fr{fr::r2}.limbs);
  return {{1, byte_writer().u32(1).done()}, {2, header.done()},
          {4, coefficients.done()},         {3, points(g1, tiny_publics + 1)},
          {9, points(g1, tiny_domain)},     {8, points(g1, tiny_variables - tiny_publics - 1)},
          {5, points(g1, tiny_variables)},  {6, points(affine<typename Curve::g1>::infinity(), tiny_variables)},
          {7, points(g2, tiny_variables)}};
}

template <class Curve>
bytes tiny_zkey() {
  return container("zkey", 1, tiny_zkey_sections<Curve>());
}

template <class Curve>
std::vector<file_section> tiny_wtns_sections() {
  byte_writer values;
  for (u64 i = 0; i < tiny_variables; ++i) values.number(small_integer<4>(i + 1));
  return {{1, byte_writer().u32(32).number(Curve::fr::modulus).u32(tiny_variables).done()}, {2, values.done()}};
}

template <class Curve>
bytes tiny_wtns() {
  return container("wtns", 2, tiny_wtns_sections<Curve>());
}

template <class Curve>
std::vector<file_section> tiny_r1cs_sections() {
  byte_writer header;
  header.u32(32).number(Curve::fr::modulus).u32(tiny_variables).u32(1).u32(1).u32(1).u64_(5).u32(2);
  byte_writer constraints;
  for (std::uint32_t i = 0; i < 6; ++i) constraints.u32(1).u32(i % tiny_variables).number(small_integer<4>(i + 1));
  byte_writer labels;
  for (u64 i = 0; i < tiny_variables; ++i) labels.u64_(i);
  return {{2, constraints.done()}, {1, header.done()}, {3, labels.done()}};
}

template <class Curve>
bytes tiny_r1cs() {
  return container("r1cs", 1, tiny_r1cs_sections<Curve>());
}

}  // namespace prover::testing
