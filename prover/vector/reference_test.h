// What the vector kernels are tested against: field and curve arithmetic on GMP's integers, written as in a textbook.
#pragma once
#include <gmp.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "msm.h"

namespace prover::vector::reference {

// An owned GMP integer with the few operations the tests use.
class number {
 public:
  number() { mpz_init(z_); }
  number(unsigned long x) { mpz_init_set_ui(z_, x); }  // NOLINT: literals read as numbers
  explicit number(const std::string& s, int base = 10) { mpz_init_set_str(z_, s.c_str(), base); }
  number(const number& o) { mpz_init_set(z_, o.z_); }
  number& operator=(const number& o) {
    mpz_set(z_, o.z_);
    return *this;
  }
  ~number() { mpz_clear(z_); }
  static number from_words(const std::uint64_t* w, std::size_t n) {
    number r;
    mpz_import(r.z_, n, -1, 8, 0, 0, w);
    return r;
  }
  void to_words(std::uint64_t* w, std::size_t n) const {
    std::memset(w, 0, n * 8);
    mpz_export(w, nullptr, -1, 8, 0, 0, z_);
  }
  friend number operator+(const number& a, const number& b) { return apply(mpz_add, a, b); }
  friend number operator-(const number& a, const number& b) { return apply(mpz_sub, a, b); }
  friend number operator*(const number& a, const number& b) { return apply(mpz_mul, a, b); }
  friend number operator%(const number& a, const number& b) { return apply(mpz_mod, a, b); }
  friend bool operator==(const number& a, const number& b) { return mpz_cmp(a.z_, b.z_) == 0; }
  friend bool operator<(const number& a, const number& b) { return mpz_cmp(a.z_, b.z_) < 0; }
  number shifted(unsigned long bits) const {
    number r;
    mpz_mul_2exp(r.z_, z_, bits);
    return r;
  }
  number inverse(const number& m) const {
    number r;
    mpz_invert(r.z_, z_, m.z_);
    return r;
  }
  number power(const number& e, const number& m) const {
    number r;
    mpz_powm(r.z_, z_, e.z_, m.z_);
    return r;
  }
  number divided(unsigned long d) const {
    number r;
    mpz_fdiv_q_ui(r.z_, z_, d);
    return r;
  }
  bool bit(unsigned long i) const { return mpz_tstbit(z_, i) != 0; }
  std::size_t bits() const { return mpz_sizeinbase(z_, 2); }

 private:
  template <class F>
  static number apply(F f, const number& a, const number& b) {
    number r;
    f(r.z_, a.z_, b.z_);
    return r;
  }
  mpz_t z_;
};

// A curve group over Fp or Fp[i]; base field elements are pairs with c1 = 0.
struct point {
  number x[2], y[2];
  bool infinite = false;
};

class curve {
 public:
  explicit curve(group g);

  number p, r;
  std::size_t words;       // per base field element outside
  std::size_t components;  // 1 or 2
  point generator;

  point add(const point& a, const point& b) const;
  point negate(const point& a) const;
  point times(const number& k, const point& a) const;
  bool contains(const point& a) const;
  void write(const point& a, std::uint64_t* out) const;
  affine_point outside(const point& a) const {
    affine_point out;
    write(a, out.words.data());
    return out;
  }

 private:
  struct element {
    number c[2];
  };
  element mul(const element& a, const element& b) const {
    return {{(a.c[0] * b.c[0] - a.c[1] * b.c[1]) % p, (a.c[0] * b.c[1] + a.c[1] * b.c[0]) % p}};
  }
  element sub(const element& a, const element& b) const { return {{(a.c[0] - b.c[0]) % p, (a.c[1] - b.c[1]) % p}}; }
  element invert(const element& a) const {
    const number n = (a.c[0] * a.c[0] + a.c[1] * a.c[1]).inverse(p);
    return {{a.c[0] * n % p, (number(0) - a.c[1]) * n % p}};
  }
  static element x_of(const point& a) { return {{a.x[0], a.x[1]}}; }
  static element y_of(const point& a) { return {{a.y[0], a.y[1]}}; }
  static bool equal(const element& a, const element& b) { return a.c[0] == b.c[0] && a.c[1] == b.c[1]; }
  element b_;
};

inline curve::curve(group g) {
  const bool bn = g == group::bn254_g1 || g == group::bn254_g2;
  const bool g2 = g == group::bn254_g2 || g == group::bls12_381_g2;
  words = bn ? 4 : 6;
  components = g2 ? 2 : 1;
  if (bn) {
    p = number("30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47", 16);
    r = number("30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001", 16);
  } else {
    p = number("1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab", 16);
    r = number("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001", 16);
  }
  if (bn && !g2) {
    generator = {{1, 0}, {2, 0}, false};
    b_ = {{3, 0}};
  } else if (bn) {
    generator = {{number("10857046999023057135944570762232829481370756359578518086990519993285655852781"),
                  number("11559732032986387107991004021392285783925812861821192530917403151452391805634")},
                 {number("8495653923123431417604973247489272438418190587263600148770280649306958101930"),
                  number("4082367875863433681332203403145435568316851327593401208105741076214120093531")},
                 false};
    b_ = mul({{3, 0}}, invert({{9, 1}}));
  } else if (!g2) {
    generator = {
        {number("17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb", 16),
         0},
        {number("08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1", 16),
         0},
        false};
    b_ = {{4, 0}};
  } else {
    generator = {
        {number("024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8", 16),
         number("13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e",
                16)},
        {number("0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801", 16),
         number("0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be",
                16)},
        false};
    b_ = {{4, 4}};
  }
}

inline point curve::add(const point& a, const point& b) const {
  if (a.infinite) return b;
  if (b.infinite) return a;
  element top, bottom;
  if (equal(x_of(a), x_of(b))) {
    if (!equal(y_of(a), y_of(b))) return {{}, {}, true};
    const element xx = mul(x_of(a), x_of(a));
    top = {{xx.c[0] * 3, xx.c[1] * 3}};
    bottom = {{a.y[0] * 2, a.y[1] * 2}};
  } else {
    top = sub(y_of(b), y_of(a));
    bottom = sub(x_of(b), x_of(a));
  }
  const element slope = mul(top, invert(bottom));
  const element x = sub(sub(mul(slope, slope), x_of(a)), x_of(b));
  const element y = sub(mul(slope, sub(x_of(a), x)), y_of(a));
  return {{x.c[0], x.c[1]}, {y.c[0], y.c[1]}, false};
}
inline point curve::negate(const point& a) const {
  return {{a.x[0], a.x[1]}, {(number(0) - a.y[0]) % p, (number(0) - a.y[1]) % p}, a.infinite};
}
inline point curve::times(const number& k, const point& a) const {
  point sum{{}, {}, true};
  for (std::size_t i = k.bits(); i-- > 0;) {
    sum = add(sum, sum);
    if (k.bit(i)) sum = add(sum, a);
  }
  return sum;
}
inline bool curve::contains(const point& a) const {
  const element yy = mul(y_of(a), y_of(a)), xxx = mul(mul(x_of(a), x_of(a)), x_of(a));
  return equal(sub(yy, xxx), b_);
}
inline void curve::write(const point& a, std::uint64_t* out) const {
  for (std::size_t c = 0; c < components; ++c) {
    const number zero;
    (a.infinite ? zero : a.x[c].shifted(64 * words) % p).to_words(out + c * words, words);
    (a.infinite ? zero : a.y[c].shifted(64 * words) % p).to_words(out + (components + c) * words, words);
  }
}

// Reproducible words that look random (splitmix64).
class random_words {
 public:
  explicit random_words(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  number below(const number& m) {
    std::uint64_t w[8];
    for (auto& x : w) x = (*this)();
    return number::from_words(w, 8) % m;
  }

 private:
  std::uint64_t state_;
};

}  // namespace prover::vector::reference
