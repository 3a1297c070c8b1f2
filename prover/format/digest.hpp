// A digest of large contents that all threads can work on: SHA-256 over the SHA-256 of every piece of 1 MiB. Nobody can
// find two contents with the same digest; it is not what sha256sum prints.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "prover/format/byte_source.hpp"
#include "prover/parallel/thread_pool.hpp"

namespace prover::format {

using digest = std::array<std::byte, 32>;
inline constexpr std::size_t digest_piece = std::size_t{1} << 20;

digest sha256(std::span<const std::byte> bytes);
// Of the whole source.
telltale::result<digest> digest_of(const byte_source& source, thread_pool& pool);
// 64 hexadecimal digits.
std::string to_hex(const digest& d);

}  // namespace prover::format
