// libFuzzer: files of a spool, from any bytes. What is read is written as the same bytes again; what was written is
// read as it was, and not with a byte of its body changed.
#include <zlib.h>

#include <string>

#include "input.hpp"
#include "spool.hpp"

namespace {

using namespace telltale::otlp;

void reads_what_it_writes(std::string_view bytes) {
  const auto read = from_file(bytes);
  if (!read) return;
  fuzz::require(static_cast<std::size_t>(read->signal) < signals);
  fuzz::require(to_file(*read) == bytes);
}

// With length and checksum put right, so that the rest of the header is reached.
std::string put_right(std::string_view bytes) {
  constexpr std::size_t header = 24;
  std::string file(bytes);
  if (file.size() < header) return file;
  const auto put = [&](std::size_t at, std::uint32_t v) {
    for (std::size_t i = 0; i < 4; ++i) file[at + i] = static_cast<char>(v >> (8 * i));
  };
  put(16, static_cast<std::uint32_t>(file.size() - header));
  put(20, static_cast<std::uint32_t>(
              ::crc32_z(0, reinterpret_cast<const Bytef*>(file.data()) + header, file.size() - header)));
  return file;
}

void writes_what_it_reads(fuzz::input& in) {
  spooled s;
  s.signal = static_cast<signal_kind>(in.byte() % signals);
  s.protocol = static_cast<protocol>(in.byte() % 3);
  s.records = static_cast<std::uint32_t>(in.word());
  const std::uint64_t where = in.word();
  const std::uint8_t change = in.byte();
  s.body = in.rest();
  std::string file = to_file(s);
  const auto read = from_file(file);
  fuzz::require(read && read->signal == s.signal && read->protocol == s.protocol && read->records == s.records &&
                read->body == s.body);
  if (s.body.empty() || change == 0) return;
  char& in_body = file[file.size() - 1 - where % s.body.size()];
  in_body = static_cast<char>(in_body ^ change);
  fuzz::require(!from_file(file));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  switch (in.byte() % 3) {
    case 0:
      reads_what_it_writes(in.rest());
      break;
    case 1:
      reads_what_it_writes(put_right(in.rest()));
      break;
    default:
      writes_what_it_reads(in);
  }
  return 0;
}
