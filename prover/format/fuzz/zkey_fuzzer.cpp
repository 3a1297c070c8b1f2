// libFuzzer: .zkey files of both curves.
#include "prover/format/fuzz/section_mutator.hpp"
#include "prover/format/zkey.hpp"

namespace {

// Makes the sections as long as the header says, where it says something small.
void repair(prover::fuzz::container& file) {
  auto* header = file.find(2);
  if (header == nullptr) return;
  const auto n8 = static_cast<std::size_t>(prover::fuzz::get(header->content, 0, 4));
  if (n8 != 32 && n8 != 48) return;
  const std::size_t counts = 4 + n8 + 4 + 32;
  const auto variables = prover::fuzz::get(header->content, counts, 4);
  const auto publics = prover::fuzz::get(header->content, counts + 4, 4);
  const auto domain = prover::fuzz::get(header->content, counts + 8, 4);
  if (variables > 16 || publics >= variables || domain > 16) return;
  const auto fit = [&](std::uint32_t id, std::uint64_t points, std::size_t coordinates) {
    if (auto* s = file.find(id)) prover::fuzz::resize(s->content, points * coordinates * n8);
  };
  prover::fuzz::resize(header->content, counts + 12 + 18 * n8);
  fit(3, publics + 1, 2);
  fit(5, variables, 2);
  fit(6, variables, 2);
  fit(7, variables, 4);
  fit(8, variables - publics - 1, 2);
  fit(9, domain, 2);
  if (auto* s = file.find(4)) {
    const auto coefficients = prover::fuzz::get(s->content, 0, 4);
    if (coefficients <= 16) prover::fuzz::resize(s->content, 4 + coefficients * 44);
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return prover::fuzz::mutate_sections(data, size, max_size, seed, repair);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace format = prover::format;
  static prover::thread_pool pool(1);
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto source = format::byte_source::from_memory({bytes.begin(), bytes.end()}, "input", "key");
  // Subgroup tests take a thousand times as long as the rest: one input in 32 has them.
  const auto checks = size > 0 && data[size - 1] % 32 == 0 ? prover::key_checks::full : prover::key_checks::on_curve;
  if (const auto header = format::read_zkey_header(source)) {
    format::with_curve(header->curve, [&](auto curve) {
      const auto key = format::read_zkey<decltype(curve)>(source, checks, prover::code_path::portable, pool);
      return static_cast<bool>(key);
    });
  }
  return 0;
}
