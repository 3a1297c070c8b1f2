// Writes the fuzzers' seeds: make_seeds FOLDER. The files in seeds/ were made with it.
#include <filesystem>
#include <fstream>

#include "prover/format/json.hpp"
#include "prover/format/test_key_notice.hpp"
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
  auto test_key = testing::tiny_zkey_sections<Curve>();
  testing::bytes contributions(prover::format::test_key_notice_at(2 * sizeof(typename Curve::fp)));
  for (const char c : prover::format::test_key_notice) contributions.push_back(static_cast<std::byte>(c));
  test_key.push_back({10, std::move(contributions)});
  write(folder / "prover_zkey_fuzzer" / (name + "-test-key"), testing::container("zkey", 1, test_key));
  write(folder / "prover_wtns_fuzzer" / name, testing::tiny_wtns<Curve>());
  write(folder / "prover_r1cs_fuzzer" / name, testing::tiny_r1cs<Curve>());
  const auto g1 = Curve::g1::generator();
  const auto g2 = Curve::g2::generator();
  const std::string proof = prover::format::write_proof(prover::groth16::proof_points<Curve>{g1, g2, g1});
  write(folder / "prover_json_fuzzer" / (name + "-proof"), proof);
  write(folder / "prover_json_fuzzer" / (name + "-public"), prover::format::write_public({{1}, {2}}));
  write(folder / "prover_json_fuzzer" / (name + "-vkey"),
        prover::format::write_vkey(prover::groth16::verification_points<Curve>{g1, g2, g2, g2, {g1}}));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  write_curve<prover::bn254>(argv[1]);
  write_curve<prover::bls12_381>(argv[1]);
  write(std::filesystem::path(argv[1]) / "prover_sym_fuzzer" / "three",
        std::string("1,1,2,main.out\n2,-1,2,main.gone\n3,2,0,main.a[3].x_1\n"));
}
