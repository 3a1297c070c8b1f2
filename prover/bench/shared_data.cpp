#include <cstdlib>

#include "prover/bench/figures.hpp"

std::filesystem::path prover::bench::shared_data() {
  if (const char* set = std::getenv("TELLTALE_SHARED_DATA")) return set;
  return std::filesystem::path(PROVER_SOURCE_DIR).parent_path().parent_path() / "shared" / "data";
}
