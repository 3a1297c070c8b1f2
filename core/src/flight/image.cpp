// Reading and checking.
#include "image.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <telltale/core/detail/write.hpp>
#include <telltale/core/runtime.hpp>
#include <telltale/core/sink.hpp>
#include <utility>

namespace telltale::detail {

namespace {

constexpr std::size_t most_damage = 20;
constexpr std::uint32_t deepest_scope = 1000;
constexpr std::uint64_t longest_life = std::uint64_t{1} << 59;  // ticks: six years of a counter of 3 GHz
constexpr double slowest = 2.1;                                 // nanoseconds per tick of a counter
constexpr std::uint64_t ticks_slack = std::uint64_t{1} << 44;   // an hour and more, whatever the clock's rate

result<void> read_all(int fd, std::byte* to, std::size_t bytes, std::size_t at, const std::string& path) {
  while (bytes != 0) {
    const ssize_t n = ::pread(fd, to, bytes, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return error{"cannot read \"" + path + "\": " + std::strerror(errno)};  // NOLINT(concurrency-mt-unsafe)
    if (n == 0) return error{"cannot read \"" + path + "\": it ends at byte " + std::to_string(at) + " (truncated?)"};
    to += n;
    at += static_cast<std::size_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
  return {};
}

// What must be right before anything else can be looked at.
result<memory_layout> check_header(const memory_header& h, std::uint64_t bytes, const std::string& path) {
  const auto refuse = [&](const std::string& what) { return error{"cannot read \"" + path + "\": " + what}; };
  if (std::memcmp(h.magic, layout_magic, sizeof h.magic) != 0) {
    return refuse("it is no flight record of Telltale's");
  }
  if (h.version != layout_version || h.layout != layout_hash()) {
    return refuse("it was written by another version of Telltale (layout " + std::to_string(h.version) + ", this is " +
                  std::to_string(layout_version) + "). Use the `telltale` of that version.");
  }
  const bool ring_is_valid =
      h.ring_bytes >= 65536 && h.ring_bytes <= (1u << 30) && (h.ring_bytes & (h.ring_bytes - 1)) == 0;
  if (!ring_is_valid || h.max_blocks == 0 || h.max_blocks > max_rings) {
    return refuse("its header is damaged (" + std::to_string(h.max_blocks) + " rings of " +
                  std::to_string(h.ring_bytes) + " bytes)");
  }
  const memory_layout l = memory_layout::of(h.ring_bytes, h.max_blocks);
  if (bytes < l.bytes) {
    return refuse("it should have " + std::to_string(l.bytes) + " bytes but has " + std::to_string(bytes) +
                  " (truncated?)");
  }
  return l;
}

}  // namespace

flight_image::flight_image(flight_image&& o) noexcept
    : map_(o.map_),
      owned_(std::exchange(o.owned_, false)),
      alive_(o.alive_),
      first_ticks_(o.first_ticks_),
      last_ticks_(o.last_ticks_),
      whole_from_(std::move(o.whole_from_)),
      heads_after_(std::move(o.heads_after_)),
      tails_after_(std::move(o.tails_after_)),
      open_(std::move(o.open_)),
      damage_(std::move(o.damage_)) {}

flight_image::~flight_image() {
  if (owned_) ::munmap(map_.base(), map_.layout.bytes);
}

void flight_image::add_damage(std::string what) {
  if (damage_.size() < most_damage) damage_.push_back(std::move(what));
}

result<flight_image> flight_image::over(std::byte* base, std::size_t bytes) {
  if (bytes < sizeof(memory_header)) return error{"too small for a header"};
  const auto l = check_header(*reinterpret_cast<memory_header*>(base), bytes, "memory");
  if (!l) return l.error();
  flight_image image;
  image.map_ = memory_map::at(base, *l);
  image.check();
  return image;
}

result<flight_image> flight_image::read(int fd, const std::string& path, bool alive) {
  struct stat s{};
  if (::fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)) return error{"cannot read \"" + path + "\": it is no file"};
  if (static_cast<std::uint64_t>(s.st_size) < sizeof(memory_header)) {
    return error{"cannot read \"" + path + "\": it has only " + std::to_string(s.st_size) +
                 " bytes, less than a flight record's header"};
  }
  alignas(memory_header) std::byte first[sizeof(memory_header)];
  if (auto done = read_all(fd, first, sizeof first, 0, path); !done) return done.error();
  const auto l =
      check_header(*std::launder(reinterpret_cast<memory_header*>(first)), static_cast<std::uint64_t>(s.st_size), path);
  if (!l) return l.error();
  void* p = ::mmap(nullptr, l->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return error{"cannot read \"" + path + "\": there is no memory for its " + std::to_string(l->bytes) + " bytes"};
  flight_image image;
  image.map_ = memory_map::at(static_cast<std::byte*>(p), *l);
  image.owned_ = true;
  image.alive_ = alive;
  memory_map& m = image.map_;
  result<void> done;
  const auto part = [&](std::size_t at, std::size_t bytes) {
    if (done) done = read_all(fd, m.base() + at, bytes, at, path);
  };

  // Slots of a living process first: what was open before, and still is in the end, was open all the while.
  std::vector<std::uint64_t> begins;
  std::vector<std::uint64_t> ids;
  if (alive) {
    part(l->slots, max_slots * sizeof(open_slot));
    for (std::uint32_t i = 0; i < max_slots; ++i) {
      begins.push_back(m.slots[i].words[2]);
      ids.push_back(m.slots[i].words[6]);
    }
  }
  part(l->slots, max_slots * sizeof(open_slot));
  part(l->scopes, max_scopes * sizeof(scope_node));
  part(0, sizeof(memory_header));
  const std::uint32_t blocks = std::min(m.header->blocks.load(std::memory_order_relaxed), m.header->max_blocks);
  for (std::uint32_t i = 0; done && i < blocks; ++i) {
    // One after the other, and its positions again at once: a living process overwrites what we read.
    const std::size_t block = l->blocks + i * sizeof(thread_block);
    part(block, sizeof(thread_block));
    if (m.blocks[i].outside_file == 0) part(l->rings + std::size_t{m.header->ring_bytes} * i, m.header->ring_bytes);
    alignas(thread_block) std::byte again[sizeof(thread_block)];
    if (done) done = read_all(fd, again, sizeof again, block, path);
    if (!done) break;
    const auto* now = std::launder(reinterpret_cast<thread_block*>(again));
    image.heads_after_.push_back(now->head.load(std::memory_order_relaxed));
    image.tails_after_.push_back(now->tail.load(std::memory_order_relaxed));
  }
  // The catalogue last: it only grows, and everything read above is described in it.
  const memory_header& h = *m.header;
  const std::uint32_t rings_of = h.blocks.load(std::memory_order_relaxed);
  if (done) part(0, sizeof(memory_header));
  m.header->blocks.store(rings_of, std::memory_order_relaxed);
  part(l->sites, sizeof(mapped_site) * std::min(h.sites.load(std::memory_order_relaxed), max_sites));
  part(l->attributes,
       sizeof(mapped_attribute) * std::min(h.attributes.load(std::memory_order_relaxed), max_site_attributes));
  part(l->keys, sizeof(mapped_text) * std::min(h.keys.load(std::memory_order_relaxed), max_keys));
  part(l->text, std::min(h.text_used.load(std::memory_order_relaxed), catalogue_text_bytes));

  if (alive && done) {
    std::vector<std::byte> again(max_slots * sizeof(open_slot));
    done = read_all(fd, again.data(), again.size(), l->slots, path);
    const auto* slots = reinterpret_cast<const open_slot*>(again.data());
    for (std::uint32_t i = 0; done && i < max_slots; ++i) {
      image.open_.push_back(begins[i] != 0 && m.slots[i].words[2] == begins[i] && m.slots[i].words[6] == ids[i] &&
                            slots[i].words[2] == begins[i] && slots[i].words[6] == ids[i]);
    }
  }
  if (!done) return done.error();
  image.check();
  return image;
}

void flight_image::check() {
  check_counts();
  check_catalogue();
  check_scopes();
  check_blocks();
  check_slots();
}

void flight_image::check_counts() {
  memory_header& h = *map_.header;
  const auto limit = [&](std::atomic<std::uint32_t>& count, std::uint32_t most, const char* what) {
    const std::uint32_t n = count.load(std::memory_order_relaxed);
    if (n <= most) return;
    add_damage("its header says " + std::to_string(n) + " " + what + " of at most " + std::to_string(most));
    count.store(most, std::memory_order_relaxed);
  };
  limit(h.sites, max_sites, "call sites");
  limit(h.keys, max_keys, "keys");
  limit(h.attributes, max_site_attributes, "attributes");
  limit(h.text_used, catalogue_text_bytes, "bytes of text");
  limit(h.blocks, h.max_blocks, "threads");
  limit(h.slots, max_slots, "open spans");
  h.service[sizeof h.service - 1] = '\0';
  // Before the first look of its drain, the file's beginning is the last thing known.
  const std::uint64_t seen = h.seen_ticks.load(std::memory_order_relaxed);
  first_ticks_ = h.started_ticks > ticks_slack ? h.started_ticks - ticks_slack : 0;
  last_ticks_ = std::max(seen, h.started_ticks) + ticks_slack;
  if (h.started_ticks > UINT64_MAX / 4 || seen < h.started_ticks || seen - h.started_ticks > longest_life) {
    add_damage("the times in its header are impossible");
    h.started_ticks = std::min(h.started_ticks, UINT64_MAX / 4);
    h.seen_ticks.store(h.started_ticks, std::memory_order_relaxed);
    first_ticks_ = 0;
    last_ticks_ = h.started_ticks + ticks_slack;
  }
}

void flight_image::check_catalogue() {
  const memory_header& h = *map_.header;
  const std::uint32_t text_used = h.text_used.load(std::memory_order_relaxed);
  const std::uint32_t keys = h.keys.load(std::memory_order_relaxed);
  const std::uint32_t attributes = h.attributes.load(std::memory_order_relaxed);
  const auto check_text = [&](mapped_text& t) {
    if (t.offset <= text_used && t.size <= text_used - t.offset && t.size <= max_string_bytes) return true;
    t = {0, 0};
    return false;
  };
  for (std::uint32_t i = 0; i < keys; ++i) {
    if (!check_text(map_.keys[i])) add_damage("key " + std::to_string(i) + " lies outside of the catalogue's text");
  }
  for (std::uint32_t i = 0; i < attributes; ++i) {
    mapped_attribute& a = map_.attributes[i];
    if (a.key < keys && a.type <= attribute_type::string) continue;
    add_damage("attribute " + std::to_string(i) + " has no key or type");
    a = {0, attribute_type::uint64};
  }
  for (std::uint32_t i = 0; i < h.sites.load(std::memory_order_relaxed); ++i) {
    mapped_site& s = map_.sites[i];
    bool whole = check_text(s.name);
    whole = check_text(s.module) && whole;
    whole = check_text(s.file) && whole;
    if (s.level > level::trace || s.kind > site_kind::event || s.first_attribute > attributes ||
        s.attribute_count > attributes - s.first_attribute || s.attribute_count > max_attributes) {
      s.level = level::info;
      s.kind = site_kind::span;
      s.attribute_count = 0;
      whole = false;
    }
    if (!whole) add_damage("call site " + std::to_string(i) + " is damaged");
  }
}

// Numbers in range, and no circles: whoever follows the parents comes to an end. A node without a number is nobody's
// parent.
void flight_image::check_scopes() {
  const std::uint32_t sites = map_.header->sites.load(std::memory_order_relaxed);
  const auto in_use = [&](std::uint32_t i) { return map_.scopes[i].id.load(std::memory_order_relaxed) != 0; };
  std::vector<std::uint32_t> depth(max_scopes, 0);  // 0: not known
  std::vector<std::uint32_t> path;
  for (std::uint32_t i = 0; i < max_scopes; ++i) {
    if (!in_use(i)) continue;
    scope_node& n = map_.scopes[i];
    if (n.site >= sites) n.site = 0;
    n.words = static_cast<std::uint16_t>(std::min<std::size_t>(n.words, std::size(n.payload)));
    path.clear();
    std::uint32_t d = 0;  // of what stands above the path
    for (std::uint32_t at = i;;) {
      path.push_back(at);
      const std::uint32_t up = map_.scopes[at].parent & 0xffff;
      if (map_.scopes[at].parent == 0 || up >= max_scopes || !in_use(up)) break;
      const bool leads_nowhere = path.size() > deepest_scope || depth[up] >= deepest_scope ||
                                 std::find(path.begin(), path.end(), up) != path.end();
      if (leads_nowhere) {
        add_damage("scope " + std::to_string(at) + " has no possible parent");
        map_.scopes[at].parent = 0;
        break;
      }
      if (depth[up] != 0) {
        d = depth[up];
        break;
      }
      at = up;
    }
    for (auto p = path.rbegin(); p != path.rend(); ++p) depth[*p] = ++d;
  }
}

void flight_image::check_blocks() {
  const memory_header& h = *map_.header;
  const std::uint64_t capacity = h.ring_bytes;
  for (std::uint32_t i = 0; i < h.blocks.load(std::memory_order_relaxed); ++i) {
    thread_block& b = map_.blocks[i];
    b.ring = std::launder(reinterpret_cast<std::uint64_t*>(map_.rings + capacity * i));
    b.mask = capacity - 1;
    b.index = i;
    b.thread_name[sizeof b.thread_name - 1] = '\0';
    std::uint64_t head = b.head.load(std::memory_order_relaxed);
    std::uint64_t read = b.read.load(std::memory_order_relaxed);
    std::uint64_t tail = b.tail.load(std::memory_order_relaxed);
    const bool possible = tail <= read && read <= head && head - tail <= capacity && head < (std::uint64_t{1} << 62) &&
                          (head | read | tail) % line_bytes == 0;
    if (!possible && !alive_) add_damage("the positions of thread " + std::to_string(i) + " are impossible");
    if (!possible || b.outside_file != 0) {
      // A living process moves on between our looks at its positions; what is certain stays.
      if (!alive_ || head >= (std::uint64_t{1} << 62) || (head | tail) % line_bytes != 0 || b.outside_file != 0)
        head = 0;
      read = std::min(read, head) / line_bytes * line_bytes;
      tail = std::min(tail, read);
      if (head - tail > capacity) tail = read = head;
    }
    b.head.store(head, std::memory_order_relaxed);
    b.read.store(read, std::memory_order_relaxed);
    b.tail.store(tail, std::memory_order_relaxed);
    // Behind the head, the next record may be on its way; it overwrites the oldest. Never what lies behind the tail.
    const std::uint64_t head_after = alive_ ? std::max(head, heads_after_[i]) : head;
    const std::uint64_t tail_after = alive_ ? std::max(tail, tails_after_[i]) : tail;
    const std::uint64_t written = head_after + max_record_words * 8;
    whole_from_.push_back(std::min(written > capacity ? written - capacity : 0, tail_after));
    if (b.outside_file != 0) {
      add_damage("the records of thread " + std::to_string(i) + " are not in the file: the disk was full");
    }
  }
}

void flight_image::check_slots() {
  const memory_header& h = *map_.header;
  // A living process may have taken more slots since the header was read: those are too young to be certain of.
  open_.resize(h.slots.load(std::memory_order_relaxed), !alive_);
  for (std::uint32_t i = 0; i < open_.size(); ++i) {
    const open_slot& slot = map_.slots[i];
    const std::uint64_t begin = slot.words[2];
    if (begin == 0 || slot.block == abandoned_block || (slot.words[0] >> 16 & state_left_out) != 0) open_[i] = false;
    if (!open_[i]) continue;
    if (begin < first_ticks_ || begin > last_ticks_ || slot.block >= h.blocks.load(std::memory_order_relaxed) ||
        (slot.words[0] >> (16 + state_kind_shift) & state_kind_mask) > 4) {
      add_damage("open span in slot " + std::to_string(i) + " is damaged");
      open_[i] = false;
    }
  }
}

tick_converter flight_image::clock() const {
  const memory_header& h = *map_.header;
  const mapped_clock& c = h.clocks[h.clock.load(std::memory_order_relaxed) & 1];
  clock_sample at{c.ticks.load(std::memory_order_relaxed), c.wall_ns.load(std::memory_order_relaxed)};
  double ns_per_tick = c.ns_per_tick.load(std::memory_order_relaxed);
  const bool is_measured = std::isfinite(ns_per_tick) && ns_per_tick > slowest / 40 && ns_per_tick < slowest;
  if (h.slow_clock != 0) {
    ns_per_tick = 1;
  } else if (!is_measured) {
    // It died before its drain's first look. This machine's counter is the same one, or much like it.
    const clock_sample before = sample_clocks();
    const timespec pause{0, 5'000'000};
    ::nanosleep(&pause, nullptr);
    const clock_sample after = sample_clocks();
    ns_per_tick =
        clock_is_slow != 0 || after.ticks == before.ticks
            ? 1
            : static_cast<double>(after.wall_ns - before.wall_ns) / static_cast<double>(after.ticks - before.ticks);
  }
  constexpr std::int64_t earliest = std::int64_t{1'500'000'000} * 1'000'000'000;  // the year 2017
  constexpr std::int64_t latest = std::int64_t{7'258'118'400} * 1'000'000'000;    // the year 2200
  if (at.ticks < first_ticks_ || at.ticks > last_ticks_) at.ticks = h.started_ticks;
  at.wall_ns = std::clamp(at.wall_ns, earliest, latest);
  return tick_converter(at, 1 / ns_per_tick);
}

}  // namespace telltale::detail
