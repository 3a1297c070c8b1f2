// The secrets of every test key. In a ceremony nobody knows them; here they are text, so that nobody can mistake such a
// key for a safe one.
#pragma once

#include <string_view>

#include "prover/field/field.hpp"

namespace prover::setup {

// Thirty-one bytes, the first one the least significant: below every curve's order.
template <class Fr>
constexpr Fr published_secret(std::string_view text) noexcept {
  integer<4> r{};
  for (std::size_t i = 0; i < text.size() && i < 31; ++i) {
    r[i / 8] |= static_cast<u64>(static_cast<unsigned char>(text[i])) << (8 * (i % 8));
  }
  return Fr::from_integer(r);
}

template <class Fr>
struct published_secrets {
  Fr tau = published_secret<Fr>("Telltale insecure test key: tau");
  Fr alpha = published_secret<Fr>("Telltale insecure test key: alp");
  Fr beta = published_secret<Fr>("Telltale insecure test key: bet");
  Fr delta = published_secret<Fr>("Telltale insecure test key: del");
};

}  // namespace prover::setup
