// Where a writer's bytes go: a file that is complete, or not there at all. What is written stands under another name
// until commit(), and replaces an older file of this name only then.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "telltale/core/result.hpp"

namespace prover::format {

// For one thread. Writing goes on after a failure without effect; commit() tells the first one.
class byte_sink {
 public:
  // `kind` is what messages call the file: "key", "witness". A device or a pipe (/dev/stdout) is written directly.
  static telltale::result<byte_sink> create(std::string path, std::string kind);
  ~byte_sink();  // takes away what was not committed
  byte_sink(byte_sink&&) noexcept = default;
  byte_sink& operator=(byte_sink&&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  telltale::result<void> commit();

 private:
  struct close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  byte_sink() = default;
  telltale::error cannot_write(int code) const;
  void remove() const;

  std::string path_;
  std::string kind_;
  std::string written_to_;
  std::unique_ptr<std::FILE, close> file_;
  int failure_ = 0;  // errno of the first failed write
};

// A whole small file.
telltale::result<void> write_text(const std::string& path, std::string_view text, const std::string& kind);

}  // namespace prover::format
