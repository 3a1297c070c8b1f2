// Loads and proves with the engine, and says what went wrong in the daemon's terms.
#include "prover/daemon/cpu_device.hpp"

#include <algorithm>
#include <telltale/core/telltale.hpp>

#include "prover/code_path.hpp"
#include "prover/format/byte_source.hpp"
#include "prover/format/zkey.hpp"

TELLTALE_MODULE("prover::daemon");

namespace prover::daemon {

using namespace telltale::literals;

namespace {

class cpu_key final : public loaded_key {
 public:
  cpu_key(proving_key k, std::optional<verification_key> also, bool tables)
      : key(std::move(k)), check(std::move(also)), tables_(tables) {}
  std::size_t size() const override { return key.bytes(); }
  bool hot() const override { return tables_; }

  proving_key key;
  std::optional<verification_key> check;  // beside the key's own

 private:
  bool tables_;
};

// Remembers that it was the listener who stopped the proof.
class remembering_listener final : public stage_listener {
 public:
  explicit remembering_listener(stage_listener& outer) : outer_(outer) {}
  bool begins(const char* stage) override {
    stopped = stopped || !outer_.begins(stage);
    return !stopped;
  }
  bool stopped = false;

 private:
  stage_listener& outer_;
};

// Why a witness that fits its key yields no proof: looked up in the circuit, where the kind has one.
failure unsatisfied(const kind& k, const witness& w, const telltale::error& why, engine& e) {
  if (k.circuit.empty()) return {failure_class::unsatisfied, why.message};
  TELLTALE_SPAN("check", "format"_a = "r1cs");
  const auto c = circuit::load(k.circuit, k.signal_names);
  if (!c) return {failure_class::unsatisfied, why.message + " Which constraint can't be said: " + c.error().message};
  const auto found = e.check(*c, w);
  if (!found)
    return {failure_class::unsatisfied, why.message + " Which constraint can't be said: " + found.error().message};
  if (*found) return {failure_class::unsatisfied, "cannot prove: " + violated(*c, **found).message};
  return {failure_class::key, "cannot prove: the witness satisfies \"" + k.circuit +
                                  "\", and yet its proof is not valid under \"" + k.key +
                                  "\". The key belongs to another circuit; use the one that was made from this .r1cs."};
}

}  // namespace

std::string cpu_device::description() const {
  return std::to_string(engine_.threads()) + " threads, code path " + name_of(choose_code_path());
}

// Generous: admission goes by it only until the first jobs have been measured.
telltale::result<size_estimate> cpu_device::estimate(const kind& k) const {
  const auto source = format::byte_source::open(k.key, "key");
  if (!source) return source.error();
  const auto header = format::read_zkey_header(*source);
  if (!header) return header.error();
  const std::size_t file = source->size();
  const std::size_t domain = header->domain_size;
  const std::size_t scalars = std::max<std::size_t>(domain, header->variables);
  constexpr std::size_t mib = std::size_t{1} << 20;
  size_estimate e;
  // Points in the vector units' layout take a quarter more than in the file; tables of roots are beside them.
  e.key = file + file / 4 + 128 * domain + mib;
  e.loading = file + mib;
  e.witness = 32 * std::size_t{header->variables};
  // Four vectors over the domain, the digits of one sum (see vector/msm.h), buckets of each thread.
  const std::size_t buckets = std::min<std::size_t>(std::size_t{1} << 16, scalars);
  e.working = 4 * 32 * domain + 36 * scalars + engine_.threads() * (12 * scalars + 400 * buckets) + mib;
  return e;
}

std::variant<std::shared_ptr<const loaded_key>, failure> cpu_device::load(const kind& k, std::size_t table_bytes) {
  auto key = engine_.load_key(k.key, k.checks, {options_.cache_folder, table_bytes});
  if (!key) return failure{failure_class::key, key.error().message};
  std::optional<verification_key> check;
  if (!k.verification_key.empty()) {
    auto loaded = verification_key::load(k.verification_key);
    if (!loaded) return failure{failure_class::key, loaded.error().message};
    if (loaded->curve() != key->curve() || loaded->publics() != key->publics()) {
      return failure{failure_class::key, "the verification key \"" + k.verification_key +
                                             "\" does not belong to the key \"" + k.key +
                                             "\": their curves or numbers of public signals differ. Export it again."};
    }
    check = std::move(*loaded);
  }
  return std::make_shared<const cpu_key>(std::move(*key), std::move(check), table_bytes != 0);
}

device::proved cpu_device::prove(const kind& k, const loaded_key& key, const witness& w, stage_listener& stages) {
  const auto& own = static_cast<const cpu_key&>(key);
  remembering_listener listener(stages);
  const auto made = engine_.prove(own.key, w, &listener);
  if (listener.stopped) return stopped{};
  if (!made) {
    const bool fits = w.curve() == own.key.curve() && w.size() == own.key.variables();
    if (!fits) return failure{failure_class::bad_input, made.error().message};
    return unsatisfied(k, w, made.error(), engine_);
  }
  if (own.check) {
    if (!stages.begins("verify")) return stopped{};
    const auto verdict = engine_.verify(*own.check, made->proof, made->signals);
    if (!verdict) return failure{failure_class::key, verdict.error().message};
    if (*verdict != engine::verdict::valid) {
      return failure{failure_class::key, "the proof is not valid under \"" + k.verification_key +
                                             "\". Export the verification key from \"" + k.key + "\" again."};
    }
  }
  return proof_text{made->proof.to_json(), made->signals.to_json()};
}

}  // namespace prover::daemon
