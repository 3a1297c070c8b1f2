// A synthetic circuit is generated twice: once into its constraints, once into its witness. Both walks take the same
// steps, because every step follows from the seed and the steps before.
#include "prover/circuits/synthetic.hpp"

#include <array>

#include "prover/format/curve_of.hpp"
#include "prover/format/section_writer.hpp"
#include "prover/format/text.hpp"

namespace prover::circuits {
namespace {

using format::section_writer;

// splitmix64 (Vigna, public domain): small, and the same everywhere, unlike the standard library's distributions.
class generator {
 public:
  explicit generator(u64 seed) noexcept : state_(seed) {}
  u64 word() noexcept {
    u64 z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  template <class Fr>
  Fr element() noexcept {
    integer<4> r{word(), word(), word(), word()};
    r[3] >>= 257 - Fr::modulus_bits;  // below half of the modulus, which is full-size enough
    return Fr::from_integer(r);
  }

 private:
  u64 state_;
};

// A wire and, where the witness is being made, its value.
template <class Fr>
struct wire {
  std::uint32_t number;
  Fr value;
};

template <class Fr>
struct term {
  std::uint32_t wire;
  Fr coefficient;
};

// The constraints' walk: what is made is written, or only its bytes are counted where there is no writer.
template <class Fr>
class constraint_sink {
 public:
  explicit constraint_sink(section_writer* out) noexcept : out_(out) {}
  using combination = std::initializer_list<term<Fr>>;

  void value(const Fr&) noexcept {}
  void constraint(combination a, combination b, combination c) {
    for (const auto& terms : {a, b, c}) {
      bytes_ += 4 + 36 * terms.size();
      if (out_ == nullptr) continue;
      out_->u32(static_cast<std::uint32_t>(terms.size()));
      for (const auto& t : terms) {
        out_->u32(t.wire);
        out_->value(t.coefficient.to_integer());
      }
    }
  }
  u64 bytes() const noexcept { return bytes_; }

 private:
  section_writer* out_;
  u64 bytes_ = 0;
};

// The witness' walk.
template <class Fr>
class value_sink {
 public:
  explicit value_sink(section_writer& out) noexcept : out_(out) {}
  using combination = std::initializer_list<term<Fr>>;

  void value(const Fr& v) { out_.value(v.to_integer()); }
  void constraint(combination, combination, combination) noexcept {}

 private:
  section_writer& out_;
};

template <class Fr, class Sink>
class circuit {
 public:
  circuit(const synthetic_request& wanted, Sink& sink) : wanted_(wanted), random_(wanted.seed), sink_(sink) {}

  void walk() {
    const Fr one = Fr::one();
    sink_.value(one);
    // The first value is public; a first bit follows where bits are wanted, and is not constrained to be one.
    const bool has_chain = wanted_.kind != synthetic_kind::bits;
    if (has_chain) {
      for (Fr& k : constants_) k = random_.template element<Fr>();
      state_ = make(random_.template element<Fr>());
    }
    if (wanted_.kind != synthetic_kind::chain) recent_.fill(make(one));
    for (std::uint32_t i = 0; i < wanted_.constraints; ++i) {
      if (wanted_.kind == synthetic_kind::bits || (wanted_.kind == synthetic_kind::mixed && i % 4 == 3)) {
        gate();
      } else {
        link();
      }
    }
  }

 private:
  static constexpr std::uint32_t one_wire = 0;

  wire<Fr> make(const Fr& value) {
    sink_.value(value);
    return {next_++, value};
  }

  // One of a round's four constraints: square, fourth power, fifth power, and the sum, which is linear.
  void link() {
    const Fr one = Fr::one();
    const Fr& k = constants_[round_ % constants_.size()];
    switch (step_++ % 4) {
      case 0: {
        const Fr sum = state_.value + k;
        square_ = make(sum.squared());
        sink_.constraint({{state_.number, one}, {one_wire, k}}, {{state_.number, one}, {one_wire, k}},
                         {{square_.number, one}});
        return;
      }
      case 1:
        fourth_ = make(square_.value.squared());
        sink_.constraint({{square_.number, one}}, {{square_.number, one}}, {{fourth_.number, one}});
        return;
      case 2:
        fifth_ = make(fourth_.value * (state_.value + k));
        sink_.constraint({{fourth_.number, one}}, {{state_.number, one}, {one_wire, k}}, {{fifth_.number, one}});
        return;
      default: {
        const auto next = make(fifth_.value + k * state_.value);
        sink_.constraint({}, {}, {{fifth_.number, one}, {state_.number, k}, {next.number, -one}});
        state_ = next;
        ++round_;
      }
    }
  }

  // XOR: 2a * b = a + b - out. NAND: a * b = 1 - out. In equal parts they keep ones and zeros about equal.
  void gate() {
    const Fr one = Fr::one();
    const u64 choice = random_.word();
    const auto a = recent_[choice % recent_.size()];
    const auto b = recent_[(choice >> 16) % recent_.size()];
    wire<Fr>& oldest = recent_[gates_++ % recent_.size()];
    const Fr product = a.value * b.value;
    if ((choice >> 32) % 2 == 0) {
      const auto out = make(a.value + b.value - product.doubled());
      sink_.constraint({{a.number, one.doubled()}}, {{b.number, one}},
                       {{a.number, one}, {b.number, one}, {out.number, -one}});
      oldest = out;
    } else {
      const auto out = make(one - product);
      sink_.constraint({{a.number, one}}, {{b.number, one}}, {{one_wire, one}, {out.number, -one}});
      oldest = out;
    }
  }

  const synthetic_request& wanted_;
  generator random_;
  Sink& sink_;
  std::uint32_t next_ = 1;

  std::array<Fr, 64> constants_{};  // few, as in real circuits
  std::size_t round_ = 0;
  std::size_t step_ = 0;
  wire<Fr> state_{}, square_{}, fourth_{}, fifth_{};

  std::array<wire<Fr>, 256> recent_{};  // the bits that gates take
  std::size_t gates_ = 0;
};

template <class Fr>
telltale::result<void> write(const synthetic_request& wanted, format::byte_sink r1cs, format::byte_sink wtns) {
  // The one, the first value or bit, with mixed the first bit as well, and what every constraint makes.
  const std::uint32_t wires = wanted.constraints + (wanted.kind == synthetic_kind::mixed ? 3 : 2);
  {
    constraint_sink<Fr> counted(nullptr);
    circuit<Fr, constraint_sink<Fr>>(wanted, counted).walk();
    section_writer out(std::move(r1cs), "r1cs", 1, 3);
    out.begin(1, 64);
    out.u32(32);
    out.value(Fr::modulus);
    out.u32(wires);
    out.u32(0);  // public outputs
    out.u32(1);  // public inputs
    out.u32(0);  // private inputs
    out.u64_(wires);
    out.u32(wanted.constraints);
    out.begin(2, counted.bytes());
    constraint_sink<Fr> written(&out);
    circuit<Fr, constraint_sink<Fr>>(wanted, written).walk();
    out.begin(3, u64{wires} * 8);
    for (u64 i = 0; i < wires; ++i) out.u64_(i);
    if (auto done = out.commit(); !done) return done;
  }
  section_writer out(std::move(wtns), "wtns", 2, 2);
  out.begin(1, 40);
  out.u32(32);
  out.value(Fr::modulus);
  out.u32(wires);
  out.begin(2, u64{wires} * 32);
  value_sink<Fr> values(out);
  circuit<Fr, value_sink<Fr>>(wanted, values).walk();
  return out.commit();
}

}  // namespace

telltale::result<void> write_synthetic(const synthetic_request& wanted, format::byte_sink r1cs,
                                       format::byte_sink wtns) {
  constexpr std::uint32_t most = (std::uint32_t{1} << 31) - 16;
  if (wanted.constraints == 0 || wanted.constraints > most) {
    return telltale::error{"cannot make a circuit of " + format::grouped(wanted.constraints) +
                           " constraints. Choose a number from 1 to " + format::grouped(most) + "."};
  }
  return format::with_curve(wanted.curve, [&](auto curve) {
    return write<typename decltype(curve)::fr>(wanted, std::move(r1cs), std::move(wtns));
  });
}

}  // namespace prover::circuits
