// Slips in the names of environment variables.
#include "variable_names.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <string>

#include "descriptors.hpp"

namespace telltale::detail {

namespace {

constexpr std::string_view prefix = "TELLTALE_";
// docs/environment.md
constexpr std::string_view names[] = {"TELLTALE_LOG",          "TELLTALE_TRACE",      "TELLTALE_SINKS",
                                      "TELLTALE_BAGGAGE",      "TELLTALE_RING",       "TELLTALE_MEMORY",
                                      "TELLTALE_OVERFLOW",     "TELLTALE_OVERHEAD",   "TELLTALE_FLIGHT",
                                      "TELLTALE_EXIT_TIMEOUT", "TELLTALE_MAX_SERIES", "TELLTALE_CLOCK"};
constexpr std::size_t longest = std::ranges::max(names, {}, &std::string_view::size).size() - prefix.size();

// How many letters must be added, removed or replaced to make one word of the other; `b` is of the names above.
std::size_t distance(std::string_view a, std::string_view b) noexcept {
  std::size_t row[longest + 1];
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view meant_by(std::string_view name) noexcept {
  if (!name.starts_with(prefix) || std::ranges::find(names, name) != std::end(names)) return {};
  const std::string_view word = name.substr(prefix.size());
  std::string_view best;
  std::size_t nearest = (word.size() + 1) / 3 + 1;  // a letter of LOGS, two of TRCAE
  for (const std::string_view known : names) {
    const std::string_view k = known.substr(prefix.size());
    if (word.starts_with(k) && word.substr(k.size()).starts_with('_')) return known;  // TELLTALE_LOG_LEVEL
    if (const std::size_t d = distance(word, k); d < nearest) {
      nearest = d;
      best = known;
    }
  }
  return best;
}

void complain_of_slips() {
  static std::atomic<bool> done{false};
  if (environ == nullptr || done.exchange(true)) return;
  for (char** v = environ; *v != nullptr; ++v) {
    const std::string_view variable = *v;
    const std::string_view name = variable.substr(0, variable.find('='));
    const std::string_view meant = meant_by(name);
    if (meant.empty()) continue;
    complain(std::string(name) + " is no variable that anything reads. Did you mean " + std::string(meant) + "?");
  }
}

}  // namespace telltale::detail
