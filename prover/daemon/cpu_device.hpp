// This machine's processors as a device.
#pragma once

#include "prover/daemon/device.hpp"
#include "telltale/prover/engine.hpp"

namespace prover::daemon {

class cpu_device final : public device {
 public:
  struct options {
    unsigned threads = 0;      // of the engine; 0: one per processor that this process may use
    unsigned lanes = 1;        // proofs at once, which share the threads
    std::string cache_folder;  // for keys as they lie in memory; empty: none
  };
  explicit cpu_device(options o) : options_(std::move(o)), engine_(options_.threads) {}

  std::string name() const override { return "cpu"; }
  std::string description() const override;
  unsigned lanes() const override { return options_.lanes; }
  telltale::result<size_estimate> estimate(const kind& k) const override;
  std::variant<std::shared_ptr<const loaded_key>, failure> load(const kind& k, std::size_t table_bytes) override;
  proved prove(const kind& k, const loaded_key& key, const witness& w, stage_listener& stages) override;

 private:
  options options_;
  engine engine_;
};

}  // namespace prover::daemon
