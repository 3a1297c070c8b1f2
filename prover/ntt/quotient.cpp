// The quotient's scalars by either code path; each phase is a span.
#include "prover/ntt/quotient.hpp"

#include <map>
#include <mutex>
#include <telltale/core/telltale.hpp>

#include "prover/curve/bls12_381.hpp"
#include "prover/curve/bn254.hpp"
#include "prover/parallel/vector_executor.hpp"

TELLTALE_MODULE("prover::ntt");

namespace prover::ntt {

using namespace telltale::literals;

namespace {

template <class Curve>
using polynomial = secret_vector<typename Curve::fr>;

// The steps by either code path. Interpolating takes the coset's powers and 1 / n into the coefficients.
template <class Curve>
struct portable_steps {
  const domain<Curve>& tables;
  thread_pool& pool;

  static constexpr std::size_t grain = 4096;

  void interpolate(polynomial<Curve>& p) const {
    tables.interpolate(p, pool);
    tables.shift(p, pool);
  }
  void interpolate_products(const polynomial<Curve>& a, const polynomial<Curve>& b, polynomial<Curve>& c) const {
    pool.for_ranges(c.size(), grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) c[i] = a[i] * b[i];
    });
    interpolate(c);
  }
  void evaluate(polynomial<Curve>& p) const { tables.evaluate(p, pool); }
  void quotient(const polynomial<Curve>& a, const polynomial<Curve>& b, const polynomial<Curve>& c,
                secret_vector<integer<4>>& h) const {
    pool.for_ranges(h.size(), grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) h[i] = (a[i] * b[i] - c[i]).to_integer();
    });
  }
};

template <class Curve>
struct vector_steps {
  const vector::ntt_plan& plan;
  vector::executor threads;

  void interpolate(polynomial<Curve>& p) const { plan.interpolate(words(p), threads); }
  void interpolate_products(const polynomial<Curve>& a, const polynomial<Curve>& b, polynomial<Curve>& c) const {
    plan.interpolate_products(words(a), words(b), words(c), threads);
  }
  void evaluate(polynomial<Curve>& p) const { plan.evaluate(words(p), threads); }
  void quotient(const polynomial<Curve>& a, const polynomial<Curve>& b, const polynomial<Curve>& c,
                secret_vector<integer<4>>& h) const {
    plan.quotient(words(a), words(b), words(c), words(h), threads);
  }

 private:
  static std::span<u64> words(auto& v) { return {reinterpret_cast<u64*>(v.data()), 4 * v.size()}; }
  static std::span<const u64> words(const auto& v) { return {reinterpret_cast<const u64*>(v.data()), 4 * v.size()}; }
};

template <class Curve>
portable_steps<Curve> steps_of(const domain<Curve>& tables, thread_pool& pool) {
  return {tables, pool};
}
template <class Curve>
vector_steps<Curve> steps_of(const vector::ntt_plan& plan, thread_pool& pool) {
  return {plan, executor_of(pool)};
}

// Each transform is a span; c's begins with the products, while a and b are still values.
template <class Curve>
secret_vector<integer<4>> scalars_by(const auto& steps, polynomial<Curve> a, polynomial<Curve> b,
                                     stage_listener* stages) {
  const std::size_t n = a.size();
  polynomial<Curve> c;
  if (!go_on(stages, "intt_c")) return {};
  {
    TELLTALE_SPAN("intt_c", "size"_a = n);
    c.resize(n);
    steps.interpolate_products(a, b, c);
  }
  if (!go_on(stages, "intt_a")) return {};
  {
    TELLTALE_SPAN("intt_a", "size"_a = n);
    steps.interpolate(a);
  }
  if (!go_on(stages, "intt_b")) return {};
  {
    TELLTALE_SPAN("intt_b", "size"_a = n);
    steps.interpolate(b);
  }
  if (!go_on(stages, "ntt_a")) return {};
  {
    TELLTALE_SPAN("ntt_a", "size"_a = n);
    steps.evaluate(a);
  }
  if (!go_on(stages, "ntt_b")) return {};
  {
    TELLTALE_SPAN("ntt_b", "size"_a = n);
    steps.evaluate(b);
  }
  if (!go_on(stages, "ntt_c")) return {};
  {
    TELLTALE_SPAN("ntt_c", "size"_a = n);
    steps.evaluate(c);
  }
  if (!go_on(stages, "quotient")) return {};
  TELLTALE_SPAN("quotient", "size"_a = n);
  secret_vector<integer<4>> h(n);
  steps.quotient(a, b, c, h);
  // The operands are wiped here, inside the span: it is part of the phase's work.
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
  if (path != code_path::ifma) return domain<Curve>::shared(log_size, pool);
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
secret_vector<integer<4>> quotient<Curve>::scalars(secret_vector<fr> a, secret_vector<fr> b, thread_pool& pool,
                                                   stage_listener* stages) const {
  return std::visit(
      [&](const auto& t) { return scalars_by<Curve>(steps_of<Curve>(*t, pool), std::move(a), std::move(b), stages); },
      tables_);
}

template class quotient<bn254>;
template class quotient<bls12_381>;

}  // namespace prover::ntt
