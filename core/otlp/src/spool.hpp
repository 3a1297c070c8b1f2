// Requests that wait on disk until their receiver answers again: a folder, one file a request, oldest first. Files of a
// process that died are sent by whichever process uses the folder next. One folder per receiver.
//
//   00001770000000123456789-4711-7.otlp     time, process, number
//
//   magic (8)  signal (1)  protocol (1)  zero (2)  records (4)  bytes (4)  crc32 of the body (4)  body
//
// A file is written beside its name and renamed, so that it is whole or not there; the checksum finds what a power cut
// left half-written all the same.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <telltale/core/otlp/fields.hpp>
#include <telltale/core/result.hpp>

#include "settings.hpp"

namespace telltale::otlp {

struct spooled {
  signal_kind signal = signal_kind::traces;
  otlp::protocol protocol = protocol::grpc;
  std::uint32_t records = 0;
  std::string body;
};

// The bytes of a file, and back; nothing where they are none of ours, cut or altered.
std::string to_file(const spooled& s);
std::optional<spooled> from_file(std::string_view bytes);

class spool {
 public:
  // Makes the folder where there is none, and finds what lies in it.
  static result<spool> open(std::string folder, std::uint64_t cap);

  // False in `stored` where the cap leaves no room; an error where the disk refuses.
  enum class outcome : std::uint8_t { stored, full };
  result<outcome> store(const spooled& s);

  // The oldest request that no other process is just sending, held until done() or put_back(). Files that can't be read
  // are removed; `unreadable` counts them.
  std::optional<spooled> take_oldest();
  void done();      // it was delivered, or never will be
  void put_back();  // later

  bool empty() const noexcept { return files_.empty(); }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t unreadable = 0;

 private:
  struct file {
    std::string name;
    std::uint64_t size;
  };
  void forget_first();

  std::string folder_;
  std::uint64_t cap_ = 0;
  std::deque<file> files_;  // in order of name, which is the order of time
  std::uint64_t bytes_ = 0;
  std::uint64_t number_ = 0;
  int held_ = -1;  // descriptor of the file that take_oldest() gave out
};

}  // namespace telltale::otlp
