// One pass of the drain: rings to views to sinks.
#include "drain.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <telltale/core/clock.hpp>
#include <telltale/core/detail/write.hpp>

#include "catalogue.hpp"
#include "decode.hpp"
#include "engine.hpp"
#include "governor/tallies.hpp"
#include "processor_time.hpp"
#include "record.hpp"

namespace telltale::detail {

namespace {

constexpr std::uint64_t release_every = 64 * 1024;  // bytes: a waiting producer goes on before the pass is over

constexpr std::int64_t heartbeat_ns = 10'000'000'000;

// Records that somebody made (padding, losses and changes of hands are the library's own).
bool counts_as_written(record_kind k) noexcept {
  return k == record_kind::span || k == record_kind::log || k == record_kind::attributes || k == record_kind::event ||
         k == record_kind::link;
}

}  // namespace

drain::progress drain::pass(const sink_list& sinks) {
  progress done;
  memory_map* m = source();
  if (m == nullptr) return done;

  const clock_sample now = sample_clocks();
  if (!converter_) {
    // The rate from the library's start until now; a first pass waits a few milliseconds for that.
    const auto span_ns = static_cast<double>(std::max<std::int64_t>(now.wall_ns - started_.wall_ns, 1));
    converter_.emplace(started_, static_cast<double>(now.ticks - started_.ticks) / span_ns);
    corrected_ns_ = now.wall_ns;
    publish_clock(*m, now);
  } else if (now.wall_ns - corrected_ns_ > 500'000'000 || now.wall_ns < corrected_ns_) {
    converter_->correct(now);
    corrected_ns_ = now.wall_ns;
    publish_clock(*m, now);
  }
  m->header->seen_ticks.store(now.ticks, std::memory_order_relaxed);
  ++pass_;

  // Scopes that ended before this pass begins: once it is over, every record that names them has been read.
  const ended_scopes ending = take_ended_scopes();

  std::uint64_t oldest = now.ticks;
  const std::uint32_t blocks = m->header->blocks.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < blocks; ++i) {
    thread_block& b = m->blocks[i];
    const std::uint64_t at = b.read.load(std::memory_order_relaxed);
    if (b.head.load(std::memory_order_acquire) != at) {
      const std::uint64_t* first = b.ring + (at & b.mask) / 8;
      const auto kind = static_cast<record_kind>(*first >> 8 & 0xff);
      if (kind == record_kind::log) oldest = std::min(oldest, first[2]);
      if (kind == record_kind::span) oldest = std::min(oldest, first[3]);
      read_block(b, sinks, done);
    }
  }
  emit_waiting(sinks, pass_);

  if (m->in_file) {
    if (ending != 0) scopes_to_free_.push_back(ending);
  } else {
    free_scopes(ending);
  }

  const std::uint64_t untold = m->header->no_memory.load(std::memory_order_relaxed);
  if (untold > told_no_memory_) {
    emit_loss(drop_reason::no_memory, untold - told_no_memory_, now.ticks, nullptr, sinks);
    told_no_memory_ = untold;
  }
  if (done.bytes != 0) {
    each(sinks, [](sink& s) { s.on_batch_end(); });
    unreleased_ = true;
    counts_.lag_ns.store(ns(now.ticks) - ns(oldest), std::memory_order_relaxed);
  }
  if (m->in_file) release(sinks);
  if (pass_ % 1024 == 0) purge_parts();
  counts_.cpu_ns.store(thread_processor_ns(), std::memory_order_relaxed);
  return done;
}

void drain::read_block(thread_block& b, const sink_list& sinks, progress& done) {
  const std::uint64_t head = b.head.load(std::memory_order_acquire);
  std::uint64_t at = b.read.load(std::memory_order_relaxed);
  const std::uint64_t from = at;
  // Said before the first of them is handed over: what a file says was never handed, was not.
  b.read.store(head, std::memory_order_relaxed);
  std::uint64_t released = b.tail.load(std::memory_order_relaxed);
  const std::uint64_t used = head - released;
  done.fullest = std::max(done.fullest, static_cast<double>(used) / static_cast<double>(b.mask + 1));
  // Unless the program wants to wait for its sinks, one that falls behind must not stop it: then a flight record goes
  // without what that sink has not got out.
  const bool keep = source()->in_file && (used <= (b.mask + 1) / 2 || engine::waits());
  std::uint64_t written = 0;
  while (at != head) {
    const std::uint64_t* w = b.ring + (at & b.mask) / 8;
    const std::uint64_t bytes = (*w & 0xff) * line_bytes;
    if (counts_as_written(static_cast<record_kind>(*w >> 8 & 0xff))) ++written;
    read_record(w, state_of(b.index), sinks);
    at += bytes;
    if (!keep && at - released >= release_every) {
      const bool was_crowded = is_crowded(b);
      b.tail.store(at, std::memory_order_release);
      released = at;
      if (was_crowded && !is_crowded(b)) engine::made_room();
    }
  }
  if (!keep) {
    b.tail.store(at, std::memory_order_release);
    engine::made_room();
  }
  counts_.written.store(counts_.written.load(std::memory_order_relaxed) + written, std::memory_order_relaxed);
  done.bytes += at - from;
}

void drain::publish_clock(memory_map& m, clock_sample now) const noexcept {
  memory_header& h = *m.header;
  const std::uint32_t next = 1 - (h.clock.load(std::memory_order_relaxed) & 1);
  h.clocks[next].ticks.store(now.ticks, std::memory_order_relaxed);
  h.clocks[next].wall_ns.store(ns(now.ticks), std::memory_order_relaxed);
  h.clocks[next].ns_per_tick.store(converter_->ns_per_tick(), std::memory_order_relaxed);
  h.clock.store(next, std::memory_order_release);
}

void drain::release(const sink_list& sinks) {
  memory_map* m = source();
  if (m == nullptr || !m->in_file) return;
  const auto now = std::chrono::steady_clock::now();
  const auto settle_checkpoint = [&] {
    const bool is_out = std::all_of(checkpoint_->taken.begin(), checkpoint_->taken.end(),
                                    [](const auto& t) { return t.first->delivered().out >= t.second; });
    // A sink that stalls is not waited for: scopes would run out.
    if (!is_out && (now - checkpoint_->at < std::chrono::seconds(1) || engine::waits())) return false;
    for (std::size_t i = 0; i < checkpoint_->read.size(); ++i) {
      thread_block& b = m->blocks[i];
      const std::uint64_t tail = b.tail.load(std::memory_order_relaxed);
      b.tail.store(std::max(tail, checkpoint_->read[i]), std::memory_order_release);
    }
    engine::made_room();
    for (const ended_scopes list : checkpoint_->scopes) free_scopes(list);
    checkpoint_.reset();
    return true;
  };
  if (checkpoint_ && !settle_checkpoint()) return;
  // A span that waits for its parts has been read, and no sink has it.
  if (!waiting_.empty() || (!unreleased_ && scopes_to_free_.empty())) return;
  checkpoint& next = checkpoint_.emplace();
  next.at = now;
  const std::uint32_t blocks = m->header->blocks.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < blocks; ++i) next.read.push_back(m->blocks[i].read.load(std::memory_order_relaxed));
  for (const auto& s : sinks) next.taken.emplace_back(s, s->delivered().taken);
  next.scopes = std::exchange(scopes_to_free_, {});
  unreleased_ = false;
  settle_checkpoint();
}

void drain::read_record(const std::uint64_t* w, block_state& state, const sink_list& sinks) {
  switch (static_cast<record_kind>(*w >> 8 & 0xff)) {
    case record_kind::span:
      read_span(w, state.thread, sinks, partial::wait);
      break;
    case record_kind::log:
      read_log(w, state.thread, sinks);
      break;
    case record_kind::attributes:
    case record_kind::event:
    case record_kind::link:
      read_part(header_of(w), w + header_words);
      break;
    case record_kind::loss:
      read_loss(header_of(w), state, sinks);
      break;
    case record_kind::thread:
      read_thread(w, state);
      break;
    case record_kind::sample:
      read_sample(w, state.thread);
      break;
    case record_kind::padding:
      break;
  }
}

void drain::read_span(const std::uint64_t* w, const thread_info& thread, const sink_list& sinks, partial p) {
  const record_header h = header_of(w);
  if ((h.state & state_left_out) != 0) {
    counts_.left_out.fetch_add(1, std::memory_order_relaxed);
    parts_.erase(h.span);
    return;
  }
  span_parts* parts = nullptr;
  bool incomplete = false;
  if (h.parts != 0) {
    const auto found = parts_.find(h.span);
    parts = found != parts_.end() ? &found->second : nullptr;
    const bool are_missing = (parts == nullptr ? 0 : parts->count) < h.parts;
    if (are_missing && p == partial::wait) {
      waiting_.push_back({{w, w + h.lines * line_words}, thread, pass_});
      return;
    }
    incomplete = are_missing || (parts != nullptr && parts->above_cap);
  }
  const site_info& s = site(h.site);
  if (h.site >= calls_.size()) calls_.resize(sites_.size());
  ++calls_[h.site < calls_.size() ? h.site : 0];
  attributes_.clear();
  decode_attributes(*source(), s.attributes, (h.flags & flag_no_static_attributes) != 0, w + header_words,
                    h.site != 0 ? h.payload_words : 0, attributes_);
  std::span<const event_view> events;
  std::span<const link_view> links;
  if (parts != nullptr) {
    attributes_.insert(attributes_.end(), parts->attributes.begin(), parts->attributes.end());
    events = parts->events;
    links = parts->links;
  }
  if (attributes_.size() > s.attributes.size()) keep_last_of_each_key(attributes_);
  const std::int64_t begin = ns(h.time);
  const span_view view{s,
                       scope(h.scope),
                       thread,
                       {h.trace_high, h.trace_low},
                       {h.span},
                       {h.parent},
                       begin,
                       std::max(begin, ns(h.end)),
                       (h.state & state_failed) != 0,
                       incomplete,
                       static_cast<span_kind>(h.state >> state_kind_shift & state_kind_mask),
                       attributes_,
                       events,
                       links,
                       origin_};
  each(sinks, [&](sink& out) { out.on_span(view); });
  if (parts != nullptr) parts_.erase(h.span);
  if (!announced_.empty()) announced_.erase(h.span);
}

void drain::read_log(const std::uint64_t* w, const thread_info& thread, const sink_list& sinks) {
  const record_header h = header_of(w);
  const site_info& s = site(h.site);
  attributes_.clear();
  decode_attributes(*source(), s.attributes, false, w + header_words, h.site != 0 ? h.payload_words : 0, attributes_);
  if (attributes_.size() > s.attributes.size()) keep_last_of_each_key(attributes_);  // the C interface takes any list
  const auto origin = static_cast<std::uint32_t>(h.parent);
  const log_view view{s,          scope(h.scope),
                      thread,     {h.trace_high, h.trace_low},
                      {h.span},   origin != 0 ? std::string_view{site(origin).name} : std::string_view{},
                      ns(h.time), attributes_,
                      origin_};
  each(sinks, [&](sink& out) { out.on_log(view); });
}

void drain::read_part(const record_header& h, const std::uint64_t* payload) {
  span_parts& parts = parts_[h.span];
  ++parts.count;
  parts.pass = pass_;
  if (h.kind == record_kind::link) {
    if (parts.links.size() == max_attributes) {
      parts.above_cap = true;
      counts_.truncated.fetch_add(1, std::memory_order_relaxed);
    } else {
      parts.links.push_back({{payload[0], payload[1]}, {payload[2]}, static_cast<link_kind>(payload[3])});
    }
    return;
  }
  // The views point into the ring, which is about to be reused.
  const auto keep = [&](std::vector<attribute_view>& views, std::size_t from) {
    for (std::size_t i = from; i < views.size(); ++i) {
      if (views[i].type == attribute_type::string) views[i].text = parts.texts.emplace_back(views[i].text);
    }
  };
  const std::size_t so_far = h.kind == record_kind::event ? parts.events.size() : parts.attributes.size();
  if (so_far == max_attributes) {
    parts.above_cap = true;
    counts_.truncated.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (h.kind == record_kind::event) {
    event_view& e = parts.events.emplace_back(event_view{ns(h.time), &site(h.site), {}});
    decode_attributes(*source(), e.site->attributes, false, payload, h.payload_words, e.attributes);
    if (e.attributes.size() > e.site->attributes.size()) keep_last_of_each_key(e.attributes);
    keep(e.attributes, 0);
  } else {
    const std::size_t from = parts.attributes.size();
    decode_attributes(*source(), {}, true, payload, h.payload_words, parts.attributes);
    keep(parts.attributes, from);
  }
}

void drain::read_loss(const record_header& h, block_state& state, const sink_list& sinks) {
  const auto reason = static_cast<std::size_t>(h.span);
  if (reason >= drop_reasons) return;
  const std::uint64_t early = std::min(state.told_early[reason], h.end);
  state.told_early[reason] -= early;
  state.told[reason] += h.end - early;
  if (h.end > early) {
    emit_loss(static_cast<drop_reason>(reason), h.end - early, h.time, &state.thread, sinks);
  }
}

void drain::read_thread(const std::uint64_t* w, block_state& state) {
  const std::uint64_t* p = w + header_words;
  const std::size_t size = p[1] & 0xffffffff;
  thread_info info;
  info.os_id = static_cast<std::int64_t>(p[0]);
  info.name.assign(reinterpret_cast<const char*>(p + 2), std::min<std::size_t>(size, 63));
  // The same thread under a new name keeps its number.
  info.number = state.thread.os_id == info.os_id ? state.thread.number : ++threads_;
  state.thread = std::move(info);
}

void drain::emit_loss(drop_reason why, std::uint64_t count, std::uint64_t since, const thread_info* t,
                      const sink_list& sinks) {
  const loss_view view{why, count, t, since != 0 ? ns(since) : 0};
  each(sinks, [&](sink& s) { s.on_loss(view); });
}

void drain::settle(const sink_list& sinks) {
  memory_map* m = source();
  if (m == nullptr || !converter_) return;
  emit_waiting(sinks, pass_ + 1);
  const std::uint32_t blocks = m->header->blocks.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < blocks; ++i) {
    thread_block& b = m->blocks[i];
    block_state& state = state_of(i);
    for (std::size_t r = 0; r < drop_reasons; ++r) {
      const std::uint64_t count = b.dropped[r].load(std::memory_order_relaxed);
      if (count <= state.told[r]) continue;
      const std::uint64_t untold = count - state.told[r];
      state.told[r] = count;
      state.told_early[r] += untold;
      emit_loss(static_cast<drop_reason>(r), untold, b.first_drop_time.load(std::memory_order_relaxed), &state.thread,
                sinks);
    }
  }
  each(sinks, [](sink& s) { s.on_batch_end(); });
}

void drain::emit_waiting(const sink_list& sinks, std::uint64_t before_pass) {
  if (waiting_.empty()) return;
  std::vector<waiting_span> later;
  for (waiting_span& s : std::exchange(waiting_, {})) {
    if (s.pass < before_pass) {
      read_span(s.words.data(), s.thread, sinks, partial::emit);
    } else {
      later.push_back(std::move(s));
    }
  }
  waiting_ = std::move(later);
}

void drain::announce_open(const sink_list& sinks) {
  memory_map* m = source();
  if (m == nullptr || !converter_) return;
  const std::uint64_t now = ticks();
  const std::int64_t now_ns = ns(now);
  const std::uint32_t slots = m->header->slots.load(std::memory_order_acquire);
  bool any = false;
  for (std::uint32_t i = 0; i < slots; ++i) {
    open_slot& slot = m->slots[i];
    std::uint64_t w[slot_words];
    if (!copy_open_span(slot, w)) continue;
    const record_header h = header_of(w);
    if (now_ns - ns(h.time) < 1'000'000'000 || slot.block == abandoned_block) continue;
    if ((h.state & state_left_out) != 0) continue;
    const auto [announced, is_first] = announced_.try_emplace(h.span, now_ns);
    if (!is_first && now_ns - announced->second < heartbeat_ns) continue;
    announced->second = now_ns;
    const span_view view = open_span(w, state_of(slot.block).thread, now_ns);
    each(sinks, [&, first = is_first](sink& out) { first ? out.on_open_span(view) : out.on_heartbeat(view); });
    any = true;
  }
  if (any) each(sinks, [](sink& s) { s.on_batch_end(); });
}

span_view drain::open_span(const std::uint64_t* w, const thread_info& thread, std::int64_t now_ns) {
  const record_header h = header_of(w);
  const site_info& s = site(h.site);
  attributes_.clear();
  decode_attributes(*source(), s.attributes, (h.flags & flag_no_static_attributes) != 0, w + header_words,
                    h.site != 0 ? std::min<std::size_t>(h.payload_words, slot_payload_words) : 0, attributes_);
  keep_last_of_each_key(attributes_);
  const std::int64_t begin = ns(h.time);
  return {s,
          scope(h.scope),
          thread,
          {h.trace_high, h.trace_low},
          {h.span},
          {h.parent},
          begin,
          std::max(begin, now_ns),
          (h.state & state_failed) != 0,
          false,
          static_cast<span_kind>(h.state >> state_kind_shift & state_kind_mask),
          attributes_,
          {},
          {},
          origin_};
}

// Parts of spans whose end was dropped would stay for ever.
void drain::purge_parts() {
  if (parts_.empty() && announced_.empty()) return;
  memory_map* m = source();
  std::unordered_set<std::uint64_t> open;
  const std::uint32_t slots = m->header->slots.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < slots; ++i) {
    if (get(&m->slots[i].words[2]) != 0) open.insert(get(&m->slots[i].words[6]));
  }
  std::erase_if(parts_, [&](const auto& p) { return p.second.pass + 2 < pass_ && !open.contains(p.first); });
  std::erase_if(announced_, [&](const auto& a) { return !open.contains(a.first); });
}

// --- calls of sites that are only counted -------------------------------------------------------------------------

std::uint64_t drain::records_dropped() const noexcept {
  memory_map* m = source();
  if (m == nullptr) return 0;
  std::uint64_t dropped = 0;
  const std::uint32_t blocks = m->header->blocks.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < blocks; ++i) {
    dropped += m->blocks[i].dropped[static_cast<std::size_t>(drop_reason::ring_full)].load(std::memory_order_relaxed);
  }
  return dropped;
}

void drain::read_sample(const std::uint64_t* w, const thread_info& thread) {
  if (dead_ != nullptr) return;  // its counts went with its process
  const record_header h = header_of(w);
  const std::uint64_t* p = w + header_words;
  const aggregates::sample s{static_cast<std::uint32_t>(p[0]), p[1], p[2], ns(h.time), ns(h.end)};
  aggregates_.add_sample(site(h.site), static_cast<std::uint32_t>(p[0] >> 32), thread,
                         {{h.trace_high, h.trace_low}, {h.parent}, find_scope(h.scope)}, s);
}

void drain::pass_over_counts() {
  for (tally_sheet* sheet = first_sheet(); sheet != nullptr; sheet = sheet->next) {
    for (std::uint32_t tally = 0; tally < max_tallies; ++tally) {
      std::uint64_t calls = 0;
      if (read_tally(sheet->of[tally], calls) && calls != 0) aggregates_.pass_over(sheet->number, tally, calls);
    }
  }
}

void drain::collect_counts(const std::vector<std::uint32_t>& sites) {
  if (!converter_) return;
  const std::int64_t now = ns(ticks());
  for (tally_sheet* sheet = first_sheet(); sheet != nullptr; sheet = sheet->next) {
    const sheet_state state = sheet->state.load(std::memory_order_acquire);
    if (state == sheet_state::unused) continue;
    const thread_info& thread = state_of(sheet->block.load(std::memory_order_relaxed)).thread;
    for (std::uint32_t tally = 0; tally < sites.size(); ++tally) {
      std::uint64_t calls = 0;
      if (!read_tally(sheet->of[tally], calls)) continue;  // its thread is just writing: next time
      aggregates_.add_count(site(sites[tally]), tally, sheet->number, thread, calls, now);
    }
    sheet_state ended = sheet_state::ended;
    if (state == ended) sheet->state.compare_exchange_strong(ended, sheet_state::unused, std::memory_order_release);
  }
  counts_.counted.store(aggregates_.total_calls(), std::memory_order_relaxed);
}

void drain::tell_aggregates(const sink_list& sinks, std::int64_t age_ns) {
  if (!converter_) return;
  const std::int64_t now = ns(ticks());
  const std::vector<aggregate> old = aggregates_.take(age_ns == 0 ? INT64_MAX : now - age_ns);
  for (const aggregate& a : old) {
    if (aggregate_id_ == 0)
      aggregate_id_ = id_sequence(std::random_device{}() | std::uint64_t{std::random_device{}()} << 32);
    attributes_.clear();
    const auto add = [&](std::string_view key, std::uint32_t key_number, attribute_type type, std::uint64_t bits) {
      attributes_.push_back({key, type, false, bits, {}, key_number});
    };
    const auto add_ns = [&](std::string_view key, std::uint32_t key_number, double value) {
      add(key, key_number, attribute_type::float64, std::bit_cast<std::uint64_t>(std::round(value * 10) / 10));
    };
    add("aggregate.calls", key_number<"aggregate.calls">(), attribute_type::uint64, a.calls);
    add("aggregate.timed", key_number<"aggregate.timed">(), attribute_type::uint64, a.durations.size());
    if (a.durations.size() != 0) {
      add_ns("aggregate.mean_ns", key_number<"aggregate.mean_ns">(), a.durations.mean());
      if (a.durations.size() > 1) {
        add_ns("aggregate.error_ns", key_number<"aggregate.error_ns">(), a.durations.error());
      }
      add_ns("aggregate.min_ns", key_number<"aggregate.min_ns">(), a.durations.least());
      add_ns("aggregate.max_ns", key_number<"aggregate.max_ns">(), a.durations.greatest());
    }
    const std::string_view why = "over_budget";
    attributes_.push_back(
        {"aggregate.reason", attribute_type::string, false, 0, why, key_number<"aggregate.reason">()});
    aggregate_id_ += id_step;
    const span_view view{*a.site,
                         a.place.scope.get(),
                         a.thread,
                         a.place.trace,
                         {aggregate_id_},
                         a.place.parent,
                         a.begin_ns,
                         a.end_ns,
                         false,
                         false,
                         span_kind::internal,
                         attributes_,
                         {},
                         {},
                         origin_};
    each(sinks, [&](sink& s) { s.on_aggregate(view); });
  }
  if (!old.empty()) each(sinks, [](sink& s) { s.on_batch_end(); });
}

void drain::say(telltale::site& line, std::span<const attribute_description> described,
                const std::vector<attribute_view>& attributes, const sink_list& sinks) {
  if (!converter_ || !register_own_site(line, described.data(), static_cast<std::uint32_t>(described.size()))) return;
  const thread_info thread{0, static_cast<std::int64_t>(::getpid()), "telltale"};
  const log_view view{site(line.id()), nullptr, thread, {}, {}, {}, ns(ticks()), attributes, origin_};
  each(sinks, [&](sink& s) { s.on_log(view); });
  each(sinks, [](sink& s) { s.on_batch_end(); });
}

const site_info& drain::site(std::uint32_t id) {
  memory_map* m = source();
  if (id >= m->header->sites.load(std::memory_order_acquire)) id = 0;
  if (id >= sites_.size()) sites_.resize(id + 1);
  if (sites_[id] == nullptr) {
    sites_[id] = std::make_unique<site_info>(id == 0 ? site_info{} : read_site(*m, id));  // number 0 is nobody's
    if (id == 0) {  // a call site for which the catalogue had no room
      sites_[id]->name = "(call site beyond the catalogue)";
      sites_[id]->module = "telltale";
    }
  }
  return *sites_[id];
}

std::shared_ptr<const scope_info> drain::find_scope(std::uint32_t id) {
  if (id == 0) return nullptr;
  memory_map* m = source();
  const std::uint32_t index = id & 0xffff;
  if (index >= max_scopes) return nullptr;
  if (index >= scopes_.size()) scopes_.resize(max_scopes);
  if (scopes_[index] != nullptr && scopes_[index]->id == id) return scopes_[index];
  const scope_node& n = m->scopes[index];
  if (n.id.load(std::memory_order_acquire) != id) {  // a context outlived its scope, and the node was used again
    counts_.stale_scopes.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  auto info = std::make_shared<scope_info>();
  info->id = id;
  info->site = &site(n.site);
  decode_attributes(*m, info->site->attributes, false, n.payload, n.words, info->attributes);
  if (info->attributes.size() > info->site->attributes.size()) keep_last_of_each_key(info->attributes);
  std::size_t bytes = 0;
  for (const attribute_view& a : info->attributes) bytes += a.text.size();
  info->storage.reserve(bytes);  // the views point into it: it must not move
  for (attribute_view& a : info->attributes) {
    const std::size_t at = info->storage.size();
    info->storage.append(a.text);
    a.text = std::string_view{info->storage}.substr(at, a.text.size());
  }
  info->parent = find_scope(n.parent);
  scopes_[index] = info;
  return info;
}

drain::block_state& drain::state_of(std::uint32_t block) {
  if (block >= blocks_.size()) blocks_.resize(block + 1);
  return blocks_[block];
}

}  // namespace telltale::detail
