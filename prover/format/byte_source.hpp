// Where a reader's bytes come from: a file, read by position, or memory. A file is never mapped: one that shrinks while
// it is read then gives an error instead of a signal, and what the prover keeps is its own copy in its own layout.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "prover/format/text.hpp"

namespace prover::format {

// What tells whether a file changed, and who may change it.
struct file_status {
  u64 device = 0;
  u64 inode = 0;
  u64 size = 0;
  std::int64_t modified_ns = 0;  // contents
  std::int64_t changed_ns = 0;   // contents or status; programs can't set it back
  std::uint32_t owner = 0;
  std::uint32_t mode = 0;
  bool operator==(const file_status&) const = default;
};

class byte_source {
 public:
  // `kind` is what messages call the file: "key", "witness".
  static telltale::result<byte_source> open(std::string path, std::string kind);
  // What was in memory is wiped at the end: it may be a witness.
  static byte_source from_memory(std::vector<std::byte> bytes, std::string name, std::string kind);

  u64 size() const noexcept { return size_; }

  // Fills `into` from `offset`; safe from many threads. The caller has checked that the range lies inside size().
  telltale::result<void> read(u64 offset, std::span<std::byte> into) const;

  // The file's status now; memory has none and never changes.
  telltale::result<file_status> status() const;

  // An error about this source: what is wrong, and what to do.
  telltale::error wrong(std::string_view what, std::string_view advice = "Download or build it again") const {
    return cannot_read(kind_, name_, what, advice);
  }

 private:
  class descriptor;
  byte_source() = default;

  std::string name_;
  std::string kind_;
  u64 size_ = 0;
  std::shared_ptr<const descriptor> file_;  // null for memory
  std::shared_ptr<const std::vector<std::byte>> memory_;
};

// A whole small file as text; refuses one above `limit` bytes.
telltale::result<std::string> read_text(const std::string& path, const std::string& kind, u64 limit);

}  // namespace prover::format
