// Any text is a configuration or an error with a place; what is accepted reads back as the same.
#include <cstdlib>

#include "prover/daemon/config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // The first line may be a change from the command line.
  const std::size_t line = text.find('\n');
  std::vector<std::string> changes;
  if (text.starts_with("--set ") && line != std::string_view::npos) changes.emplace_back(text.substr(6, line - 6));
  const auto c =
      prover::daemon::parse_configuration(changes.empty() ? text : text.substr(line + 1), "f", "/d", changes);
  if (!c) {
    if (c.error().message.empty()) std::abort();
    return 0;
  }
  const std::string printed = prover::daemon::to_toml(*c);
  const auto again = prover::daemon::parse_configuration(printed, "f", "/other");
  if (!again || prover::daemon::to_toml(*again) != printed) std::abort();
  return 0;
}
