// A device that computes nothing: as slow, as large and as faulty as a test says. Four of them are four "GPUs".
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "prover/daemon/device.hpp"

namespace prover::daemon::testing {

class fake_key final : public loaded_key {
 public:
  fake_key(std::size_t size, bool hot, std::atomic<int>& alive) : size_(size), hot_(hot), alive_(alive) { ++alive_; }
  ~fake_key() override { --alive_; }
  fake_key(const fake_key&) = delete;
  fake_key& operator=(const fake_key&) = delete;
  std::size_t size() const override { return size_; }
  bool hot() const override { return hot_; }

 private:
  std::size_t size_;
  bool hot_;
  std::atomic<int>& alive_;
};

class fake_device final : public device {
 public:
  struct behaviour {
    size_estimate sizes{100, 20, 10, 30};
    std::chrono::microseconds loading{0}, stage{0};
    unsigned stages = 3;
    std::function<std::optional<failure>(const kind&)> load_fails;  // asked before each load
    std::function<std::optional<proved>(const kind&)> proof_fails;  // asked in the middle of each proof
    std::atomic<int>* proofs_at_once = nullptr;
  };
  fake_device(std::string name, behaviour b) : name_(std::move(name)), b_(std::move(b)) {}

  std::string name() const override { return name_; }
  std::string description() const override { return "a fake"; }
  bool in_process_memory() const override { return false; }
  telltale::result<size_estimate> estimate(const kind&) const override { return b_.sizes; }

  std::variant<std::shared_ptr<const loaded_key>, failure> load(const kind& k, std::size_t table_bytes) override {
    std::this_thread::sleep_for(b_.loading);
    if (b_.load_fails) {
      if (auto why = b_.load_fails(k)) return *why;
    }
    ++loads;
    return std::make_shared<const fake_key>(b_.sizes.key + table_bytes, table_bytes != 0, keys_alive);
  }

  proved prove(const kind& k, const loaded_key&, const witness&, stage_listener& stages) override {
    ++begun;
    static constexpr const char* names[] = {"ntt", "msm", "assemble"};
    for (unsigned i = 0; i < b_.stages; ++i) {
      if (!stages.begins(names[i % 3])) return stopped{};
      std::this_thread::sleep_for(b_.stage);
      if (i == b_.stages / 2 && b_.proof_fails) {
        if (auto why = b_.proof_fails(k)) return *why;
      }
    }
    return proof_text{"proof of " + k.name, "signals by " + name_};
  }

  std::atomic<int> loads{0}, begun{0}, keys_alive{0};

 private:
  std::string name_;
  behaviour b_;
};

}  // namespace prover::daemon::testing
