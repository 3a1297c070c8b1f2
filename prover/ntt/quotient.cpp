// The quotient's scalars by either code path; each phase is a span.
#include "prover/ntt/quotient.hpp"

#include <array>
#include <map>
#include <mutex>
#include <string_view>
#include <telltale/core/telltale.hpp>

#include "prover/curve/bls12_381.hpp"
#include "prover/curve/bn254.hpp"
#include "prover/parallel/vector_executor.hpp"

TELLTALE_MODULE("prover::ntt");

namespace prover::ntt {

using namespace telltale::literals;

// The polynomials, as the trace names them.
enum class operand : std::uint8_t { a, b, c };
constexpr std::string_view telltale_name(operand o) noexcept {
  constexpr std::array<std::string_view, 3> names{"a", "b", "c"};
  return names[static_cast<std::size_t>(o)];
}

namespace {

template <class Curve>
using polynomial = secret_vector<typename Curve::fr>;

// Values on the n-th roots of unity become values on the odd 2n-th roots.
template <class Curve>
void move_to_odd_roots(const domain<Curve>& d, operand name, polynomial<Curve>& p, thread_pool& pool) {
  {
    TELLTALE_SPAN("intt", "polynomial"_a = name, "size"_a = p.size());
    d.interpolate(p, pool);
  }
  {
    TELLTALE_SPAN("coset_shift", "polynomial"_a = name, "size"_a = p.size());
    d.shift(p, pool);
  }
  TELLTALE_SPAN("ntt", "polynomial"_a = name, "size"_a = p.size());
  d.evaluate(p, pool);
}

template <class Curve>
secret_vector<integer<4>> scalars_by(const domain<Curve>& d, polynomial<Curve> a, polynomial<Curve> b,
                                     thread_pool& pool) {
  constexpr std::size_t grain = 4096;
  const std::size_t n = d.size();
  polynomial<Curve> c(n);
  pool.for_ranges(n, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) c[i] = a[i] * b[i];
  });
  move_to_odd_roots<Curve>(d, operand::a, a, pool);
  move_to_odd_roots<Curve>(d, operand::b, b, pool);
  move_to_odd_roots<Curve>(d, operand::c, c, pool);
  TELLTALE_SPAN("quotient", "size"_a = n);
  secret_vector<integer<4>> h(n);
  pool.for_ranges(n, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) h[i] = (a[i] * b[i] - c[i]).to_integer();
  });
  // The operands are wiped here, inside the span: it is part of the phase's work.
  a = {};
  b = {};
  c = {};
  return h;
}

// One phase: the vector kernels go over memory three times for all six transforms, the shift and the products.
template <class Curve>
secret_vector<integer<4>> scalars_by(const vector::ntt_plan& plan, polynomial<Curve> a, polynomial<Curve> b,
                                     thread_pool& pool) {
  TELLTALE_SPAN("quotient", "size"_a = plan.size());
  secret_vector<integer<4>> h(plan.size());
  polynomial<Curve> c(plan.size());
  const auto words = [](auto& v) { return std::span<u64>(reinterpret_cast<u64*>(v.data()), 4 * v.size()); };
  plan.quotient(words(a), words(b), words(c), words(h), executor_of(pool));
  a = {};
  b = {};
  c = {};
  return h;
}

template <class Curve>
constexpr vector::scalar_field field_of =
    Curve::id == curve_id::bn254 ? vector::scalar_field::bn254 : vector::scalar_field::bls12_381;

// The plan of this size, from those that are in use somewhere in the process, or a new one.
template <class Curve>
std::shared_ptr<const vector::ntt_plan> shared_plan_of(unsigned log_size, thread_pool& pool) {
  static std::mutex mutex;
  static std::map<unsigned, std::weak_ptr<const vector::ntt_plan>> in_use;
  {
    const std::lock_guard lock(mutex);
    if (auto found = in_use[log_size].lock()) return found;
  }
  // Not under the lock: the pool may come back here.
  auto made =
      std::make_shared<const vector::ntt_plan>(field_of<Curve>, log_size, executor_of(pool), vector::backend::ifma);
  const std::lock_guard lock(mutex);
  auto& slot = in_use[log_size];
  if (auto found = slot.lock()) return found;
  slot = made;
  return made;
}

}  // namespace

template <class Curve>
auto quotient<Curve>::tables(unsigned log_size, code_path path, thread_pool& pool)
    -> std::variant<shared_domain, shared_plan> {
  if (path == code_path::portable) return domain<Curve>::shared(log_size, pool);
  return shared_plan_of<Curve>(log_size, pool);
}

template <class Curve>
quotient<Curve>::quotient(unsigned log_size, code_path path, thread_pool& pool)
    : tables_(tables(log_size, path, pool)) {}

template <class Curve>
std::size_t quotient<Curve>::size() const noexcept {
  return std::visit([](const auto& t) { return t->size(); }, tables_);
}

template <class Curve>
secret_vector<integer<4>> quotient<Curve>::scalars(secret_vector<fr> a, secret_vector<fr> b, thread_pool& pool) const {
  return std::visit([&](const auto& t) { return scalars_by<Curve>(*t, std::move(a), std::move(b), pool); }, tables_);
}

template class quotient<bn254>;
template class quotient<bls12_381>;

}  // namespace prover::ntt
