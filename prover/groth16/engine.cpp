// The public classes: they find out which curve is meant and call its code.
#include "telltale/prover/engine.hpp"

#include <telltale/core/telltale.hpp>

#include "prover/circuits/violation.hpp"
#include "prover/format/byte_sink.hpp"
#include "prover/format/json.hpp"
#include "prover/format/sym.hpp"
#include "prover/groth16/key_cache.hpp"
#include "prover/groth16/prove.hpp"
#include "prover/groth16/states.hpp"
#include "prover/heap.hpp"

TELLTALE_MODULE("prover");

namespace prover {

using namespace telltale::literals;

namespace {

constexpr u64 max_json_bytes = u64{256} << 20;

}  // namespace

// ---- verification_key

telltale::result<verification_key> verification_key::load(const std::string& path) {
  const auto text = format::read_text(path, "verification key", max_json_bytes);
  if (!text) return text.error();
  return from_json(*text, path);
}

telltale::result<verification_key> verification_key::from_json(const std::string& text, const std::string& name) {
  const auto curve = format::vkey_curve(text, name);
  if (!curve) return curve.error();
  return format::with_curve(*curve, [&](auto c) -> telltale::result<verification_key> {
    using curve_type = decltype(c);
    auto points = format::parse_vkey<curve_type>(text, name);
    if (!points) return points.error();
    return verification_key(std::make_shared<const state>(
        state{std::make_shared<const groth16::verifier<curve_type>>(std::move(*points))}));
  });
}

curve_id verification_key::curve() const noexcept {
  return curve_at(state_->verifier);
}
std::size_t verification_key::publics() const noexcept {
  return std::visit([](const auto& v) { return v->points.ic.size() - 1; }, state_->verifier);
}

// ---- proving_key

curve_id proving_key::curve() const noexcept {
  return curve_at(state_->key);
}
std::size_t proving_key::variables() const noexcept {
  return std::visit([](const auto& k) -> std::size_t { return k.header.variables; }, state_->key);
}
std::size_t proving_key::publics() const noexcept {
  return std::visit([](const auto& k) -> std::size_t { return k.header.publics; }, state_->key);
}
std::size_t proving_key::domain_size() const noexcept {
  return std::visit([](const auto& k) -> std::size_t { return k.header.domain_size; }, state_->key);
}
bool proving_key::is_test_key() const noexcept {
  return std::visit([](const auto& k) { return k.header.is_test_key; }, state_->key);
}
std::size_t proving_key::bytes() const noexcept {
  return std::visit([](const auto& k) { return k.bytes(); }, state_->key);
}
verification_key proving_key::verification() const {
  return std::visit(
      [](const auto& k) {
        return verification_key(std::make_shared<const verification_key::state>(verification_key::state{k.check}));
      },
      state_->key);
}

// ---- witness

telltale::result<witness> witness::load(const std::string& path) {
  TELLTALE_SPAN_AS(span, info, "load_witness", "format"_a = "wtns");
  const auto source = format::byte_source::open(path, "witness");
  if (!source) return source.error();
  auto values = format::read_wtns(*source);
  if (!values) {
    span.fail("bad_witness");
    return values.error();
  }
  span.set("bytes"_a = source->size(), "values"_a = values->values.size());
  return witness(std::make_shared<const state>(state{std::move(*values)}));
}

telltale::result<witness> witness::from_bytes(std::vector<std::byte> bytes, const std::string& name) {
  auto values = format::read_wtns(format::byte_source::from_memory(std::move(bytes), name, "witness"));
  if (!values) return values.error();
  return witness(std::make_shared<const state>(state{std::move(*values)}));
}

curve_id witness::curve() const noexcept {
  return state_->values.header.curve;
}
std::size_t witness::size() const noexcept {
  return state_->values.values.size();
}

// ---- circuit

telltale::result<circuit> circuit::load(const std::string& path, const std::string& names) {
  const auto source = format::byte_source::open(path, "constraint system");
  if (!source) return source.error();
  std::optional<format::byte_source> names_source;
  if (!names.empty()) {
    auto opened = format::byte_source::open(names, "signal names");
    if (!opened) return opened.error();
    names_source = std::move(*opened);
  }
  auto system = format::read_r1cs(*source);
  if (!system) return system.error();
  return circuit(std::make_shared<const state>(state{std::move(*system), std::move(names_source)}));
}

telltale::result<circuit> circuit::from_bytes(std::vector<std::byte> bytes, const std::string& name) {
  auto system = format::read_r1cs(format::byte_source::from_memory(std::move(bytes), name, "constraint system"));
  if (!system) return system.error();
  return circuit(std::make_shared<const state>(state{std::move(*system), {}}));
}

curve_id circuit::curve() const noexcept {
  return state_->system.header.curve;
}
std::size_t circuit::wires() const noexcept {
  return state_->system.header.wires;
}
std::size_t circuit::constraints() const noexcept {
  return state_->system.header.constraints;
}

// ---- proof and public signals

telltale::result<proof> proof::load(const std::string& path, curve_id curve) {
  const auto text = format::read_text(path, "proof", max_json_bytes);
  if (!text) return text.error();
  return from_json(*text, path, curve);
}

telltale::result<proof> proof::from_json(const std::string& text, const std::string& name, curve_id curve) {
  return format::with_curve(curve, [&](auto c) -> telltale::result<proof> {
    auto points = format::parse_proof<decltype(c)>(text, name);
    if (!points) return points.error();
    return proof(std::make_shared<const state>(state{*points}));
  });
}

std::string proof::to_json() const {
  return std::visit([](const auto& p) { return format::write_proof(p); }, state_->points);
}
telltale::result<void> proof::save(const std::string& path) const {
  return format::write_text(path, to_json(), "proof");
}
curve_id proof::curve() const noexcept {
  return curve_at(state_->points);
}

telltale::result<public_signals> public_signals::load(const std::string& path, curve_id curve) {
  const auto text = format::read_text(path, "public signals", max_json_bytes);
  if (!text) return text.error();
  return from_json(*text, path, curve);
}

telltale::result<public_signals> public_signals::from_json(const std::string& text, const std::string& name,
                                                           curve_id curve) {
  auto values = format::parse_public(text, name, curve);
  if (!values) return values.error();
  return public_signals{std::move(*values)};
}

std::string public_signals::to_json() const {
  return format::write_public(values);
}
telltale::result<void> public_signals::save(const std::string& path) const {
  return format::write_text(path, to_json(), "public signals");
}

telltale::error violated(const circuit& c, const violation& v) {
  return {"the witness does not satisfy the circuit: constraint " + format::grouped(v.constraint) + " of " +
          format::grouped(c.constraints()) + ", counted from 0, is violated: " + v.equation +
          ". Compute the witness again from its inputs, with the generator that belongs to this circuit."};
}

// ---- engine

struct engine::state {
  explicit state(unsigned threads) : pool(threads) {}
  thread_pool pool;
  code_path path = choose_code_path();
};

engine::engine(unsigned threads) : state_(std::make_unique<state>(threads)) {}
engine::~engine() = default;

unsigned engine::threads() const noexcept {
  return state_->pool.threads();
}

namespace {

template <class Curve>
telltale::result<groth16::key_content<Curve>> read_content(const format::byte_source& source, key_checks checks,
                                                           code_path path, thread_pool& pool) {
  auto z = format::read_zkey<Curve>(source, checks, path, pool);
  if (!z) return z.error();
  return groth16::prepare(std::move(*z), path, pool);
}

void warn(const telltale::error& why) {
  TELLTALE_WARN("{problem}", "problem"_a = telltale::text{why.message});
}

// The same through the cache. Whatever is wrong with the cache, the key itself decides.
template <class Curve>
telltale::result<groth16::key_content<Curve>> read_content_cached(const format::byte_source& source, key_checks checks,
                                                                  const std::string& folder, code_path path,
                                                                  thread_pool& pool) {
  const auto before = source.status();
  if (!before) return before.error();
  const auto digest = [&] {
    TELLTALE_SPAN("digest_key", "bytes"_a = source.size());
    return format::digest_of(source, pool);
  }();
  if (!digest) return digest.error();
  {
    TELLTALE_SPAN_AS(span, info, "read_key_cache");
    auto cached = groth16::read_cache<Curve>(folder, *digest, path, pool);
    if (cached && *cached) return std::move(**cached);
    span.set("usable"_a = static_cast<bool>(cached));
    if (!cached) warn(cached.error());
  }
  auto content = read_content<Curve>(source, checks, path, pool);
  if (!content || checks != key_checks::full) return content;
  TELLTALE_SPAN_AS(span, info, "write_key_cache");
  // What was read must be what the digest is of.
  const auto after = source.status();
  const auto written = after && *after == *before
                           ? groth16::write_cache(folder, *digest, *content, pool)
                           : telltale::result<void>(source.wrong("it changed while it was read", "It is not cached"));
  if (!written) {
    span.fail("not_cached");
    warn(written.error());
  }
  return content;
}

telltale::result<proving_key> read_key(const format::byte_source& source, key_checks checks, const key_storage& storage,
                                       code_path path, thread_pool& pool) {
  const auto header = format::read_zkey_header(source);
  if (!header) return header.error();
  return format::with_curve(header->curve, [&](auto c) -> telltale::result<proving_key> {
    using curve_type = decltype(c);
    auto content = storage.cache_folder.empty()
                       ? read_content<curve_type>(source, checks, path, pool)
                       : read_content_cached<curve_type>(source, checks, storage.cache_folder, path, pool);
    if (!content) return content.error();
    if (storage.table_bytes != 0) {
      TELLTALE_SPAN("build_tables", "memory"_a = storage.table_bytes);
      groth16::add_tables(*content, storage.table_bytes, pool);
    }
    return proving_key(std::make_shared<const proving_key::state>(std::move(*content), pool));
  });
}

}  // namespace

telltale::result<proving_key> engine::load_key(const std::string& path, key_checks checks, const key_storage& storage) {
  TELLTALE_SPAN_AS(span, info, "load_key", "format"_a = "zkey");
  const auto source = format::byte_source::open(path, "key");
  if (!source) {
    span.fail("bad_key");
    return source.error();
  }
  auto key = read_key(*source, checks, storage, state_->path, state_->pool);
  if (!key) {
    span.fail("bad_key");
    return key;
  }
  give_back_heap();  // what the checks worked with, up to a fifth of the key, is room for the first proof
  span.set("bytes"_a = source->size(), "variables"_a = key->variables(), "domain"_a = key->domain_size());
  TELLTALE_INFO("loaded a key of {variables} variables over a domain of {domain}", "variables"_a = key->variables(),
                "domain"_a = key->domain_size(), "curve"_a = telltale::text{name_of(key->curve())});
  if (key->is_test_key()) {
    TELLTALE_WARN("this is a test key: its secrets are public, anyone can forge proofs that it accepts");
  }
  return key;
}

telltale::result<proving_key> engine::parse_key(std::vector<std::byte> bytes, const std::string& name,
                                                key_checks checks) {
  return read_key(format::byte_source::from_memory(std::move(bytes), name, "key"), checks, {}, state_->path,
                  state_->pool);
}

telltale::result<engine::proved> engine::prove(const proving_key& key, const witness& w, stage_listener* stages) {
  const format::wtns& values = w.inner().values;
  return std::visit(
      [&]<class Curve>(const groth16::key<Curve>& k) -> telltale::result<proved> {
        auto points = groth16::prove(k, values, state_->pool, std::nullopt, stages);
        if (!points) return points.error();
        TELLTALE_INFO("proved, and verified the proof", "domain"_a = k.header.domain_size);
        const auto first = values.values.begin() + 1;
        return proved{proof(std::make_shared<const proof::state>(proof::state{*points})),
                      public_signals{{first, first + static_cast<std::ptrdiff_t>(k.header.publics)}}};
      },
      key.inner().key);
}

telltale::result<std::optional<violation>> engine::check(const circuit& c, const witness& w) {
  const auto& system = c.inner().system;
  const auto found = circuits::first_violation(system, w.inner().values, state_->pool);
  if (!found) return found.error();
  if (!*found) return std::optional<violation>();
  std::map<std::uint32_t, std::string> names;
  if (c.inner().names) {
    auto read = format::read_names(*c.inner().names, circuits::wires_of(system, **found));
    if (!read) return read.error();
    names = std::move(*read);
  }
  return std::optional(violation{**found, circuits::equation(system, **found, names)});
}

telltale::result<engine::verdict> engine::verify(const verification_key& key, const proof& p,
                                                 const public_signals& signals) {
  if (key.curve() != p.curve()) {
    return telltale::error{std::string("cannot verify: the proof is over ") + name_of(p.curve()) +
                           " and the key over " + name_of(key.curve()) +
                           ". Use a key and a proof of the same circuit."};
  }
  if (signals.values.size() != key.publics()) {
    return telltale::error{"cannot verify: there are " + format::grouped(signals.values.size()) +
                           " public signals and the key is for " + format::grouped(key.publics()) +
                           ". Use a key and public signals of the same circuit."};
  }
  TELLTALE_SPAN("verify", "publics"_a = key.publics());
  return std::visit(
      [&]<class Curve>(const shared_verifier<Curve>& v) -> telltale::result<verdict> {
        const auto& points = std::get<groth16::proof_points<Curve>>(p.inner().points);
        return v->accepts(points, signals.values, state_->pool) ? verdict::valid : verdict::invalid;
      },
      key.inner().verifier);
}

}  // namespace prover
