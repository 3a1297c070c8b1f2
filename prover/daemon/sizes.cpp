#include "prover/daemon/sizes.hpp"

#include <algorithm>

namespace prover::daemon {
namespace {

// So many measurements are enough: their greatest holds. Later ones only cost time.
constexpr unsigned enough = 3;

// What a peak that was seen lets expect: an eighth more, for what differs between runs.
std::size_t with_margin(std::size_t peak) {
  return peak + peak / 8 + (std::size_t{1} << 20);
}

// The first measurement replaces the estimate; later ones only raise it.
void take(std::size_t& size, std::size_t peak, unsigned& count) {
  size = count == 0 ? with_margin(peak) : std::max(size, with_margin(peak));
  ++count;
}

}  // namespace

void size_book::estimated(const std::string& kind, const size_estimate& e) {
  of_.try_emplace(kind, entry{e, {}, 0, 0});
}

void size_book::measured_load(const std::string& kind, const loaded_key& key, std::optional<std::size_t> peak) {
  entry& e = of_.at(kind);
  if (key.hot()) {
    e.hot = key.size();
  } else {
    e.now.key = key.size();
  }
  if (peak) take(e.now.loading, *peak - std::min(*peak, key.size()), e.loads);
}

void size_book::measured_proof(const std::string& kind, std::size_t peak) {
  entry& e = of_.at(kind);
  take(e.now.working, peak, e.proofs);
}

bool size_book::wants_load(const std::string& kind) const {
  return of_.at(kind).loads < enough;
}
bool size_book::wants_proof(const std::string& kind) const {
  return of_.at(kind).proofs < enough;
}

std::size_t size_book::to_load(const kind& k, std::size_t table_bytes) const {
  return resident(k, table_bytes) + of_.at(k.name).now.loading;
}
std::size_t size_book::resident(const kind& k, std::size_t table_bytes) const {
  const entry& e = of_.at(k.name);
  return table_bytes != 0 && e.hot ? *e.hot : e.now.key + table_bytes;
}
std::size_t size_book::of_piece(const kind& k, std::size_t payload) const {
  const size_estimate& e = of_.at(k.name).now;
  return payload + k.witness_source_memory + e.witness + e.working;
}

status::sizes size_book::view(const std::string& kind) const {
  const auto found = of_.find(kind);
  if (found == of_.end()) return {};
  const auto& e = found->second;
  return {e.now.key, e.now.loading, e.now.witness, e.now.working, e.proofs != 0};
}

}  // namespace prover::daemon
