// Reading and writing snarkjs' JSON files. The JSON library stays inside this file.
#include "prover/format/json.hpp"

#include <nlohmann/json.hpp>

#include "prover/curve/subgroup.hpp"

namespace prover::format {
namespace {

using json = nlohmann::json;
using telltale::result;

// One document that is being read: knows what to call it in messages.
class document {
 public:
  document(std::string kind, std::string name, std::string advice)
      : kind_(std::move(kind)), name_(std::move(name)), advice_(std::move(advice)) {}

  telltale::error wrong(const std::string& what) const { return cannot_read(kind_, name_, what, advice_); }

  result<json> parse(const std::string& text) const {
    if (text.empty()) return wrong("the file is empty");
    try {
      return json::parse(text);
    } catch (const json::exception& e) {
      const auto* where = dynamic_cast<const json::parse_error*>(&e);
      return wrong(where != nullptr ? "it is not valid JSON at byte " + grouped(where->byte)
                                    : std::string("it is not valid JSON"));
    }
  }

  // The member of this name; an error if the value is no object or lacks it.
  result<const json*> member(const json& value, const char* key) const {
    if (!value.is_object()) return wrong("it is not a JSON object");
    const auto found = value.find(key);
    if (found == value.end()) return wrong(std::string("\"") + key + "\" is missing");
    return &*found;
  }

  result<void> expect_groth16(const json& value) const {
    const auto protocol = member(value, "protocol");
    if (!protocol) return protocol.error();
    if (**protocol != "groth16") return wrong("\"protocol\" is not \"groth16\"");
    return {};
  }

  template <std::size_t N>
  result<integer<N>> number(const json& value, const integer<N>& modulus, const std::string& where) const {
    if (!value.is_string()) return wrong(where + " is not a string of decimal digits");
    const auto parsed = parse_decimal<N>(value.get_ref<const std::string&>());
    if (!parsed) return wrong(where + " is not a string of decimal digits, or is too long");
    if (!less(*parsed, modulus)) return wrong(where + " is not below the field's prime");
    return *parsed;
  }

  template <class F>
  result<F> element(const json& value, const std::string& where) const {
    if constexpr (requires(F f) { f.c1; }) {
      using base = decltype(F::c0);
      if (!value.is_array() || value.size() != 2) return wrong(where + " is not an array of two numbers");
      const auto c0 = element<base>(value[0], where + "[0]");
      if (!c0) return c0.error();
      const auto c1 = element<base>(value[1], where + "[1]");
      if (!c1) return c1.error();
      return F{*c0, *c1};
    } else {
      const auto plain = number(value, F::modulus, where);
      if (!plain) return plain.error();
      return F::from_integer(*plain);
    }
  }

  // [x, y, z] with z one, or [0, 1, 0] for infinity.
  template <class G>
  result<affine<G>> point(const json& value, const std::string& where) const {
    using coordinate = typename G::coordinate;
    if (!value.is_array() || value.size() != 3) return wrong(where + " is not an array of three coordinates");
    const auto x = element<coordinate>(value[0], where + "[0]");
    if (!x) return x.error();
    const auto y = element<coordinate>(value[1], where + "[1]");
    if (!y) return y.error();
    const auto z = element<coordinate>(value[2], where + "[2]");
    if (!z) return z.error();
    if (z->is_zero()) {
      if (!x->is_zero() || !y->is_one()) return wrong(where + " is neither a point nor infinity");
      return affine<G>::infinity();
    }
    const affine<G> p{*x, *y};
    if (!z->is_one()) return wrong(where + "[2] is neither 1 nor 0");
    if (p.is_infinity() || !p.is_on_curve()) return wrong(where + " is not on the curve");
    if (!is_in_subgroup(p)) return wrong(where + " is not in the subgroup of prime order");
    return p;
  }

  template <class G>
  result<affine<G>> member_point(const json& value, const char* key) const {
    const auto found = member(value, key);
    if (!found) return found.error();
    return point<G>(**found, key);
  }

 private:
  std::string kind_;
  std::string name_;
  std::string advice_;
};

document vkey_document(const std::string& name) {
  return {"verification key", name, "Export it again from the proving key"};
}

std::optional<curve_id> curve_named(const json& name) {
  for (const auto id : {curve_id::bn254, curve_id::bls12_381}) {
    if (name == json_name_of(id)) return id;
  }
  // Other spellings in use.
  if (name == "bn254" || name == "altbn128") return curve_id::bn254;
  if (name == "bls12_381" || name == "bls12-381") return curve_id::bls12_381;
  return std::nullopt;
}

result<curve_id> read_curve(const document& doc, const json& value) {
  const auto curve = doc.member(value, "curve");
  if (!curve) return curve.error();
  const auto id = curve_named(**curve);
  if (!id) return doc.wrong("\"curve\" is neither \"bn128\" nor \"bls12381\"");
  return *id;
}

template <class F>
json decimal(const F& element) {
  if constexpr (requires { element.c1; }) {
    return json::array({decimal(element.c0), decimal(element.c1)});
  } else {
    return to_decimal(element.to_integer());
  }
}

template <class G>
json decimal(const affine<G>& p) {
  using coordinate = typename G::coordinate;
  if (p.is_infinity()) {
    return json::array({decimal(coordinate::zero()), decimal(coordinate::one()), decimal(coordinate::zero())});
  }
  return json::array({decimal(p.x), decimal(p.y), decimal(coordinate::one())});
}

}  // namespace

result<curve_id> vkey_curve(const std::string& text, const std::string& name) {
  const document doc = vkey_document(name);
  const auto value = doc.parse(text);
  if (!value) return value.error();
  return read_curve(doc, *value);
}

template <class Curve>
result<groth16::verification_points<Curve>> parse_vkey(const std::string& text, const std::string& name) {
  using g1 = typename Curve::g1;
  using g2 = typename Curve::g2;
  const document doc = vkey_document(name);
  const auto value = doc.parse(text);
  if (!value) return value.error();
  if (auto done = doc.expect_groth16(*value); !done) return done.error();
  const auto curve = read_curve(doc, *value);
  if (!curve) return curve.error();
  if (*curve != Curve::id)
    return doc.wrong(std::string("it is over ") + name_of(*curve) + ", and " + name_of(Curve::id) + " was expected");

  const auto publics = doc.member(*value, "nPublic");
  if (!publics) return publics.error();
  const auto ic = doc.member(*value, "IC");
  if (!ic) return ic.error();
  if (!(*publics)->is_number_unsigned() || !(*ic)->is_array() || (*ic)->empty() ||
      (*publics)->template get<u64>() != (*ic)->size() - 1) {
    return doc.wrong("\"IC\" does not have nPublic + 1 points");
  }

  groth16::verification_points<Curve> r;
  const auto alpha1 = doc.member_point<g1>(*value, "vk_alpha_1");
  if (!alpha1) return alpha1.error();
  r.alpha1 = *alpha1;
  for (const auto& [key, into] :
       {std::pair{"vk_beta_2", &r.beta2}, std::pair{"vk_gamma_2", &r.gamma2}, std::pair{"vk_delta_2", &r.delta2}}) {
    const auto p = doc.member_point<g2>(*value, key);
    if (!p) return p.error();
    if (p->is_infinity()) return doc.wrong(std::string(key) + " is the point at infinity");
    *into = *p;
  }
  if (r.alpha1.is_infinity()) return doc.wrong("vk_alpha_1 is the point at infinity");
  r.ic.reserve((*ic)->size());
  for (std::size_t i = 0; i < (*ic)->size(); ++i) {
    const auto p = doc.point<g1>((**ic)[i], "IC[" + std::to_string(i) + "]");
    if (!p) return p.error();
    r.ic.push_back(*p);
  }
  return r;
}

template <class Curve>
result<groth16::proof_points<Curve>> parse_proof(const std::string& text, const std::string& name) {
  const document doc("proof", name, "Prove again, and keep the file as it was written");
  const auto value = doc.parse(text);
  if (!value) return value.error();
  if (auto done = doc.expect_groth16(*value); !done) return done.error();
  if (value->contains("curve")) {
    const auto curve = read_curve(doc, *value);
    if (!curve) return curve.error();
    if (*curve != Curve::id) {
      return doc.wrong(std::string("it is over ") + name_of(*curve) + ", and the key is over " + name_of(Curve::id));
    }
  }
  const auto a = doc.member_point<typename Curve::g1>(*value, "pi_a");
  if (!a) return a.error();
  const auto b = doc.member_point<typename Curve::g2>(*value, "pi_b");
  if (!b) return b.error();
  const auto c = doc.member_point<typename Curve::g1>(*value, "pi_c");
  if (!c) return c.error();
  return groth16::proof_points<Curve>{*a, *b, *c};
}

result<std::vector<integer<4>>> parse_public(const std::string& text, const std::string& name, curve_id curve) {
  const document doc("public signals", name, "Write them as a JSON array of decimal strings");
  const auto value = doc.parse(text);
  if (!value) return value.error();
  if (!value->is_array()) return doc.wrong("it is not a JSON array");
  const integer<4> modulus = curve == curve_id::bn254 ? bn254_fr::modulus : bls12_381_fr::modulus;
  std::vector<integer<4>> signals;
  signals.reserve(value->size());
  for (std::size_t i = 0; i < value->size(); ++i) {
    const auto signal = doc.number((*value)[i], modulus, "signal " + std::to_string(i));
    if (!signal) return signal.error();
    signals.push_back(*signal);
  }
  return signals;
}

template <class Curve>
std::string write_proof(const groth16::proof_points<Curve>& proof) {
  nlohmann::ordered_json j;
  j["pi_a"] = decimal(proof.a);
  j["pi_b"] = decimal(proof.b);
  j["pi_c"] = decimal(proof.c);
  j["protocol"] = "groth16";
  j["curve"] = json_name_of(Curve::id);
  return j.dump(1) + "\n";
}

template <class Curve>
std::string write_vkey(const groth16::verification_points<Curve>& key) {
  nlohmann::ordered_json j;
  j["protocol"] = "groth16";
  j["curve"] = json_name_of(Curve::id);
  j["nPublic"] = key.ic.size() - 1;
  j["vk_alpha_1"] = decimal(key.alpha1);
  j["vk_beta_2"] = decimal(key.beta2);
  j["vk_gamma_2"] = decimal(key.gamma2);
  j["vk_delta_2"] = decimal(key.delta2);
  json ic = json::array();
  for (const auto& p : key.ic) ic.push_back(decimal(p));
  j["IC"] = std::move(ic);
  return j.dump(1) + "\n";
}

std::string write_public(const std::vector<integer<4>>& signals) {
  json j = json::array();
  for (const auto& signal : signals) j.push_back(to_decimal(signal));
  return j.dump(1) + "\n";
}

template result<groth16::verification_points<bn254>> parse_vkey(const std::string&, const std::string&);
template result<groth16::verification_points<bls12_381>> parse_vkey(const std::string&, const std::string&);
template result<groth16::proof_points<bn254>> parse_proof(const std::string&, const std::string&);
template result<groth16::proof_points<bls12_381>> parse_proof(const std::string&, const std::string&);
template std::string write_proof(const groth16::proof_points<bn254>&);
template std::string write_proof(const groth16::proof_points<bls12_381>&);
template std::string write_vkey(const groth16::verification_points<bn254>&);
template std::string write_vkey(const groth16::verification_points<bls12_381>&);

}  // namespace prover::format
