// The one mapping that everything recorded lies in: catalogue, scopes, slots, threads' blocks and rings.
//
// It is laid out so that a file can back it (nothing in it depends on where it is mapped but two fields of
// thread_block that only the owner reads), its size is fixed when it is made, and only what is used is ever touched.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <telltale/core/detail/layout.hpp>
#include <telltale/core/site.hpp>

namespace telltale::detail {

inline constexpr std::uint32_t max_sites = 16384;
inline constexpr std::uint32_t max_keys = 16384;
inline constexpr std::uint32_t max_site_attributes = 65536;
inline constexpr std::uint32_t catalogue_text_bytes = 4u << 20;
inline constexpr std::uint32_t max_scopes = 16384;
inline constexpr std::uint32_t max_slots = 65536;
inline constexpr std::uint32_t slots_per_chunk = 64;
inline constexpr std::uint32_t max_rings = 65536;

// A string of the catalogue.
struct mapped_text {
  std::uint32_t offset;
  std::uint32_t size;
};

struct mapped_site {
  mapped_text name;
  mapped_text module;
  mapped_text file;
  std::uint32_t line;
  telltale::level level;
  site_kind kind;
  std::uint16_t attribute_count;
  std::uint32_t first_attribute;  // index into the catalogue's attributes
};

struct mapped_attribute {
  std::uint32_t key;  // number of the key
  attribute_type type;
};

// A node of inherited attributes. `id` is index | use << 16 while it is in use: a record that names an earlier use of
// the same node is recognised as stale.
struct alignas(line_bytes) scope_node {
  std::atomic<std::uint32_t> id;
  std::uint32_t parent;
  std::uint32_t site;
  std::uint32_t next_ended;  // index + 1, in the stack of ended scopes
  std::uint32_t use;
  std::uint16_t words;
  std::uint64_t payload[28];
};
static_assert(sizeof(scope_node) == 256);

// A straight piece of the way from ticks to time, as the drain last drew it.
struct mapped_clock {
  std::atomic<std::uint64_t> ticks;
  std::atomic<std::int64_t> wall_ns;
  std::atomic<double> ns_per_tick;  // 0: not measured yet
};

struct memory_header {
  char magic[8];  // "TELLTALE"
  std::uint32_t version;
  std::uint32_t slow_clock;  // 1: ticks are nanoseconds of CLOCK_MONOTONIC
  std::uint64_t layout;      // layout_hash of the library that wrote it
  std::uint32_t ring_bytes;
  std::uint32_t max_blocks;
  std::uint32_t process;
  std::atomic<std::uint32_t> sites;  // published with release: what is below it is complete
  std::atomic<std::uint32_t> keys;
  std::atomic<std::uint32_t> attributes;
  std::atomic<std::uint32_t> text_used;
  std::atomic<std::uint32_t> blocks;        // ever used
  std::atomic<std::uint32_t> slots;         // ever used
  std::atomic<std::uint64_t> no_memory;     // records of threads that never got a block
  std::atomic<std::uint64_t> lost_scopes;   // scopes whose attributes could not be kept
  std::atomic<std::uint32_t> ended_scopes;  // stack: index + 1

  // For readers of a file.
  std::uint64_t started_ticks;
  std::atomic<std::uint64_t> seen_ticks;  // the drain's last look at the rings: the process lived then
  mapped_clock clocks[2];
  std::atomic<std::uint32_t> clock;  // which of them holds
  char service[64];                  // terminated
};
static_assert(sizeof(memory_header) <= 4096);

// What a reader must agree with the writer about; any change of it makes files of one version foreign to the other.
constexpr std::uint64_t layout_hash() noexcept {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const std::size_t n : {sizeof(memory_header),
                              sizeof(mapped_site),
                              sizeof(mapped_text),
                              sizeof(mapped_attribute),
                              sizeof(scope_node),
                              sizeof(open_slot),
                              sizeof(thread_block),
                              offsetof(memory_header, started_ticks),
                              offsetof(thread_block, tail),
                              offsetof(thread_block, dropped),
                              offsetof(thread_block, thread_name),
                              offsetof(thread_block, outside_file),
                              std::size_t{max_sites},
                              std::size_t{max_keys},
                              std::size_t{max_site_attributes},
                              std::size_t{catalogue_text_bytes},
                              std::size_t{max_scopes},
                              std::size_t{max_slots},
                              header_words,
                              slot_payload_words}) {
    hash = (hash ^ n) * 1099511628211u;
  }
  return hash;
}
inline constexpr std::uint32_t layout_version = 2;  // grows when the meaning changes and no size does
inline constexpr char layout_magic[9] = "TELLTALE";

// Where the parts begin, in bytes from the start of the mapping.
struct memory_layout {
  std::size_t sites;
  std::size_t keys;
  std::size_t attributes;
  std::size_t text;
  std::size_t scopes;
  std::size_t slots;
  std::size_t blocks;
  std::size_t rings;
  std::size_t bytes;

  static memory_layout of(std::size_t ring_bytes, std::uint32_t max_blocks) noexcept;
};

// Addresses of the parts, in this process.
struct memory_map {
  memory_header* header = nullptr;
  mapped_site* sites = nullptr;
  mapped_text* keys = nullptr;
  mapped_attribute* attributes = nullptr;
  char* text = nullptr;
  scope_node* scopes = nullptr;
  open_slot* slots = nullptr;
  thread_block* blocks = nullptr;
  std::byte* rings = nullptr;
  memory_layout layout{};
  bool in_file = false;  // the flight recorder's

  static memory_map at(std::byte* base, const memory_layout& l) noexcept;
  std::byte* base() const noexcept { return reinterpret_cast<std::byte*>(header); }
  std::string_view string(mapped_text t) const noexcept { return {text + t.offset, t.size}; }
};

// Sizes of a mapping that doesn't exist yet; see options::ring_bytes and options::memory_bytes.
struct memory_sizes {
  std::size_t ring_bytes;
  std::size_t memory_bytes;
};

// Guards the making of the mapping, the catalogue, the handing out of blocks and the filters: everything rare that
// changes what call sites see. Held shortly, never while a sink runs; taken around fork().
extern constinit std::mutex registry_mutex;

// The mapping; makes it on first use. Null only when the operating system gives no memory. Needs registry_mutex.
memory_map* memory_locked() noexcept;
// The mapping if it exists.
memory_map* memory() noexcept;

// A block for this thread (null: none left) and its seed; starts the drain on first use.
thread_block* attach() noexcept;

// Puts the child of a fork into the state of a process that has recorded nothing, its own thread attached.
void reset_after_fork() noexcept;

// The free scopes, a queue whose oldest entry is reused first (see scopes.cpp).
void prepare_scopes(memory_map& m) noexcept;

}  // namespace telltale::detail
