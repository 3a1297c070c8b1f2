// The phases of a proof. Each is a span of its own, so that their times sum to the whole.
#include "prover/groth16/prove.hpp"

#include <telltale/core/telltale.hpp>

TELLTALE_MODULE("prover::groth16");

namespace prover::groth16 {

using namespace telltale::literals;

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

// Empty where it was stopped.
template <class Curve>
secret_vector<integer<4>> h_scalars(const key<Curve>& k, scalars witness, thread_pool& pool, stage_listener* stages) {
  const std::size_t n = k.quotient.size();
  polynomial<Curve> a;
  polynomial<Curve> b;
  if (!go_on(stages, "evaluate_rows")) return {};
  {
    TELLTALE_SPAN("evaluate_rows", "rows"_a = n, "coefficients"_a = k.a_rows.entries.size() + k.b_rows.entries.size());
    a.resize(n);
    b.resize(n);
    evaluate_rows<Curve>(k.a_rows, k.values, witness, a, pool);
    evaluate_rows<Curve>(k.b_rows, k.values, witness, b, pool);
  }
  return k.quotient.scalars(std::move(a), std::move(b), pool, stages);
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

telltale::error stopped() {
  return {"the proof was stopped before it was made. Ask for it again."};
}

}  // namespace

template <class Curve>
telltale::result<proof_points<Curve>> prove(const key<Curve>& k, const format::wtns& witness, thread_pool& pool,
                                            const std::optional<blinding>& fixed, stage_listener* stages) {
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
    auto h = h_scalars(k, w, pool, stages);
    if (h.empty() || !go_on(stages, "msm_h")) return stopped();
    TELLTALE_SPAN("msm_h", "points"_a = k.h.size());
    s.h = k.h.sum(scalars(h), pool);
    h = {};
  }
  if (!go_on(stages, "msm_a")) return stopped();
  {
    TELLTALE_SPAN("msm_a", "points"_a = k.a.size());
    s.a = k.a.sum(w, pool);
  }
  if (!go_on(stages, "msm_b1")) return stopped();
  {
    TELLTALE_SPAN("msm_b1", "points"_a = k.b1.size());
    s.b1 = k.b1.sum(w, pool);
  }
  if (!go_on(stages, "msm_b2")) return stopped();
  {
    TELLTALE_SPAN("msm_b2", "points"_a = k.b2.size());
    s.b2 = k.b2.sum(w, pool);
  }
  if (!go_on(stages, "msm_c")) return stopped();
  {
    TELLTALE_SPAN("msm_c", "points"_a = k.c.size());
    s.c = k.c.sum(w.subspan(std::size_t{k.header.publics} + 1), pool);
  }

  proof_points<Curve> proof;
  if (!go_on(stages, "assemble")) return stopped();
  {
    TELLTALE_SPAN("assemble", "publics"_a = k.header.publics);
    const secret<blinding> blind(fixed ? *fixed : blinding{random_below(fr::modulus), random_below(fr::modulus)});
    proof = assemble(k, s, *blind);
  }
  if (!go_on(stages, "verify")) return stopped();
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
                                                     const std::optional<blinding>&, stage_listener*);
template telltale::result<proof_points<bls12_381>> prove(const key<bls12_381>&, const format::wtns&, thread_pool&,
                                                         const std::optional<blinding>&, stage_listener*);

}  // namespace prover::groth16
