#include "hub/receive/inflate.hpp"

#include <zlib.h>

#include <algorithm>
#include <memory>

namespace telltale::hub {

inflated inflate(std::string_view packed, std::uint64_t limit) {
  using outcome = inflated::outcome;
  z_stream z{};
  if (::inflateInit2(&z, 15 + 32) != Z_OK) return {outcome::broken, "no memory to unpack the request"};  // gzip or zlib
  const std::unique_ptr<z_stream, int (*)(z_stream*)> kept(&z, &::inflateEnd);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  z.avail_in = static_cast<uInt>(packed.size());
  std::string out;
  for (;;) {
    const std::size_t before = out.size();
    out.resize(std::min<std::uint64_t>(std::max<std::size_t>(before * 2, 65536), limit + 1));
    z.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    z.avail_out = static_cast<uInt>(out.size() - before);
    const int code = ::inflate(&z, Z_NO_FLUSH);
    out.resize(out.size() - z.avail_out);
    if (out.size() > limit) {
      return {outcome::too_large, "the request unpacks to more than " + std::to_string(limit) + " bytes"};
    }
    if (code == Z_STREAM_END) return {outcome::whole, std::move(out)};
    if (code != Z_OK || (z.avail_in == 0 && z.avail_out != 0)) {
      return {outcome::broken, "the request is no whole gzip stream"};
    }
  }
}

}  // namespace telltale::hub
