// SHA-256 comes from OpenSSL, which uses the processor's own instructions for it.
#include "prover/format/digest.hpp"

#include <openssl/evp.h>

#include <mutex>
#include <stdexcept>

namespace prover::format {

digest sha256(std::span<const std::byte> bytes) {
  digest d{};
  if (EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(d.data()), nullptr, EVP_sha256(),
                 nullptr) != 1)
    throw std::runtime_error("OpenSSL has no SHA-256. Check its configuration (OPENSSL_CONF).");
  return d;
}

telltale::result<digest> digest_of(const byte_source& source, thread_pool& pool) {
  std::vector<digest> pieces((source.size() + digest_piece - 1) / digest_piece);
  std::mutex mutex;
  std::optional<telltale::error> failure;
  pool.for_each(pieces.size(), [&](std::size_t i) {
    thread_local std::vector<std::byte> buffer;
    buffer.resize(std::min<u64>(digest_piece, source.size() - i * digest_piece));
    if (auto done = source.read(i * digest_piece, buffer); !done) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = done.error();
      return;
    }
    pieces[i] = sha256(buffer);
  });
  if (failure) return *failure;
  return sha256(std::as_bytes(std::span(pieces)));
}

std::string to_hex(const digest& d) {
  std::string text;
  for (const std::byte b : d) {
    for (const unsigned shift : {4U, 0U}) text += "0123456789abcdef"[std::to_integer<unsigned>(b) >> shift & 15];
  }
  return text;
}

}  // namespace prover::format
