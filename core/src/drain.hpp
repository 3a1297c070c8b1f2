// The drain: reads every ring, puts records back together and hands them to the sinks. One object per drain thread,
// used by that thread only (tests use it directly).
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <telltale/core/sink.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "clock.hpp"
#include "governor/aggregate.hpp"
#include "memory.hpp"
#include "scopes.hpp"

namespace telltale::detail {

using sink_list = std::vector<std::shared_ptr<sink>>;

// Counts that the drain publishes for stats().
struct drain_counts {
  std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint64_t> counted{0};   // calls that were counted rather than recorded
  std::atomic<std::uint64_t> left_out{0};  // traces that the sampler left out
  std::atomic<std::uint64_t> stale_scopes{0};
  std::atomic<std::uint64_t> truncated{0};  // events, links and attributes above the cap of a span
  std::atomic<std::uint64_t> sink_exceptions{0};
  std::atomic<std::int64_t> lag_ns{0};
  std::atomic<std::int64_t> cpu_ns{0};
};

inline record_header header_of(const std::uint64_t* w) noexcept {
  record_header h;
  std::memcpy(&h, w, sizeof h);
  return h;
}

class drain {
 public:
  drain(clock_sample started, drain_counts& counts) : started_(started), counts_(counts) {}

  // One pass over all rings. Returns the bytes it consumed and the fullest ring's share.
  struct progress {
    std::uint64_t bytes = 0;
    double fullest = 0;
  };
  progress pass(const sink_list& sinks);

  // After a pass: says what was dropped and has not been followed by a record that says so, and hands out spans whose
  // parts never came.
  void settle(const sink_list& sinks);

  // Announces spans that have been open for a second, and again every ten seconds.
  void announce_open(const sink_list& sinks);

  // With rings in a file: lets go of what the sinks have got out (until then it is kept for a reader of the file).
  // Also after a flush.
  void release(const sink_list& sinks);

  // For the governor: what was read so far, spans by call site since it last asked, and what was dropped for want of
  // room.
  std::uint64_t records_read() const noexcept { return counts_.written.load(std::memory_order_relaxed); }
  std::uint64_t records_dropped() const noexcept;
  std::vector<std::uint64_t> take_calls() { return std::exchange(calls_, {}); }
  const std::string& name_of(std::uint32_t site_id) { return site(site_id).name; }
  // What is counted so far was told by a drain before this one.
  void pass_over_counts();
  // Reads every thread's tallies; `sites`: of the tallies, by their number.
  void collect_counts(const std::vector<std::uint32_t>& sites);
  std::uint64_t calls_counted(std::uint32_t tally) const noexcept { return aggregates_.calls_of(tally); }
  // Hands out what was gathered of sites that are only counted, where it is older than that.
  void tell_aggregates(const sink_list& sinks, std::int64_t age_ns);
  // A line of the library's own, without a record.
  void say(telltale::site& line, std::span<const attribute_description> described,
           const std::vector<attribute_view>& attributes, const sink_list& sinks);

 protected:
  // Over the memory of a process that died: replay.hpp.
  drain(memory_map& of_dead, const tick_converter& clock, drain_counts& counts)
      : counts_(counts), dead_(&of_dead), converter_(clock) {}

  // What arrived of a span before its end.
  struct span_parts {
    std::vector<attribute_view> attributes;
    std::vector<event_view> events;
    std::vector<link_view> links;
    std::deque<std::string> texts;  // what the views point into
    std::uint32_t count = 0;
    bool above_cap = false;  // some were left out
    std::uint64_t pass = 0;
  };
  // A span whose parts are not all there yet: on its thread's ring the end overtook another thread's part.
  struct waiting_span {
    std::vector<std::uint64_t> words;
    thread_info thread;
    std::uint64_t pass;
  };
  struct block_state {
    thread_info thread;                           // who writes into it
    std::uint64_t told_early[drop_reasons] = {};  // losses said before the ring said them
    std::uint64_t told[drop_reasons] = {};
  };
  enum class partial { wait, emit };
  // How far each ring had been read at a moment, and what each sink had taken by then.
  struct checkpoint {
    std::chrono::steady_clock::time_point at;
    std::vector<std::uint64_t> read;
    std::vector<std::pair<std::shared_ptr<sink>, std::uint64_t>> taken;
    std::vector<ended_scopes> scopes;
  };

  memory_map* source() const noexcept { return dead_ != nullptr ? dead_ : memory(); }
  void publish_clock(memory_map& m, clock_sample now) const noexcept;
  void read_block(thread_block& b, const sink_list& sinks, progress& done);
  void read_record(const std::uint64_t* w, block_state& state, const sink_list& sinks);
  void read_span(const std::uint64_t* w, const thread_info& thread, const sink_list& sinks, partial p);
  void read_log(const std::uint64_t* w, const thread_info& thread, const sink_list& sinks);
  // What stands in an open slot; `w` is a copy.
  span_view open_span(const std::uint64_t* w, const thread_info& thread, std::int64_t now_ns);
  void read_part(const record_header& h, const std::uint64_t* w);
  void read_loss(const record_header& h, block_state& state, const sink_list& sinks);
  void read_thread(const std::uint64_t* w, block_state& state);
  void read_sample(const std::uint64_t* w, const thread_info& thread);
  void emit_loss(drop_reason why, std::uint64_t count, std::uint64_t since, const thread_info* thread,
                 const sink_list& sinks);
  void emit_waiting(const sink_list& sinks, std::uint64_t before_pass);
  void purge_parts();

  const site_info& site(std::uint32_t id);
  const scope_info* scope(std::uint32_t id) {
    if (id == 0) return nullptr;
    const std::uint32_t index = id & 0xffff;
    if (index < scopes_.size() && scopes_[index] != nullptr && scopes_[index]->id == id) return scopes_[index].get();
    return find_scope(id).get();
  }
  std::shared_ptr<const scope_info> find_scope(std::uint32_t id);
  block_state& state_of(std::uint32_t block);
  std::int64_t ns(std::uint64_t ticks) const { return converter_->to_ns(ticks); }
  template <class F>
  void each(const sink_list& sinks, F f) {
    for (const auto& s : sinks) {
      try {
        f(*s);
      } catch (...) {  // a sink that throws must not stop the others
        counts_.sink_exceptions.fetch_add(1, std::memory_order_relaxed);
      }
    }
  }

  clock_sample started_{};
  drain_counts& counts_;
  memory_map* dead_ = nullptr;                  // null: this process's own memory
  record_origin origin_ = record_origin::live;  // of what is being read
  std::optional<tick_converter> converter_;
  std::optional<checkpoint> checkpoint_;
  std::vector<ended_scopes> scopes_to_free_;  // ended, not yet in a checkpoint
  bool unreleased_ = false;                   // something was read that no checkpoint covers
  std::int64_t corrected_ns_ = 0;
  std::uint64_t pass_ = 0;

  std::vector<std::unique_ptr<site_info>> sites_;
  std::vector<std::shared_ptr<const scope_info>> scopes_;  // by node
  std::uint32_t threads_ = 0;                              // seen so far
  std::vector<block_state> blocks_;
  std::unordered_map<std::uint64_t, span_parts> parts_;
  std::vector<waiting_span> waiting_;
  std::unordered_map<std::uint64_t, std::int64_t> announced_;  // open spans that were announced, and when last
  std::uint64_t told_no_memory_ = 0;

  std::vector<std::uint64_t> calls_;  // spans read, by call site, since the governor asked
  aggregates aggregates_;
  std::uint64_t aggregate_id_ = 0;  // of the last one that was told

  // Reused, so that a record costs no allocation.
  std::vector<attribute_view> attributes_;
};

}  // namespace telltale::detail
