// Moving the memory into a file, and out of the parent's after a fork.
#include "recorder.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <new>
#include <telltale/core/clock.hpp>
#include <utility>

#include "../clock.hpp"

namespace telltale::detail {

namespace {

struct recorder {
  flight_options settings;
  flight_file file;   // none: a forked child that has recorded nothing yet, or the disk was full
  bool late = false;  // to be moved in before the first ring
  bool complained = false;
};
constinit std::atomic<recorder*> current{nullptr};  // never destroyed: records come from static destructors too

struct range {
  std::size_t at;
  std::size_t bytes;
};

// What of the memory before the rings is in use. The counts are read last published first, so that what a count
// covers is complete.
struct ranges {
  range list[8];
  explicit ranges(const memory_map& m) noexcept {
    const memory_layout& l = m.layout;
    const memory_header& h = *m.header;
    const auto count = [](const std::atomic<std::uint32_t>& n) {
      return std::size_t{n.load(std::memory_order_acquire)};
    };
    const std::size_t sites = count(h.sites);
    const std::size_t attributes = count(h.attributes);
    const std::size_t keys = count(h.keys);
    list[0] = {0, sizeof(memory_header)};
    list[1] = {l.sites, sites * sizeof(mapped_site)};
    list[2] = {l.attributes, attributes * sizeof(mapped_attribute)};
    list[3] = {l.keys, keys * sizeof(mapped_text)};
    list[4] = {l.text, count(h.text_used)};
    list[5] = {l.scopes, max_scopes * sizeof(scope_node)};
    list[6] = {l.slots, count(h.slots) * sizeof(open_slot)};
    list[7] = {l.blocks, count(h.blocks) * sizeof(thread_block)};
  }
};

// Copies of those, made before a fork: the parent's threads go on writing into the file that the child would share.
struct snapshot {
  ranges where;
  std::byte* bytes;
};
constinit snapshot* before = nullptr;

bool write_all(int fd, const std::byte* from, std::size_t bytes, std::size_t at) noexcept {
  while (bytes != 0) {
    const ssize_t n = ::pwrite(fd, from, bytes, static_cast<off_t>(at));
    if (n <= 0) return false;
    from += n;
    at += static_cast<std::size_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

void copy_back(memory_map& m, const snapshot& s) noexcept {
  const std::byte* from = s.bytes;
  for (const range& part : s.where.list) {
    std::memcpy(m.base() + part.at, from, part.bytes);
    from += part.bytes;
  }
}

// Where there was no memory for a snapshot: as the file is now. The parent may have ended a scope meanwhile.
void read_back(memory_map& m, int fd) noexcept {
  (void)!::pread(fd, m.base(), sizeof(memory_header), 0);
  for (const range& part : ranges(m).list) {
    (void)!::pread(fd, m.base() + part.at, part.bytes, static_cast<off_t>(part.at));
  }
}

result<void> move_in(memory_map& m, recorder& r) {
  auto made = make_flight_file(r.settings, m.layout.bytes, m.layout.rings);
  if (!made) return made.error();
  flight_file file = std::move(*made);
  memory_header& h = *m.header;
  h.slow_clock = clock_is_slow;
  const clock_sample now = sample_clocks();
  h.started_ticks = now.ticks;
  h.seen_ticks.store(now.ticks, std::memory_order_relaxed);
  h.clocks[0].ticks.store(now.ticks, std::memory_order_relaxed);
  h.clocks[0].wall_ns.store(now.wall_ns, std::memory_order_relaxed);
  h.clocks[0].ns_per_tick.store(0, std::memory_order_relaxed);
  h.clock.store(0, std::memory_order_relaxed);
  const std::size_t size = std::min(r.settings.service.size(), sizeof h.service - 1);
  std::memcpy(h.service, r.settings.service.data(), size);
  h.service[size] = '\0';
  bool copied = true;
  for (const range& part : ranges(m).list) {
    copied = copied && write_all(file.fd(), m.base() + part.at, part.bytes, part.at);
  }
  if (!copied || ::mmap(m.base(), m.layout.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                        file.fd(), 0) == MAP_FAILED) {
    const int e = errno;
    file.remove();
    return error{"cannot map \"" + file.path() + "\": " + std::strerror(e)};  // NOLINT(concurrency-mt-unsafe)
  }
  m.in_file = true;
  r.file = std::move(file);
  return {};
}

}  // namespace

result<void> flight::start(memory_map& m, const flight_options& o) {
  auto* r = new recorder{o, {}, false, false};
  if (auto moved = move_in(m, *r); !moved) {
    delete r;
    return moved;
  }
  current.store(r, std::memory_order_release);
  return {};
}

void flight::move_in_late(memory_map& m) noexcept {
  recorder* r = current.load(std::memory_order_relaxed);
  if (r == nullptr || !r->late) return;
  r->late = false;
  try {
    const auto moved = move_in(m, *r);
    if (!moved) std::fprintf(stderr, "telltale: no flight record: %s\n", moved.error().message.c_str());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "telltale: no flight record: out of memory\n");
  }
}

bool flight::extend(memory_map& m, std::uint32_t n) noexcept {
  recorder& r = *current.load(std::memory_order_relaxed);
  const std::size_t ring_bytes = m.header->ring_bytes;
  const std::size_t at = m.layout.rings + ring_bytes * n;
  const int e = ::posix_fallocate(r.file.fd(), static_cast<off_t>(at), static_cast<off_t>(ring_bytes));
  if (e == 0) return true;
  if (::mmap(m.base() + at, ring_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
             -1, 0) == MAP_FAILED) {
    return true;  // what is mapped there stays; writing to it may still find room
  }
  if (!std::exchange(r.complained, true)) {
    std::fprintf(stderr,
                 "telltale: cannot get space for another thread in \"%s\": %s. Its records, and those of later "
                 "threads, are recorded as ever but are not in the flight record.\n",
                 r.file.path().c_str(), std::strerror(e));  // NOLINT(concurrency-mt-unsafe)
  }
  return false;
}

const flight_options* flight::settings() noexcept {
  const recorder* r = current.load(std::memory_order_acquire);
  return r != nullptr ? &r->settings : nullptr;
}

void flight::discard() noexcept {
  recorder* r = current.load(std::memory_order_acquire);
  if (r != nullptr && r->file) r->file.remove();
}

void flight::before_fork() noexcept {
  const memory_map* m = memory();
  if (m == nullptr || !m->in_file) return;
  const ranges where(*m);
  std::size_t bytes = 0;
  for (const range& part : where.list) bytes += part.bytes;
  auto* copy = new (std::nothrow) std::byte[bytes];
  before = copy != nullptr ? new (std::nothrow) snapshot{where, copy} : nullptr;
  if (before == nullptr) return;
  for (const range& part : where.list) {
    std::memcpy(copy, m->base() + part.at, part.bytes);
    copy += part.bytes;
  }
}

void flight::after_fork_in_parent() noexcept {
  if (before == nullptr) return;
  delete[] before->bytes;
  delete std::exchange(before, nullptr);
}

void flight::after_fork_in_child() noexcept {
  memory_map* m = memory();
  recorder* r = current.load(std::memory_order_relaxed);
  if (r == nullptr) return;
  r->complained = false;
  if (m->in_file) {
    // Over the parent's file, which must not be touched from here. (It replaces a mapping of the same size.)
    if (::mmap(m->base(), m->layout.bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED) {
      std::fprintf(stderr, "telltale: cannot leave the parent's flight record after a fork\n");
      ::_exit(127);  // going on would write into another process's records
    }
    if (before != nullptr) {
      copy_back(*m, *before);
    } else {
      read_back(*m, r->file.fd());
    }
    m->in_file = false;
    r->file = {};
    r->late = true;
  }
  after_fork_in_parent();
}

}  // namespace telltale::detail
