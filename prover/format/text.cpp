// Error sentences.
#include "prover/format/text.hpp"

namespace prover::format {

std::string grouped(u64 number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

telltale::error cannot_read(std::string_view kind, std::string_view name, std::string_view what,
                            std::string_view advice) {
  std::string message = "cannot read ";
  message.append(kind).append(" \"").append(name).append("\": ").append(what).append(". ").append(advice).append(".");
  return {std::move(message)};
}

}  // namespace prover::format
