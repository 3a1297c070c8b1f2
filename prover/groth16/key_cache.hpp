// Keys on disk as they lie in memory: a start with such a file neither parses nor checks points.
//
// A file of the cache belongs to one content of a .zkey (by its digest), one code path and one version of the layout;
// all three are in its name and, with the sizes of its arrays, in its header. Header and arrays have digests. It is
// only written for a key that has passed the full checks. It is read only where it belongs to this user and nobody else
// may write to it, so digests guard against damage, not against malice; still, whatever it holds, indices are checked
// to be in range, and every proof is verified.
#pragma once

#include "prover/format/digest.hpp"
#include "prover/groth16/key.hpp"

namespace prover::groth16 {

// Counts up with every change to what a file of the cache holds or how a code path lays out its points.
inline constexpr std::uint32_t cache_version = 2;

// The file for a key, whether it is there or not.
std::string cache_path(const std::string& folder, const format::digest& key, code_path path);

// Nothing where there is no such file; an error where there is one that can't be used.
template <class Curve>
telltale::result<std::optional<key_content<Curve>>> read_cache(const std::string& folder, const format::digest& key,
                                                               code_path path, thread_pool& pool);

// Makes the folder where it is missing. The file is there complete or not at all, also after a crash; if another
// process is just writing the same one, this does nothing.
template <class Curve>
telltale::result<void> write_cache(const std::string& folder, const format::digest& key,
                                   const key_content<Curve>& content, thread_pool& pool);

}  // namespace prover::groth16
