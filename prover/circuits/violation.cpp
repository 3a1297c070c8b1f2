// Evaluating constraints, and writing one down.
#include "prover/circuits/violation.hpp"

#include <algorithm>
#include <atomic>
#include <set>

namespace prover::circuits {
namespace {

using format::grouped;
using format::r1cs;

std::span<const r1cs::term> combination(const r1cs& system, std::size_t constraint, std::size_t which) {
  const std::size_t at = 3 * constraint + which;
  return std::span(system.terms).subspan(system.starts[at], system.starts[at + 1] - system.starts[at]);
}

template <class Fr>
std::optional<std::uint32_t> search(const r1cs& system, const format::wtns& witness, thread_pool& pool) {
  // Coefficients carry R^2, the witness is plain: products come out in Montgomery form.
  std::vector<Fr> values;
  values.reserve(system.values.size());
  for (const auto& value : system.values) values.push_back(Fr::from_integer(Fr::from_integer(value).limbs));
  const auto evaluate = [&](std::size_t constraint, std::size_t which) {
    Fr sum = Fr::zero();
    for (const auto& term : combination(system, constraint, which)) {
      sum += values[term.value] * Fr{witness.values[term.wire]};
    }
    return sum;
  };
  constexpr std::uint32_t none = ~std::uint32_t{0};
  std::atomic<std::uint32_t> first{none};
  pool.for_ranges(system.header.constraints, 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && i < first.load(std::memory_order_relaxed); ++i) {
      if (evaluate(i, 0) * evaluate(i, 1) == evaluate(i, 2)) continue;
      std::uint32_t known = first.load(std::memory_order_relaxed);
      while (i < known && !first.compare_exchange_weak(known, static_cast<std::uint32_t>(i))) continue;
      return;
    }
  });
  if (first == none) return std::nullopt;
  return first.load();
}

// Long sums would bury the message: their first terms, and how many more there are.
constexpr std::size_t most_terms = 12;

std::string sum_text(const r1cs& system, std::span<const r1cs::term> terms,
                     const std::map<std::uint32_t, std::string>& names) {
  const integer<4> modulus = system.header.curve == curve_id::bn254 ? bn254_fr::modulus : bls12_381_fr::modulus;
  std::string text;
  for (const auto& term : terms.first(std::min(terms.size(), most_terms))) {
    integer<4> value = system.values[term.value];
    integer<4> negated = modulus;
    subtract_from(negated, value);
    const bool negative = less(negated, value);
    if (negative) value = negated;
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    const bool is_constant = term.wire == 0;
    const bool is_one = value == small_integer<4>(1);
    if (is_constant || !is_one) text += format::to_decimal(value);
    if (is_constant) continue;
    if (!is_one) text += " ";
    const auto name = names.find(term.wire);
    text += name != names.end() ? name->second : "w[" + std::to_string(term.wire) + "]";
  }
  if (terms.size() > most_terms) text += " + " + grouped(terms.size() - most_terms) + " more terms";
  return text.empty() ? "0" : text;
}

}  // namespace

telltale::result<std::optional<std::uint32_t>> first_violation(const r1cs& system, const format::wtns& witness,
                                                               thread_pool& pool) {
  if (witness.header.curve != system.header.curve) {
    return telltale::error{std::string("cannot check: the witness is over ") + name_of(witness.header.curve) +
                           " and the circuit over " + name_of(system.header.curve) +
                           ". Use a witness of this circuit."};
  }
  if (witness.values.size() != system.header.wires) {
    return telltale::error{"cannot check: the witness has " + grouped(witness.values.size()) +
                           " values and the circuit has " + grouped(system.header.wires) +
                           " wires. Use a witness of this circuit."};
  }
  return format::with_curve(system.header.curve,
                            [&](auto curve) { return search<typename decltype(curve)::fr>(system, witness, pool); });
}

std::vector<std::uint32_t> wires_of(const r1cs& system, std::uint32_t constraint) {
  std::set<std::uint32_t> wires;
  for (std::size_t which = 0; which < 3; ++which) {
    for (const auto& term : combination(system, constraint, which)) wires.insert(term.wire);
  }
  return {wires.begin(), wires.end()};
}

std::string equation(const r1cs& system, std::uint32_t constraint, const std::map<std::uint32_t, std::string>& names) {
  const auto side = [&](std::size_t which) {
    const auto terms = combination(system, constraint, which);
    const auto text = sum_text(system, terms, names);
    return which < 2 && terms.size() > 1 ? "(" + text + ")" : text;
  };
  return side(0) + " * " + side(1) + " = " + side(2);
}

}  // namespace prover::circuits
