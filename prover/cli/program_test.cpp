// The program itself, given what people give it: each mistake is one sentence and an exit code, and leaves no proof.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "core/tests/support/process.hpp"

namespace {

namespace fs = std::filesystem;
using namespace telltale::testing;

const std::string data = DATA;

ended prover(const std::vector<std::string>& words, environment more = {}) {
  more.insert({{"TELLTALE_LOG", "off"}, {"TELLTALE_TRACE", "off"}});
  return run(PROVER, words, more);
}

// Its only words, as it ends with `code`.
void expect_said(const ended& e, int code, const std::string& words) {
  EXPECT_EQ(e.code, code) << e;
  EXPECT_EQ(e.err.rfind("prover: ", 0), 0U) << e;
  EXPECT_EQ(count_of(e.err, "\n"), 1U) << e;
  EXPECT_NE(e.err.find(words), std::string::npos) << words << " in " << e;
}

class Program : public ::testing::Test {
 protected:
  std::vector<std::string> prove(const std::string& with_key, const std::string& with_witness) const {
    return {"prove",     "--key", with_key,  "--witness", with_witness, "--key-checks", "none",
            "--threads", "1",     "--proof", proof,       "--public",   signals};
  }
  // A copy, changed at its end.
  std::string changed(const std::string& file, const std::function<void(std::string&)>& change) const {
    std::string content = contents(file);
    change(content);
    const std::string to = dir / ("changed" + fs::path(file).extension().string());
    std::ofstream(to, std::ios::binary) << content;
    return to;
  }
  void TearDown() override {
    if (proves) return;
    EXPECT_FALSE(fs::exists(proof) || fs::exists(signals)) << "a proof was left behind";
  }
  temporary_directory dir;
  const std::string key = data + "/semaphore-1.zkey";
  const std::string witness = data + "/semaphore-1.wtns";
  const std::string proof = dir / "proof.json";
  const std::string signals = dir / "public.json";
  bool proves = false;
};

TEST_F(Program, ProvesAndVerifiesAndRefusesOtherSignals) {
  proves = true;
  const ended made = prover(prove(key, witness));
  EXPECT_EQ(made.code, 0) << made;
  EXPECT_EQ(made.out + made.err, "");
  const std::vector<std::string> verify{"verify",  "--key", data + "/semaphore-1.vkey.json",
                                        "--proof", proof,   "--public"};
  const auto with = [&](const std::string& values) {
    std::vector<std::string> words = verify;
    words.push_back(values);
    return prover(words);
  };
  const ended good = with(signals);
  EXPECT_EQ(good.code, 0) << good;
  EXPECT_EQ(good.out, "valid\n");
  const std::string other = changed(signals, [](std::string& s) {
    char& digit = s[s.find_last_of("0123456789")];
    digit = digit == '0' ? '1' : '0';
  });
  expect_said(with(other), 1, "the proof is not valid for these public signals and this key.");
  expect_said(with(proof), 2, "cannot read public signals");
}

TEST_F(Program, RefusesBrokenKeysAndWitnesses) {
  const auto cut = [](std::string& s) { s.resize(s.size() - 1); };
  const auto empty = [](std::string& s) { s.clear(); };
  const auto newer = [](std::string& s) { s[4] = 9; };
  expect_said(prover(prove(changed(key, cut), witness)), 2, "(truncated?)");
  expect_said(prover(prove(changed(key, empty), witness)), 2, "the file is empty");
  expect_said(prover(prove(changed(key, newer), witness)), 2, "its version is 9");
  expect_said(prover(prove(witness, witness)), 2, "does not begin with");
  expect_said(prover(prove(dir / "none.zkey", witness)), 2, "No such file or directory");
  expect_said(prover(prove(key, changed(witness, cut))), 2, "(truncated?)");
  expect_said(prover(prove(key, changed(witness, empty))), 2, "the file is empty");
  expect_said(prover(prove(key, changed(witness, [](std::string& s) { s.back() = '\xff'; }))), 2, "is not below");
}

TEST_F(Program, RefusesAWitnessThatProvesNothing) {
  const auto flip = [](std::string& s) { s[s.size() - 32] = static_cast<char>(s[s.size() - 32] ^ 1); };
  expect_said(prover(prove(key, changed(witness, flip))), 1, "the witness does not satisfy the circuit");
  const ended made =
      prover({"circuit", "synthetic", "--constraints", "8", "--curve", "bls12-381", "-o", dir / "other"});
  ASSERT_EQ(made.code, 0) << made;
  expect_said(prover(prove(key, dir / "other.wtns")), 1, "the witness is over BLS12-381 and the key over BN254");
}

TEST_F(Program, SaysWhereItCannotWrite) {
  std::vector<std::string> words = prove(key, witness);
  *std::find(words.begin(), words.end(), proof) = "/no/such/folder/proof.json";
  expect_said(prover(words), 2, "cannot write proof \"/no/such/folder/proof.json\": No such file or directory");
}

TEST_F(Program, RefusesAnEnvironmentThatItCannotRead) {
  expect_said(prover(prove(key, witness), {{"TELLTALE_SINKS", "nonsense:x"}}), 2, "TELLTALE_SINKS");
  expect_said(prover(prove(key, witness), {{"TELLTALE_LOG", "inof"}}), 2, "\"inof\"");
}

TEST_F(Program, RefusesWordsThatMakeNoSense) {
  expect_said(prover({}), 2, "See prover --help.");
  expect_said(prover({"conjure"}), 2, "See prover --help.");
  expect_said(prover({"prove", "--key", key}), 2, "--proof");
  std::vector<std::string> words = prove(key, witness);
  words.insert(words.end(), {"--threads", "0"});
  expect_said(prover(words), 2, "--threads");
}

}  // namespace
