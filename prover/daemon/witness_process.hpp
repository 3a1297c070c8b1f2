// Runs a witness generator: a program, circom's native one or JavaScript with WASM, as a process of its own.
//
//   auto generators = witness_process::create(settings, programs);   // an error where the sandbox isn't there
//   service s(…, *generators);
//
// Under bubblewrap it has no network, sees the system's libraries and the folders of its own files, read-only, and can
// write in one directory, which is made for the run and removed after it. With or without, it has limits: wall time,
// processor time, memory, size of what it writes, open files. When it ends, by itself or by a limit, whatever it
// started is killed with it.
//
// A program is trusted no more than its inputs: the operator chose it, a caller chooses what it reads.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "prover/daemon/config.hpp"
#include "prover/daemon/witness_source.hpp"
#include "telltale/core/result.hpp"

namespace prover::daemon {

// Reads .wtns payloads as they are, and runs the kind's program on inputs.
class witness_process final : public witness_source {
 public:
  // `programs` by the kind's name. Fails where bubblewrap is wanted and can't be used here, and says what to install
  // or to set; without a program nothing is asked of the machine.
  static telltale::result<std::unique_ptr<witness_process>> create(const generator_settings& settings,
                                                                   std::map<std::string, generator_program> programs);

  // "bubblewrap 0.8.0: no network, …", "none: resource limits only": for the start's line and for Status.
  const std::string& sandbox() const noexcept { return sandbox_; }

  made make(const kind& k, payload p, std::stop_token stop, std::optional<steady_time> deadline) override;

  // The .wtns file that the kind's program makes of `inputs`.
  std::variant<std::vector<std::byte>, failure> generate(const kind& k, std::string_view inputs,
                                                         const std::stop_token& stop,
                                                         std::optional<steady_time> deadline) const;

 private:
  witness_process(generator_settings settings, std::map<std::string, generator_program> programs, std::string sandbox)
      : settings_(std::move(settings)), programs_(std::move(programs)), sandbox_(std::move(sandbox)) {}
  std::vector<std::string> command(const kind& k, const generator_program& program, const std::string& directory) const;

  generator_settings settings_;
  std::map<std::string, generator_program> programs_;
  std::string sandbox_;
  wtns_reader reader_;
};

}  // namespace prover::daemon
