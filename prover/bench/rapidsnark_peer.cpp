// rapidsnark's library in a program that ./bench prover talks to (peer.hpp): prover_rapidsnark_peer LIBRARY. A request
// is the paths of a key and a witness with a tab between; the key is loaded when it first comes, and stays.
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "prover/bench/alternating.hpp"

namespace {

// Of its prover.h: the return value is zero where all went well.
using create_call = int(void** prover, const void* zkey, unsigned long long zkey_size, char* message,
                        unsigned long long message_size);
using prove_call = int(void* prover, const void* witness, unsigned long long witness_size, char* proof,
                       unsigned long long* proof_size, char* signals, unsigned long long* signals_size, char* message,
                       unsigned long long message_size);

std::vector<char> contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct loaded {
  std::vector<char> key;  // the library may point into it
  std::vector<char> witness;
  void* prover = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  void* const library = argc == 2 ? ::dlopen(argv[1], RTLD_NOW) : nullptr;
  auto* const create =
      library != nullptr ? reinterpret_cast<create_call*>(::dlsym(library, "groth16_prover_create")) : nullptr;
  auto* const prove =
      library != nullptr ? reinterpret_cast<prove_call*>(::dlsym(library, "groth16_prover_prove")) : nullptr;
  if (create == nullptr || prove == nullptr) {
    const char* const why = ::dlerror();
    std::cerr << "prover_rapidsnark_peer: no rapidsnark: " << (why != nullptr ? why : "give its library") << '\n';
    return 2;
  }
  std::map<std::string, loaded> all;
  std::array<char, 512> message{};
  std::vector<char> proof(1 << 14);
  std::vector<char> signals(1 << 20);
  for (std::string request; std::getline(std::cin, request);) {
    loaded& l = all[request];
    if (l.prover == nullptr) {
      const auto tab = request.find('\t');
      l.key = contents(request.substr(0, tab));
      l.witness = contents(request.substr(tab + 1));
      if (create(&l.prover, l.key.data(), l.key.size(), message.data(), message.size()) != 0) {
        std::cout << "cannot load: " << message.data() << std::endl;
        continue;
      }
    }
    unsigned long long proof_size = proof.size();
    unsigned long long signals_size = signals.size();
    int failed = 0;
    const auto taken = prover::bench::taken_by([&] {
      failed = prove(l.prover, l.witness.data(), l.witness.size(), proof.data(), &proof_size, signals.data(),
                     &signals_size, message.data(), message.size());
    });
    if (failed != 0) {
      std::cout << "cannot prove: " << message.data() << std::endl;
    } else {
      std::cout << taken.cpu << ' ' << taken.wall << std::endl;
    }
  }
}
