// The bytes: records, slots of open spans, threads' blocks. What lies in the mapped memory is described here and
// nowhere else; nothing in it is an address, so that a file of it can be read by another process.
//
// A record is a whole number of 64-byte lines and never wraps around the end of its ring:
//
//   word 0   lines (8) | kind (8) | state (8) | parts (8) | site (32)
//   word 1   scope (32) | payload words (16) | depth of late attributes (16)
//   word 2   time: begin of a span, moment of a log line or event          (clock ticks)
//   word 3   end of a span (clock ticks); while it is open, what its thread goes back to: position_words::rest
//   word 4,5 trace id            word 6 span id             word 7 parent span id; for a log, the span's call site
//   word 8…  payload
//
// The payload holds the site's own attributes in the order of the site's table, then late ones, each preceded by a
// word that names its key. A number is one word. A string is a word with its length (low half) and its full length
// before it was cut (high half), then its bytes, padded to whole words. Everything is loaded as it was stored or in
// smaller pieces, so that a slot that has just been written can be read back without waiting for it.
//
// A span is one record, written at its end. What does not fit into its slot, and events and links, are records of
// their own that name the span and are counted in `parts`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <telltale/core/attribute.hpp>

namespace telltale::detail {

inline constexpr std::size_t line_bytes = 64;
inline constexpr std::size_t line_words = 8;
inline constexpr std::size_t header_words = 8;
inline constexpr std::size_t max_record_words = 255 * line_words;

enum class record_kind : std::uint8_t {
  padding = 0,  // skip to the start of the ring
  span = 1,
  log = 2,
  attributes = 3,  // late attributes of a span
  event = 4,
  link = 5,
  loss = 6,    // payload: reason, count, time of the first
  thread = 7,  // payload: operating system's thread id, name: who writes from here on
  sample = 8,  // one call of a site that is only counted: a span without attributes. Payload: numbers of
               // the thread's sheet (32) and of the tally (32), calls counted up to this one, one in how many is timed
};

struct record_header {
  std::uint8_t lines;
  record_kind kind;
  std::uint8_t state;  // span: status (bit 0: failed), kind of span (bits 1-3), scope owner (bit 4), first of its trace
                       // (bit 5), left out by the sampler (bit 6), nothing was current before it (bit 7)
  std::uint8_t parts;  // span: number of records of its own, saturating at 255
  std::uint32_t site;
  std::uint32_t scope;
  std::uint16_t payload_words;
  std::uint16_t flags;
  std::uint64_t time;
  std::uint64_t end;
  std::uint64_t trace_high;
  std::uint64_t trace_low;
  std::uint64_t span;
  std::uint64_t parent;
};
static_assert(sizeof(record_header) == header_words * 8);

inline constexpr std::uint8_t state_failed = 1;
inline constexpr std::uint8_t state_kind_shift = 1;
inline constexpr std::uint8_t state_kind_mask = 7;
inline constexpr std::uint8_t state_owns_scope = 16;
inline constexpr std::uint8_t state_began_trace = 32;
inline constexpr std::uint8_t state_left_out = 64;
inline constexpr std::uint8_t state_is_root = 128;

// Bits of record_header::flags.
inline constexpr std::uint16_t flag_no_static_attributes = 1;  // the site's own attributes are in a part

// A late attribute: word = key (32) | type (8), then the value as above.
constexpr std::uint64_t late_key(std::uint32_t key, attribute_type type) noexcept {
  return std::uint64_t{key} | std::uint64_t{static_cast<std::uint8_t>(type)} << 32;
}

// An open span: the image of its record, plus what only its slot needs. Written by whoever holds the span, read by
// the drain and by `recover`; the words are therefore atomics (relaxed: plain moves). Word 2, the begin, is written
// last and is zero while the slot is free; word 6, the span's id, never comes twice. A reader that finds both as they
// were before it read the rest has read one span.
inline constexpr std::uint32_t abandoned_block = 0xffffffff;  // open_slot::block of a span that a fork left behind
inline constexpr std::size_t slot_words = 32;
inline constexpr std::size_t slot_payload_words = slot_words - header_words - 1;
struct alignas(line_bytes) open_slot {
  std::uint64_t words[header_words + slot_payload_words];
  std::uint32_t next_free;  // number + 1 of the next slot in a free list
  std::uint32_t block;      // index of the block it belongs to
};
static_assert(sizeof(open_slot) == slot_words * 8);

enum class drop_reason : std::uint8_t {
  ring_full = 0,      // the drain was slower than the program
  no_memory = 1,      // no ring for this thread: the total cap is reached
  too_many_open = 2,  // more open spans than slots
  too_large = 3,      // a record above the largest size
  shut_down = 4,      // after shutdown()
};
inline constexpr std::size_t drop_reasons = 5;

// One thread's memory: its ring and its open spans. A block outlives its thread and is handed to a later one; the
// records in it name the change of hands. Producer's, consumer's and rare words lie on lines of their own. The two
// addresses are this process's and mean nothing to another reader.
struct alignas(line_bytes) thread_block {
  // Producer (the owning thread; the drain reads `head`).
  std::atomic<std::uint64_t> head;  // bytes ever written, padding included
  std::uint64_t limit;              // head may grow to here without a look at `tail`; 0: go the slow way
  std::uint64_t mask;               // ring bytes - 1; 0: the block of threads that have none
  std::uint64_t* ring;
  open_slot* top;            // slots are a stack: the next one to take …
  open_slot* top_end;        // … up to here; null: go the slow way
  std::uint32_t index;       // of this block
  std::uint32_t slow_clock;  // 1: the time-stamp counter is not used; limit stays 0, and top_end null
  std::uint32_t free_slots;  // number + 1 of the first slot that ended out of order, 0: none

  // Consumer (the drain).
  alignas(line_bytes) std::atomic<std::uint64_t> tail;  // bytes ever consumed: what lies before may be overwritten
  std::atomic<std::uint64_t> read;                      // bytes handed to the sinks, or being handed to them

  // Rare.
  alignas(line_bytes) std::atomic<std::uint32_t> returned_slots;  // freed by other threads: number + 1, a stack
  std::atomic<std::uint32_t> owned;                               // 1 while a thread lives in it
  std::atomic<std::uint64_t> dropped[drop_reasons];               // owner counts, anybody reads
  std::uint64_t told[drop_reasons];                               // how many of them loss records have told
  std::atomic<std::uint64_t> first_drop_time;                     // of those not yet told, 0: none
  std::atomic<std::uint64_t> truncated;                           // values that were cut
  std::uint64_t thread_id;                                        // the operating system's, of the owner
  char thread_name[64];                                           // terminated
  open_slot* slots_end;                                           // top_end, whatever the clock
  std::uint32_t thread_untold;                                    // 1: no record has said yet who writes here now
  std::uint32_t outside_file;  // 1: the disk was full, so that the ring lies in plain memory
};

// Whether it is a block of memory() at all: a thread that has written nothing yet, or that there was no room for, has
// one without a ring and without slots, where every write goes the slow way.
inline bool has_ring(const thread_block* b) noexcept {
  return b->mask != 0;
}

}  // namespace telltale::detail
