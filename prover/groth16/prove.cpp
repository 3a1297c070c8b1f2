// The phases of a proof. Each is a span of its own, so that their times sum to the whole.
#include "prover/groth16/prove.hpp"

#include <array>
#include <telltale/core/telltale.hpp>

TELLTALE_MODULE("prover::groth16");

namespace prover::groth16 {

using namespace telltale::literals;

// The polynomials of the quotient, as the trace names them.
enum class operand : std::uint8_t { a, b, c };
constexpr std::string_view telltale_name(operand o) noexcept {
  constexpr std::array<std::string_view, 3> names{"a", "b", "c"};
  return names[static_cast<std::size_t>(o)];
}

namespace {

using scalars = std::span<const integer<4>>;

template <class Curve>
using polynomial = secret_vector<typename Curve::fr>;

// row_i = sum of value * witness[signal] over row i. The values carry R^2, the witness is plain: products come out in
// Montgomery form.
template <class Curve>
void evaluate_rows(const format::sparse_rows& rows, const std::vector<typename Curve::fr>& values, scalars witness,
                   polynomial<Curve>& into, thread_pool& pool) {
  using fr = typename Curve::fr;
  pool.for_ranges(into.size(), 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      fr sum = fr::zero();
      for (std::uint32_t k = rows.starts[i]; k < rows.starts[i + 1]; ++k) {
        const auto& entry = rows.entries[k];
        const integer<4>& w = witness[entry.signal];
        if (!is_zero(w)) sum += values[entry.value] * fr{w};
      }
      into[i] = sum;
    }
  });
}

template <class Curve>
void multiply_rows(const polynomial<Curve>& a, const polynomial<Curve>& b, polynomial<Curve>& into, thread_pool& pool) {
  pool.for_ranges(into.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) into[i] = a[i] * b[i];
  });
}

// The scalars of the H points, as plain integers.
template <class Curve>
void quotient(const polynomial<Curve>& a, const polynomial<Curve>& b, const polynomial<Curve>& c,
              secret_vector<integer<4>>& into, thread_pool& pool) {
  pool.for_ranges(into.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) into[i] = (a[i] * b[i] - c[i]).to_integer();
  });
}

// Values on the n-th roots of unity become values on the odd 2n-th roots.
template <class Curve>
void move_to_odd_roots(const ntt::domain<Curve>& domain, operand name, polynomial<Curve>& p, thread_pool& pool) {
  {
    TELLTALE_SPAN("intt", "polynomial"_a = name, "size"_a = p.size());
    domain.interpolate(p, pool);
  }
  {
    TELLTALE_SPAN("coset_shift", "polynomial"_a = name, "size"_a = p.size());
    domain.shift(p, pool);
  }
  TELLTALE_SPAN("ntt", "polynomial"_a = name, "size"_a = p.size());
  domain.evaluate(p, pool);
}

template <class Curve>
secret_vector<integer<4>> h_scalars(const key<Curve>& k, scalars witness, thread_pool& pool) {
  const std::size_t n = k.domain->size();
  polynomial<Curve> a;
  polynomial<Curve> b;
  polynomial<Curve> c;
  {
    TELLTALE_SPAN("evaluate_rows", "rows"_a = n, "coefficients"_a = k.a_rows.entries.size() + k.b_rows.entries.size());
    a.resize(n);
    b.resize(n);
    c.resize(n);
    evaluate_rows<Curve>(k.a_rows, k.values, witness, a, pool);
    evaluate_rows<Curve>(k.b_rows, k.values, witness, b, pool);
    multiply_rows<Curve>(a, b, c, pool);
  }
  move_to_odd_roots<Curve>(*k.domain, operand::a, a, pool);
  move_to_odd_roots<Curve>(*k.domain, operand::b, b, pool);
  move_to_odd_roots<Curve>(*k.domain, operand::c, c, pool);
  TELLTALE_SPAN("quotient", "size"_a = n);
  secret_vector<integer<4>> h(n);
  quotient<Curve>(a, b, c, h, pool);
  // The operands are wiped here, inside the span: it is part of the phase's work.
  a = {};
  b = {};
  c = {};
  return h;
}

// The five sums of a proof.
template <class Curve>
struct sums {
  xyzz<typename Curve::g1> a;
  xyzz<typename Curve::g1> b1;
  xyzz<typename Curve::g2> b2;
  xyzz<typename Curve::g1> c;
  xyzz<typename Curve::g1> h;
};

template <class Curve>
proof_points<Curve> assemble(const key<Curve>& k, const sums<Curve>& s, const blinding& blind) {
  using fr = typename Curve::fr;
  const auto rs = (fr::from_integer(blind.r) * fr::from_integer(blind.s)).to_integer();
  auto a = s.a + multiply(k.delta1, blind.r);
  a += k.alpha1;
  auto b1 = s.b1 + multiply(k.delta1, blind.s);
  b1 += k.beta1;
  auto b2 = s.b2 + multiply(k.delta2, blind.s);
  b2 += k.beta2;
  const auto c = s.c + s.h + multiply(a, blind.s) + multiply(b1, blind.r) + -multiply(k.delta1, rs);
  return {a.to_affine(), b2.to_affine(), c.to_affine()};
}

}  // namespace

template <class Curve>
telltale::result<proof_points<Curve>> prove(const key<Curve>& k, const format::wtns& witness, thread_pool& pool,
                                            const std::optional<blinding>& fixed) {
  using fr = typename Curve::fr;
  if (witness.header.curve != Curve::id) {
    return telltale::error{std::string("cannot prove: the witness is over ") + name_of(witness.header.curve) +
                           " and the key over " + name_of(Curve::id) +
                           ". Use a key and a witness of the same circuit."};
  }
  if (witness.values.size() != k.header.variables) {
    return telltale::error{"cannot prove: the witness has " + format::grouped(witness.values.size()) +
                           " values and the key is for " + format::grouped(k.header.variables) +
                           ". Use a key and a witness of the same circuit."};
  }
  const scalars w(witness.values);
  // A span says how many points were summed; how many scalars were zero, one or small is the witness's and stays here.
  sums<Curve> s;
  {
    auto h = h_scalars(k, w, pool);
    TELLTALE_SPAN("msm_h", "points"_a = k.h.points().size());
    s.h = msm::multiply_sum(k.h, scalars(h), pool).sum;
    h = {};
  }
  {
    TELLTALE_SPAN("msm_a", "points"_a = k.a.points().size());
    s.a = msm::multiply_sum(k.a, w, pool).sum;
  }
  {
    TELLTALE_SPAN("msm_b1", "points"_a = k.b1.points().size());
    s.b1 = msm::multiply_sum(k.b1, w, pool).sum;
  }
  {
    TELLTALE_SPAN("msm_b2", "points"_a = k.b2.points().size());
    s.b2 = msm::multiply_sum(k.b2, w, pool).sum;
  }
  {
    TELLTALE_SPAN("msm_c", "points"_a = k.c.points().size());
    s.c = msm::multiply_sum(k.c, w.subspan(std::size_t{k.header.publics} + 1), pool).sum;
  }

  proof_points<Curve> proof;
  {
    TELLTALE_SPAN("assemble", "publics"_a = k.header.publics);
    const secret<blinding> blind(fixed ? *fixed : blinding{random_below(fr::modulus), random_below(fr::modulus)});
    proof = assemble(k, s, *blind);
  }
  TELLTALE_SPAN_AS(verify, info, "verify", "publics"_a = k.header.publics);
  if (!k.check->accepts(proof, w.subspan(1, k.header.publics), pool)) {
    verify.fail("unsatisfied_witness");
    return telltale::error{
        "cannot prove: the witness does not satisfy the circuit, so that its proof would be invalid. Compute the "
        "witness "
        "again from its inputs, with the generator that belongs to this key."};
  }
  return proof;
}

template telltale::result<proof_points<bn254>> prove(const key<bn254>&, const format::wtns&, thread_pool&,
                                                     const std::optional<blinding>&);
template telltale::result<proof_points<bls12_381>> prove(const key<bls12_381>&, const format::wtns&, thread_pool&,
                                                         const std::optional<blinding>&);

}  // namespace prover::groth16
