// libFuzzer: verification keys, proofs and public signals. What is read must be the same when it is written and read
// again. Documents are mutated as documents: members come and go, values change places, numbers become telling ones.
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "prover/format/json.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using json = nlohmann::json;

template <class Curve>
void try_curve(const std::string& text) {
  namespace format = prover::format;
  if (const auto proof = format::parse_proof<Curve>(text, "input")) {
    const auto again = format::parse_proof<Curve>(format::write_proof(*proof), "written");
    if (!again || !(*again == *proof)) std::abort();
  }
  if (const auto signals = format::parse_public(text, "input", Curve::id)) {
    const auto again = format::parse_public(format::write_public(*signals), "written", Curve::id);
    if (!again || *again != *signals) std::abort();
  }
  if (const auto key = format::parse_vkey<Curve>(text, "input")) {
    if (key->ic.empty()) std::abort();
    const auto written = format::write_vkey(*key);
    const auto again = format::parse_vkey<Curve>(written, "written");
    if (!again || format::write_vkey(*again) != written) std::abort();
  }
}

// Every value of the document, the outer ones first.
void collect(json& value, std::vector<json*>& into) {
  into.push_back(&value);
  if (value.is_structured() && into.size() < 1000) {
    for (auto& inner : value) collect(inner, into);
  }
}

std::string telling_number(std::minstd_rand& random) {
  using prover::format::to_decimal;
  switch (random() % 9) {
    case 0:
      return to_decimal(prover::bn254_fr::modulus);
    case 1:
      return to_decimal(prover::bn254_fp::modulus);
    case 2:
      return to_decimal(prover::bls12_381_fr::modulus);
    case 3:
      return to_decimal(prover::bls12_381_fp::modulus);
    case 4:
      return "0";
    case 5:
      return "1";
    case 6:
      return "";
    case 7:
      return std::string(random() % 200, '9');
    default:
      return std::to_string(static_cast<int>(random()));
  }
}

void mutate(json& document, std::minstd_rand& random) {
  std::vector<json*> values;
  collect(document, values);
  json& one = *values[random() % values.size()];
  switch (random() % 8) {
    case 0:
    case 1:
      one = telling_number(random);
      break;
    case 2: {
      const json copy = *values[random() % values.size()];
      one = copy;
      break;
    }
    case 3:
      if (one.is_array()) {
        one.push_back(one.empty() ? json("1") : json(one.front()));
      } else if (one.is_number_unsigned()) {
        one = one.get<std::uint64_t>() + random() % 3 - 1;
      }
      break;
    case 4:
      if (one.is_array() && !one.empty()) one.erase(one.begin() + static_cast<int>(random() % one.size()));
      if (one.is_object() && !one.empty()) one.erase(std::next(one.begin(), static_cast<int>(random() % one.size())));
      break;
    case 5: {
      constexpr const char* odd[] = {"null", "true", "-1", "1e400", "18446744073709551616", "[]", "{}", "\"\\u0000\""};
      one = json::parse(odd[random() % 8], nullptr, false);
      break;
    }
    case 6:
      if (document.is_object()) document["curve"] = random() % 2 == 0 ? "bn128" : "bls12381";
      break;
    default:
      if (one.is_string() && !one.get_ref<std::string&>().empty()) {
        auto& text = one.get_ref<std::string&>();
        text[random() % text.size()] = static_cast<char>('0' + random() % 11);
      }
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  if (seed % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  json document = json::parse(data, data + size, nullptr, false);
  if (document.is_discarded()) return LLVMFuzzerMutate(data, size, max_size);
  std::minstd_rand random(seed);
  do mutate(document, random);
  while (random() % 2 == 0);
  const std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  try_curve<prover::bn254>(text);
  try_curve<prover::bls12_381>(text);
  return 0;
}
