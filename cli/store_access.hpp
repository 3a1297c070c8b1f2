// How a command asks a store's directory while no hub runs: the hub's answers, made in this process.
#pragma once

#include <memory>
#include <string>
#include <telltale/core/result.hpp>

#include "access.hpp"

namespace telltale::cli {

// Nothing in the directory is changed. Fails where there is no store, or a hub has it open.
result<std::unique_ptr<access>> over_store(std::string directory);

}  // namespace telltale::cli
