// Computing a test key, section by section.
#include "prover/setup/test_key.hpp"

#include <bit>
#include <limits>
#include <optional>
#include <telltale/core/telltale.hpp>

#include "prover/format/section_writer.hpp"
#include "prover/format/test_key_notice.hpp"
#include "prover/msm/resident_points.hpp"
#include "prover/setup/fixed_base.hpp"
#include "prover/setup/lagrange.hpp"
#include "prover/setup/published_secrets.hpp"

TELLTALE_MODULE("prover::setup");

namespace prover::setup {

using namespace telltale::literals;

namespace {

struct key_size {
  std::uint32_t wires;
  std::uint32_t publics;  // the one not included
  std::uint32_t constraints;
  std::uint32_t coefficients;
  unsigned log_domain;
};

template <class Curve>
telltale::result<key_size> size_for(const format::r1cs& system) {
  const auto refused = [](const std::string& what) {
    return telltale::error{"cannot make a key: the circuit has " + what + "."};
  };
  const auto& h = system.header;
  // The header's reader has seen to it that the public wires are wires.
  const std::uint32_t publics = h.public_outputs + h.public_inputs;
  if (h.constraints == 0) return refused("no constraints, so there is nothing to prove");
  if (h.wires > msm::max_points) {
    return refused(format::grouped(h.wires) + " wires, and at most " + format::grouped(msm::max_points) +
                   " are supported. Divide it");
  }
  const u64 rows = u64{h.constraints} + publics + 1;
  const auto log_domain = static_cast<unsigned>(std::countr_zero(std::bit_ceil(rows)));
  if (log_domain > ntt::domain<Curve>::max_log_size || log_domain > 31) {
    return refused(format::grouped(h.constraints) + " constraints, more than fit a domain over " + name_of(Curve::id) +
                   ". Divide it");
  }
  u64 coefficients = u64{publics} + 1;
  for (std::size_t i = 0; i < h.constraints; ++i) coefficients += system.starts[3 * i + 2] - system.starts[3 * i];
  if (coefficients > std::numeric_limits<std::uint32_t>::max()) {
    return refused(format::grouped(coefficients) + " coefficients, more than a .zkey can count. Divide it");
  }
  return key_size{h.wires, publics, h.constraints, static_cast<std::uint32_t>(coefficients), log_domain};
}

// The circuit's polynomials at tau, by wire.
template <class Fr>
struct polynomials {
  std::vector<Fr> u;
  std::vector<Fr> v;
  std::vector<Fr> w;
};

template <class Curve>
polynomials<typename Curve::fr> evaluate_at(const typename Curve::fr& tau, const format::r1cs& system,
                                            const key_size& size, thread_pool& pool) {
  using fr = typename Curve::fr;
  TELLTALE_SPAN("evaluate_polynomials", "constraints"_a = size.constraints, "terms"_a = system.terms.size());
  const auto lagrange = lagrange_at<Curve>(tau, size.log_domain, roots::all, pool);
  std::vector<fr> values;
  values.reserve(system.values.size());
  for (const auto& value : system.values) values.push_back(fr::from_integer(value));

  polynomials<fr> r;
  pool.for_each(3, [&](std::size_t matrix) {
    auto& sums = matrix == 0 ? r.u : matrix == 1 ? r.v : r.w;
    sums.assign(size.wires, fr::zero());
    for (std::size_t i = 0; i < size.constraints; ++i) {
      const auto end = system.starts[3 * i + matrix + 1];
      for (auto k = system.starts[3 * i + matrix]; k < end; ++k) {
        const auto& term = system.terms[k];
        sums[term.wire] += values[term.value] * lagrange[i];
      }
    }
  });
  for (std::size_t s = 0; s <= size.publics; ++s) r.u[s] += lagrange[size.constraints + s];
  return r;
}

template <class Curve>
void write_coefficients(format::section_writer& out, const format::r1cs& system, const key_size& size) {
  using fr = typename Curve::fr;
  TELLTALE_SPAN("write_coefficients", "coefficients"_a = size.coefficients);
  const auto times_r2 = [](const integer<4>& plain) { return fr::from_integer(fr::from_integer(plain).limbs).limbs; };
  std::vector<integer<4>> values;
  values.reserve(system.values.size());
  for (const auto& value : system.values) values.push_back(times_r2(value));

  out.begin(4, 4 + u64{size.coefficients} * 44);
  out.u32(size.coefficients);
  const auto put = [&](std::uint32_t matrix, std::uint32_t row, std::uint32_t wire, const integer<4>& value) {
    out.u32(matrix);
    out.u32(row);
    out.u32(wire);
    out.value(value);
  };
  for (std::uint32_t i = 0; i < size.constraints; ++i) {
    for (std::uint32_t matrix = 0; matrix < 2; ++matrix) {
      const std::size_t at = std::size_t{3} * i + matrix;
      for (auto k = system.starts[at]; k < system.starts[at + 1]; ++k) {
        put(matrix, i, system.terms[k].wire, values[system.terms[k].value]);
      }
    }
  }
  const auto one = times_r2(small_integer<4>(1));
  for (std::uint32_t s = 0; s <= size.publics; ++s) put(0, size.constraints + s, s, one);
}

template <class G>
using scalars = std::span<const typename G::curve::fr>;

// all[i] G as a section; also given back where `keep` says so.
template <class G>
void write_points(format::section_writer& out, std::uint32_t id, const fixed_base<G>& base, scalars<G> all,
                  thread_pool& pool, std::vector<affine<G>>* keep = nullptr) {
  TELLTALE_SPAN("write_points", "section"_a = id, "points"_a = all.size());
  constexpr std::size_t window = std::size_t{1} << 15;
  out.begin(id, all.size() * sizeof(affine<G>));
  std::vector<integer<4>> plain(std::min(window, all.size()));
  std::vector<affine<G>> points(plain.size());
  for (std::size_t begin = 0; begin < all.size(); begin += window) {
    const std::size_t n = std::min(window, all.size() - begin);
    for (std::size_t i = 0; i < n; ++i) plain[i] = all[begin + i].to_integer();
    const auto some = std::span(points).first(n);
    base.multiply(std::span<const integer<4>>(plain).first(n), some, pool);
    out.values(std::span<const affine<G>>(some));
    if (keep != nullptr) keep->insert(keep->end(), some.begin(), some.end());
  }
}

// One contribution to a ceremony that never was, its name the notice.
template <class Curve>
void write_notice(format::section_writer& out, const affine<typename Curve::g1>& delta1,
                  const affine<typename Curve::g2>& delta2) {
  constexpr std::size_t g1_bytes = sizeof delta1;
  const std::array<std::byte, 64> no_hash{};
  constexpr auto length = static_cast<std::uint32_t>(format::test_key_notice.size());
  out.begin(10, format::test_key_notice_at(g1_bytes) + length);
  out.value(no_hash);
  out.u32(1);
  out.value(delta1);
  out.value(Curve::g1::generator());
  out.value(delta1);
  out.value(delta2);
  out.value(no_hash);
  out.u32(0);           // a contribution, not a beacon
  out.u32(length + 2);  // the parameters: one, the name
  out.value(std::uint8_t{1});
  out.value(static_cast<std::uint8_t>(length));
  out.text(format::test_key_notice);
}

}  // namespace

template <class Curve>
telltale::result<groth16::verification_points<Curve>> write_test_key(format::r1cs system, format::byte_sink sink,
                                                                     thread_pool& pool) {
  using fr = typename Curve::fr;
  using g1 = typename Curve::g1;
  using g2 = typename Curve::g2;
  const auto size = size_for<Curve>(system);
  if (!size) return size.error();

  const published_secrets<fr> secret;
  const auto times = []<class G>(const affine<G>& p, const fr& by) { return multiply(p, by.to_integer()).to_affine(); };
  groth16::verification_points<Curve> vkey;
  vkey.alpha1 = times(g1::generator(), secret.alpha);
  vkey.beta2 = times(g2::generator(), secret.beta);
  vkey.gamma2 = g2::generator();
  vkey.delta2 = times(g2::generator(), secret.delta);
  const auto beta1 = times(g1::generator(), secret.beta);
  const auto delta1 = times(g1::generator(), secret.delta);

  auto at_tau = evaluate_at<Curve>(secret.tau, system, *size, pool);
  format::section_writer out(std::move(sink), "zkey", 1, 10);
  out.begin(1, 4);
  out.u32(1);  // Groth16
  out.begin(2, 4 + sizeof(typename Curve::fp) + 4 + 32 + 12 + 3 * sizeof delta1 + 3 * sizeof vkey.delta2);
  out.u32(sizeof(typename Curve::fp));
  out.value(Curve::fp::modulus);
  out.u32(sizeof(fr));
  out.value(fr::modulus);
  out.u32(size->wires);
  out.u32(size->publics);
  out.u32(std::uint32_t{1} << size->log_domain);
  out.value(vkey.alpha1);
  out.value(beta1);
  out.value(vkey.beta2);
  out.value(vkey.gamma2);
  out.value(delta1);
  out.value(vkey.delta2);
  write_coefficients<Curve>(out, system, *size);
  system = {};

  // w becomes beta u + alpha v + w, for the private wires over delta.
  const fr over_delta = secret.delta.inverse();
  const std::size_t first_private = std::size_t{size->publics} + 1;
  pool.for_ranges(size->wires, 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const fr sum = secret.beta * at_tau.u[i] + secret.alpha * at_tau.v[i] + at_tau.w[i];
      at_tau.w[i] = i < first_private ? sum : sum * over_delta;
    }
  });
  {
    const fixed_base<g1> base(3 * std::size_t{size->wires} + (std::size_t{1} << size->log_domain), pool);
    const auto ic_and_c = scalars<g1>(at_tau.w);
    write_points<g1>(out, 3, base, ic_and_c.first(first_private), pool, &vkey.ic);
    write_points<g1>(out, 8, base, ic_and_c.subspan(first_private), pool);
    at_tau.w = {};
    auto h = lagrange_at<Curve>(secret.tau, size->log_domain, roots::odd, pool);
    for (fr& value : h) value *= over_delta;
    write_points<g1>(out, 9, base, h, pool);
    h = {};
    write_points<g1>(out, 5, base, at_tau.u, pool);
    at_tau.u = {};
    write_points<g1>(out, 6, base, at_tau.v, pool);
  }
  write_points<g2>(out, 7, fixed_base<g2>(size->wires, pool), at_tau.v, pool);
  write_notice<Curve>(out, delta1, vkey.delta2);
  if (auto done = out.commit(); !done) return done.error();
  return vkey;
}

template telltale::result<groth16::verification_points<bn254>> write_test_key(format::r1cs, format::byte_sink,
                                                                              thread_pool&);
template telltale::result<groth16::verification_points<bls12_381>> write_test_key(format::r1cs, format::byte_sink,
                                                                                  thread_pool&);

}  // namespace prover::setup
