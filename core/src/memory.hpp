// The one mapping that everything recorded lies in: catalogue, scopes, slots, threads' blocks and rings.
//
// It is laid out so that a file can back it (nothing in it depends on where it is mapped but two fields of
// thread_block that only the owner reads), its size is fixed when it is made, and only what is used is ever touched.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
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

struct memory_header {
  char magic[8];  // "TELLTALE"
  std::uint32_t version;
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
  std::size_t bytes = 0;

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
