// The file: a header, then every array of the key one after the other, each at a multiple of 64 bytes. Numbers lie as
// in memory.
#include "prover/groth16/key_cache.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <system_error>

namespace prover::groth16 {
namespace {

using telltale::error;
using telltale::result;
using bytes = std::span<std::byte>;
using const_bytes = std::span<const std::byte>;

constexpr std::size_t array_count = 17;
constexpr std::array<char, 8> magic{'t', 't', 'k', 'e', 'y', 'c', 'c', '\n'};

struct file_header {
  std::array<char, 8> mark = magic;
  std::uint32_t version = cache_version;
  std::uint32_t path = 0;
  format::digest key{};
  std::uint32_t curve = 0, variables = 0, publics = 0, domain_size = 0, coefficients = 0, is_test_key = 0;
  std::array<u64, array_count> sizes{};  // of the arrays, in bytes
  format::digest body{};                 // over the digests of the arrays' pieces
  format::digest self{};                 // of everything above
};
static_assert(std::has_unique_object_representations_v<file_header> && sizeof(file_header) == 272);

constexpr u64 aligned(u64 size) noexcept {
  return (size + 63) / 64 * 64;
}

format::digest own_digest(const file_header& h) {
  return format::sha256(std::as_bytes(std::span(&h, 1)).first(offsetof(file_header, self)));
}

template <class Curve>
struct fixed_points {
  affine<typename Curve::g1> alpha1, beta1, delta1;
  affine<typename Curve::g2> beta2, gamma2, delta2;
};

// All pieces of all arrays, the unit of digesting and reading.
template <class Byte>
struct piece {
  std::span<Byte> content;
  u64 offset;  // in the file
};
template <class Byte>
std::vector<piece<Byte>> pieces_of(const std::array<std::span<Byte>, array_count>& arrays) {
  std::vector<piece<Byte>> all;
  u64 at = aligned(sizeof(file_header));
  for (const auto& array : arrays) {
    for (std::size_t i = 0; i < array.size(); i += format::digest_piece)
      all.push_back({array.subspan(i, std::min(format::digest_piece, array.size() - i)), at + i});
    at += aligned(array.size());
  }
  return all;
}

// ---- writing

template <class Curve>
std::array<const_bytes, array_count> arrays_of(const key_content<Curve>& k, const fixed_points<Curve>& fixed) {
  const auto of = [](const auto& v) { return std::as_bytes(std::span(v)); };
  const auto a = k.a.prepared(), b1 = k.b1.prepared(), c = k.c.prepared(), h = k.h.prepared();
  const auto b2 = k.b2.prepared();
  return {std::as_bytes(std::span(&fixed, 1)),
          of(k.ic),
          of(a.index),
          of(a.words),
          of(b1.index),
          of(b1.words),
          of(b2.index),
          of(b2.words),
          of(c.index),
          of(c.words),
          of(h.index),
          of(h.words),
          of(k.a_rows.starts),
          of(k.a_rows.entries),
          of(k.b_rows.starts),
          of(k.b_rows.entries),
          of(k.values)};
}

// A file on its way to its name: gone with this object unless it was published.
class file_in_the_making {
 public:
  explicit file_in_the_making(std::string target) : target_(std::move(target)), part_(target_ + ".part") {}
  ~file_in_the_making() {
    if (fd_ < 0) return;
    if (!published_) ::unlink(part_.c_str());
    ::close(fd_);
  }
  file_in_the_making(const file_in_the_making&) = delete;
  file_in_the_making& operator=(const file_in_the_making&) = delete;

  enum class begun : std::uint8_t { yes, busy, failed };
  // What a process that was killed left behind is taken over; what a living one is writing is left to it.
  begun begin() {
    const int fd = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return begun::failed;
    struct stat opened{};
    struct stat named{};
    const bool mine = ::flock(fd, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd, &opened) == 0 &&
                      ::stat(part_.c_str(), &named) == 0 && opened.st_ino == named.st_ino;
    if (!mine) {
      ::close(fd);
      return begun::busy;
    }
    fd_ = fd;
    return ::ftruncate(fd_, 0) == 0 ? begun::yes : begun::failed;
  }
  bool write(const_bytes content) {
    while (!content.empty()) {
      const ssize_t n = ::write(fd_, content.data(), content.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return false;
      content = content.subspan(static_cast<std::size_t>(n));
    }
    return true;
  }
  bool write_aligned(const_bytes content) {
    static constexpr std::array<std::byte, 64> zeros{};
    return write(content) && write(std::span(zeros).first(aligned(content.size()) - content.size()));
  }
  // On the disk before it has its name, and the name on the disk as well.
  bool publish() {
    if (::fsync(fd_) != 0 || ::rename(part_.c_str(), target_.c_str()) != 0) return false;
    published_ = true;
    const std::string folder = std::filesystem::path(target_).parent_path().string();
    const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return false;
    const bool good = ::fsync(fd) == 0;
    ::close(fd);
    return good;
  }

 private:
  std::string target_, part_;
  int fd_ = -1;
  bool published_ = false;
};

error cannot_write(const std::string& path, int code) {
  return {"cannot write key cache \"" + path + "\": " + std::generic_category().message(code) +
          ". Check the folder, its permissions and the space on its disk."};
}

// ---- reading

// The key of a header, its arrays made but not filled.
template <class Curve>
struct content_to_fill {
  key_content<Curve> content;
  std::array<bytes, array_count> arrays;
};

// The sizes that the header gives for one set of points.
template <class G>
struct point_sizes {
  u64 given, index_bytes, word_bytes;

  u64 finite(code_path path) const { return word_bytes / 8 / msm::resident_points<G>::words_per_point(path); }
  bool fit(code_path path) const {
    const u64 kept = finite(path);
    return word_bytes == kept * 8 * msm::resident_points<G>::words_per_point(path) && kept <= given &&
           index_bytes == 4 * kept;
  }
  msm::resident_points<G> make_room(code_path path, bytes& index, bytes& words) const {
    typename msm::resident_points<G>::memory room;
    msm::resident_points<G> points(given, finite(path), path, room);
    index = std::as_writable_bytes(room.index);
    words = std::as_writable_bytes(room.words);
    return points;
  }
};

// Nothing where the sizes don't belong to such a key.
template <class Curve>
std::optional<content_to_fill<Curve>> make_room(const file_header& f, code_path path, fixed_points<Curve>& fixed) {
  using g1 = typename Curve::g1;
  using g2 = typename Curve::g2;
  using entry = format::sparse_rows::entry;
  const auto& size = f.sizes;
  const point_sizes<g1> a{f.variables, size[2], size[3]}, b1{f.variables, size[4], size[5]},
      c{f.variables - f.publics - 1, size[8], size[9]}, h{f.domain_size, size[10], size[11]};
  const point_sizes<g2> b2{f.variables, size[6], size[7]};
  const u64 starts = (u64{f.domain_size} + 1) * sizeof(std::uint32_t);
  const bool fits = u64{f.publics} + 1 <= f.variables && std::has_single_bit(f.domain_size) &&
                    size[0] == sizeof(fixed_points<Curve>) && size[1] == (u64{f.publics} + 1) * sizeof(affine<g1>) &&
                    a.fit(path) && b1.fit(path) && b2.fit(path) && c.fit(path) && h.fit(path) && size[12] == starts &&
                    size[13] % sizeof(entry) == 0 && size[14] == starts && size[15] % sizeof(entry) == 0 &&
                    size[16] % sizeof(typename Curve::fr) == 0;
  if (!fits) return std::nullopt;
  std::array<bytes, array_count> arrays;
  std::optional<content_to_fill<Curve>> r(content_to_fill<Curve>{
      {{Curve::id, f.variables, f.publics, f.domain_size, f.coefficients, f.is_test_key != 0},
       path,
       {},
       {},
       {},
       {},
       {},
       {},
       std::vector<affine<g1>>(f.publics + 1),
       a.make_room(path, arrays[2], arrays[3]),
       b1.make_room(path, arrays[4], arrays[5]),
       b2.make_room(path, arrays[6], arrays[7]),
       c.make_room(path, arrays[8], arrays[9]),
       h.make_room(path, arrays[10], arrays[11]),
       {std::vector<std::uint32_t>(f.domain_size + 1), std::vector<entry>(size[13] / sizeof(entry))},
       {std::vector<std::uint32_t>(f.domain_size + 1), std::vector<entry>(size[15] / sizeof(entry))},
       std::vector<typename Curve::fr>(size[16] / sizeof(typename Curve::fr))},
      arrays});
  const auto of = [](auto& v) { return std::as_writable_bytes(std::span(v)); };
  key_content<Curve>& k = r->content;
  r->arrays[0] = std::as_writable_bytes(std::span(&fixed, 1));
  r->arrays[1] = of(k.ic);
  r->arrays[12] = of(k.a_rows.starts);
  r->arrays[13] = of(k.a_rows.entries);
  r->arrays[14] = of(k.b_rows.starts);
  r->arrays[15] = of(k.b_rows.entries);
  r->arrays[16] = of(k.values);
  return r;
}

bool ascending_below(std::span<const std::uint32_t> index, std::size_t limit) {
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] >= limit || (i > 0 && index[i] <= index[i - 1])) return false;
  }
  return true;
}

bool in_range(const format::sparse_rows& rows, const format::zkey_header& h, std::size_t values) {
  if (rows.starts.front() != 0 || rows.starts.back() != rows.entries.size()) return false;
  if (!std::is_sorted(rows.starts.begin(), rows.starts.end())) return false;
  return std::all_of(rows.entries.begin(), rows.entries.end(),
                     [&](const auto& entry) { return entry.signal < h.variables && entry.value < values; });
}

template <class Curve>
bool in_range(const key_content<Curve>& k) {
  const auto points = [](const auto& p) { return ascending_below(p.prepared().index, p.given()); };
  return points(k.a) && points(k.b1) && points(k.b2) && points(k.c) && points(k.h) &&
         in_range(k.a_rows, k.header, k.values.size()) && in_range(k.b_rows, k.header, k.values.size());
}

// Fills all arrays and tells the digest of what came.
result<format::digest> read_body(const format::byte_source& source, const std::array<bytes, array_count>& arrays,
                                 thread_pool& pool) {
  const auto pieces = pieces_of(arrays);
  std::vector<format::digest> digests(pieces.size());
  std::mutex mutex;
  std::optional<error> failure;
  pool.for_each(pieces.size(), [&](std::size_t i) {
    if (auto done = source.read(pieces[i].offset, pieces[i].content); !done) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = done.error();
      return;
    }
    digests[i] = format::sha256(pieces[i].content);
  });
  if (failure) return *failure;
  return format::sha256(std::as_bytes(std::span(digests)));
}

}  // namespace

std::string cache_path(const std::string& folder, const format::digest& key, code_path path) {
  const std::string name =
      format::to_hex(key) + "-" + name_of(path) + "-v" + std::to_string(cache_version) + ".keycache";
  return (std::filesystem::path(folder) / name).string();
}

template <class Curve>
result<std::optional<key_content<Curve>>> read_cache(const std::string& folder, const format::digest& key,
                                                     code_path path, thread_pool& pool) {
  const std::string name = cache_path(folder, key, path);
  if (::access(name.c_str(), F_OK) != 0 && errno == ENOENT) return std::optional<key_content<Curve>>();
  const auto source = format::byte_source::open(name, "key cache");
  if (!source) return source.error();
  const auto damaged = [&](std::string_view what) { return source->wrong(what, "Delete it, or let it be replaced"); };
  const auto status = source->status();
  if (!status) return status.error();
  if (status->owner != ::geteuid() || (status->mode & (S_IWGRP | S_IWOTH)) != 0)
    return damaged("others than this user may have written it");

  file_header h;
  if (source->size() < sizeof h) return damaged("it ends within its header (truncated?)");
  if (auto done = source->read(0, std::as_writable_bytes(std::span(&h, 1))); !done) return done.error();
  if (h.mark != magic || h.version != cache_version || own_digest(h) != h.self) return damaged("its header is damaged");
  if (h.key != key || h.path != static_cast<std::uint32_t>(path) || h.curve != static_cast<std::uint32_t>(Curve::id))
    return damaged("it belongs to another key or processor");
  u64 size = aligned(sizeof h);
  for (const u64 array : h.sizes) size += aligned(std::min(array, source->size()));
  if (size != source->size()) {
    return damaged("it has " + format::grouped(source->size()) + " bytes where its header promises " +
                   format::grouped(size) + " (truncated?)");
  }
  fixed_points<Curve> fixed;
  auto made = make_room(h, path, fixed);
  if (!made) return damaged("its arrays don't fit its key");
  const auto body = read_body(*source, made->arrays, pool);
  if (!body) return body.error();
  if (*body != h.body) return damaged("its contents are damaged");
  key_content<Curve>& k = made->content;
  k.alpha1 = fixed.alpha1;
  k.beta1 = fixed.beta1;
  k.delta1 = fixed.delta1;
  k.beta2 = fixed.beta2;
  k.gamma2 = fixed.gamma2;
  k.delta2 = fixed.delta2;
  if (!in_range(k)) return damaged("it has an index out of range");
  return std::optional(std::move(k));
}

template <class Curve>
result<void> write_cache(const std::string& folder, const format::digest& key, const key_content<Curve>& k,
                         thread_pool& pool) {
  const fixed_points<Curve> fixed{k.alpha1, k.beta1, k.delta1, k.beta2, k.gamma2, k.delta2};
  const auto arrays = arrays_of(k, fixed);
  file_header h;
  h.path = static_cast<std::uint32_t>(k.path);
  h.key = key;
  h.curve = static_cast<std::uint32_t>(Curve::id);
  h.variables = k.header.variables;
  h.publics = k.header.publics;
  h.domain_size = k.header.domain_size;
  h.coefficients = k.header.coefficients;
  h.is_test_key = k.header.is_test_key ? 1 : 0;
  std::transform(arrays.begin(), arrays.end(), h.sizes.begin(), [](const_bytes array) { return array.size(); });
  const auto pieces = pieces_of(arrays);
  std::vector<format::digest> digests(pieces.size());
  pool.for_each(pieces.size(), [&](std::size_t i) { digests[i] = format::sha256(pieces[i].content); });
  h.body = format::sha256(std::as_bytes(std::span(digests)));
  h.self = own_digest(h);

  const std::string name = cache_path(folder, key, k.path);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return cannot_write(name, errno);
  file_in_the_making file(name);
  switch (file.begin()) {
    case file_in_the_making::begun::busy:
      return {};
    case file_in_the_making::begun::failed:
      return cannot_write(name, errno);
    case file_in_the_making::begun::yes:
      break;
  }
  bool good = file.write_aligned(std::as_bytes(std::span(&h, 1)));
  for (const auto& array : arrays) good = good && file.write_aligned(array);
  if (!good || !file.publish()) return cannot_write(name, errno);
  return {};
}

template result<std::optional<key_content<bn254>>> read_cache(const std::string&, const format::digest&, code_path,
                                                              thread_pool&);
template result<std::optional<key_content<bls12_381>>> read_cache(const std::string&, const format::digest&, code_path,
                                                                  thread_pool&);
template result<void> write_cache(const std::string&, const format::digest&, const key_content<bn254>&, thread_pool&);
template result<void> write_cache(const std::string&, const format::digest&, const key_content<bls12_381>&,
                                  thread_pool&);

}  // namespace prover::groth16
