// The words that stand for values in the configuration.
#pragma once

#include <utility>
#include <vector>

#include "prover/daemon/config.hpp"

namespace prover::daemon {

inline const std::vector<std::pair<const char*, priority>> priorities{
    {"low", priority::low}, {"normal", priority::normal}, {"high", priority::high}, {"urgent", priority::urgent}};
inline const std::vector<std::pair<const char*, key_checks>> checks{
    {"full", key_checks::full}, {"on-curve", key_checks::on_curve}, {"none", key_checks::none}};
inline const std::vector<std::pair<const char*, sandbox_choice>> sandboxes{{"bubblewrap", sandbox_choice::bubblewrap},
                                                                           {"none", sandbox_choice::none}};

}  // namespace prover::daemon
