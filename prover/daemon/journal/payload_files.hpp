// Payloads as files, each named by the SHA-256 of its content: the same payload twice is one file.
//
// A file appears under its name only when all of it is on the disk. Two jobs may share one; who is about to need a
// file pins it, so that the end of another job doesn't take it away.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>

#include "prover/daemon/job.hpp"
#include "telltale/core/result.hpp"

namespace prover::daemon {

// Any thread.
class payload_files {
 public:
  explicit payload_files(std::string directory) : directory_(std::move(directory)) {}

  // Makes the directory; removes half-written files and those that `wanted` doesn't know.
  telltale::result<void> open(const std::function<bool(const digest&)>& wanted);

  // Holds a file's name from before it is written until the journal knows it.
  class pin {
   public:
    pin(payload_files& files, const digest& d);
    ~pin();
    pin(pin&& other) noexcept : files_(std::exchange(other.files_, nullptr)), digest_(other.digest_) {}
    pin& operator=(pin&&) = delete;

   private:
    payload_files* files_;
    digest digest_;
  };

  // Durable on return.
  telltale::result<void> write(const digest& d, std::span<const std::byte> content);
  // An error where it isn't there or isn't what its name says.
  telltale::result<std::vector<std::byte>> read(const digest& d) const;
  // Removes it unless it is pinned or `wanted` says that a job needs it.
  void drop(const digest& d, const std::function<bool(const digest&)>& wanted);

 private:
  std::string path(const digest& d) const;

  std::string directory_;
  mutable std::mutex mutex_;
  std::map<digest, unsigned> pins_;
};

}  // namespace prover::daemon
