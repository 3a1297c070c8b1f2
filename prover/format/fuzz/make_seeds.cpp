// Writes the fuzzers' seeds: make_seeds FOLDER. The files in seeds/ were made with it.
#include <filesystem>
#include <fstream>

#include "prover/format/json.hpp"
#include "prover/format/tiny_files.hpp"

namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const prover::testing::bytes& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  for (const std::byte b : bytes) out.put(static_cast<char>(b));
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

template <class Curve>
void write_curve(const fs::path& folder) {
  namespace testing = prover::testing;
  const std::string name = prover::json_name_of(Curve::id);
  write(folder / "prover_zkey_fuzzer" / name, testing::tiny_zkey<Curve>());
  write(folder / "prover_wtns_fuzzer" / name, testing::tiny_wtns<Curve>());
  write(folder / "prover_r1cs_fuzzer" / name, testing::tiny_r1cs<Curve>());
  const auto g1 = Curve::g1::generator();
  const auto g2 = Curve::g2::generator();
  const std::string proof = prover::format::write_proof(prover::groth16::proof_points<Curve>{g1, g2, g1});
  write(folder / "prover_json_fuzzer" / (name + "-proof"), proof);
  write(folder / "prover_json_fuzzer" / (name + "-public"), prover::format::write_public({{1}, {2}}));
  // A verification key has the same points under other names.
  const auto part = [&](const char* from, const char* to) {
    const auto begin = proof.find(':', proof.find(from)) + 1;
    return proof.substr(begin, proof.find(to) - begin - 1);
  };
  const std::string p = part("pi_a", "\"pi_b\"");
  const std::string q = part("pi_b", "\"pi_c\"");
  const auto trimmed = [](std::string s) { return s.substr(0, s.rfind(',')); };
  write(folder / "prover_json_fuzzer" / (name + "-vkey"),
        R"({"protocol":"groth16","curve":")" + name + R"(","nPublic":0,"vk_alpha_1":)" + trimmed(p) +
            R"(,"vk_beta_2":)" + trimmed(q) + R"(,"vk_gamma_2":)" + trimmed(q) + R"(,"vk_delta_2":)" + trimmed(q) +
            R"(,"IC":[)" + trimmed(p) + "]}");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  write_curve<prover::bn254>(argv[1]);
  write_curve<prover::bls12_381>(argv[1]);
}
