// Finding the records in an image, and feeding them to the drain.
#include "replay.hpp"

#include <algorithm>
#include <cstring>
#include <telltale/core/detail/write.hpp>

#include "../decode.hpp"

namespace telltale::detail {

namespace {

record_kind kind_of(const std::uint64_t* w) noexcept {
  return static_cast<record_kind>(*w >> 8 & 0xff);
}
std::uint64_t bytes_of(const std::uint64_t* w) noexcept {
  return (*w & 0xff) * line_bytes;
}
const std::uint64_t* at_position(const thread_block& b, std::uint64_t at) noexcept {
  return b.ring + (at & b.mask) / 8;
}

}  // namespace

replay::replay(flight_image& image) : drain(image.map(), image.clock(), counts_), image_(image) {
  const memory_header& h = *image.map().header;
  for (std::uint32_t i = 0; i < h.blocks.load(std::memory_order_relaxed); ++i) walk(image.map().blocks[i]);
  std::sort(records_.begin(), records_.end(), [](const record& a, const record& b) {
    return a.time != b.time ? a.time < b.time : a.position < b.position;
  });

  // A process that dies between writing a span's record and freeing its slot leaves both.
  std::unordered_set<std::uint64_t> ended;
  for (const record& r : records_) {
    if (kind_of(r.words) == record_kind::span) ended.insert(r.words[6]);
  }
  const open_slot* slots = image.map().slots;
  for (std::uint32_t i = 0; i < image.slots(); ++i) {
    const bool left_out = (slots[i].words[0] >> 16 & state_left_out) != 0;  // by the sampler
    if (image.is_open(i) && !left_out && !ended.contains(slots[i].words[6])) open_.push_back(i);
  }
  std::sort(open_.begin(), open_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return slots[a].words[2] < slots[b].words[2]; });
  found_.open = open_.size();
}

std::int64_t replay::last_sign_of_life_ns() const {
  std::uint64_t last = image_.map().header->seen_ticks.load(std::memory_order_relaxed);
  if (!records_.empty()) last = std::max(last, records_.back().time);
  if (!open_.empty()) last = std::max(last, image_.map().slots[open_.back()].words[2]);
  return ns(last);
}

std::int64_t replay::started_ns() const {
  return ns(image_.map().header->started_ticks);
}

// Whether a record can stand here: everything that the drain relies on.
bool replay::is_whole(const std::uint64_t* w, std::uint64_t room) const noexcept {
  const std::uint64_t bytes = bytes_of(w);
  if (bytes == 0 || bytes > room) return false;
  const record_kind kind = kind_of(w);
  if (kind == record_kind::padding) return true;
  if (kind > record_kind::sample) return false;
  const std::size_t payload = w[1] >> 32 & 0xffff;
  if (kind == record_kind::loss) return bytes == line_bytes && w[6] < drop_reasons;
  if (record_bytes(payload) != bytes) return false;
  const auto is_time = [&](std::uint64_t t) { return t >= image_.first_ticks() && t <= image_.last_ticks(); };
  if (!is_time(w[2])) return false;
  switch (kind) {
    case record_kind::span:
      return is_time(w[3]) && (*w >> (16 + state_kind_shift) & state_kind_mask) <= 4;
    case record_kind::link:
      return payload >= 4 && w[header_words + 3] <= 4;
    case record_kind::thread:
      return payload >= 2 && (w[header_words + 1] & 0xffffffff) <= (payload - 2) * 8;
    case record_kind::sample:
      return payload == 3 && is_time(w[3]);
    default:
      return true;
  }
}

// The first position from `from` on from where whole records lead exactly to `to`; `to` where there is none. Nothing
// tells where a record begins in the older part of a ring, but everything in it is on lines.
std::uint64_t replay::first_whole(const thread_block& b, std::uint64_t from, std::uint64_t to) const {
  const std::size_t lines = (to - from) / line_bytes;
  std::vector<bool> leads(lines + 1, false);
  leads[lines] = true;
  std::uint64_t first = to;
  for (std::size_t i = lines; i-- > 0;) {
    const std::uint64_t at = from + i * line_bytes;
    const std::uint64_t lap_left = b.mask + 1 - (at & b.mask);
    const std::uint64_t* w = at_position(b, at);
    if (!is_whole(w, std::min(to - at, lap_left))) continue;
    leads[i] = leads[i + bytes_of(w) / line_bytes];
    if (leads[i]) first = at;
  }
  return first;
}

void replay::walk(const thread_block& b) {
  const std::uint64_t head = b.head.load(std::memory_order_relaxed);
  const std::uint64_t tail = b.tail.load(std::memory_order_relaxed);
  const std::uint64_t read = b.read.load(std::memory_order_relaxed);
  const std::uint64_t whole = std::min(image_.whole_from(b.index), head);
  // Until a record says who writes, it is somebody we don't know; the block knows who owns it now.
  thread_infos_.push_back({static_cast<std::uint32_t>(thread_infos_.size() + 1), 0, "(an earlier thread)"});
  last_thread_.push_back(static_cast<std::uint32_t>(thread_infos_.size() - 1));
  const std::size_t first_info = thread_infos_.size() - 1;

  const std::uint64_t known = std::max(tail, whole);  // where a record begins for certain, if nothing was overwritten
  std::uint64_t at = whole;
  if (whole < tail) {
    const std::uint64_t lap = head & ~b.mask;  // records never wrap: a lap begins with one
    const std::uint64_t sure = lap > whole && lap < tail ? lap : tail;
    at = first_whole(b, whole, sure);
    while (at < sure) at = step(b, at, sure, record_origin::drained);
    while (at < tail) at = step(b, at, tail, record_origin::drained);
  } else if (whole > tail) {
    at = first_whole(b, whole, head);
  }
  at = std::max(at, known);
  while (at < head) at = step(b, at, head, at < read ? record_origin::handed : record_origin::pending);

  if (thread_infos_.size() - 1 == first_info) {
    thread_infos_[first_info].os_id = static_cast<std::int64_t>(b.thread_id);
    thread_infos_[first_info].name = b.thread_name;
  }
}

// One record; returns where the next one begins, `end` where nothing sensible follows.
std::uint64_t replay::step(const thread_block& b, std::uint64_t at, std::uint64_t end, record_origin origin) {
  const std::uint64_t* w = at_position(b, at);
  if (!is_whole(w, std::min(end - at, b.mask + 1 - (at & b.mask)))) {
    image_.add_damage("thread " + std::to_string(b.index) + ": what follows byte " + std::to_string(at) +
                      " of its records is damaged");
    return end;
  }
  std::uint64_t& count = origin == record_origin::drained  ? found_.drained
                         : origin == record_origin::handed ? found_.handed
                                                           : found_.pending;
  switch (kind_of(w)) {
    case record_kind::span:
    case record_kind::log:
      ++count;
      records_.push_back({w, kind_of(w) == record_kind::span ? w[3] : w[2], at, last_thread_[b.index], origin});
      break;
    case record_kind::loss:
      records_.push_back({w, w[2], at, last_thread_[b.index], origin});
      break;
    case record_kind::attributes:
    case record_kind::event:
    case record_kind::link:
      ++count;
      read_part(header_of(w), w + header_words);
      break;
    case record_kind::thread: {
      block_state state;
      read_thread(w, state);
      state.thread.number = static_cast<std::uint32_t>(thread_infos_.size() + 1);
      thread_infos_.push_back(std::move(state.thread));
      last_thread_[b.index] = static_cast<std::uint32_t>(thread_infos_.size() - 1);
      break;
    }
    case record_kind::sample:  // the counts that belong to it went with its process
    case record_kind::padding:
      break;
  }
  return at + bytes_of(w);
}

void replay::records(const selection& which, const sink_list& sinks) {
  std::vector<const record*> chosen;
  for (const record& r : records_) {
    if (r.origin == record_origin::drained ? which.drained : which.undrained) chosen.push_back(&r);
  }
  const std::size_t skip = chosen.size() > which.most ? chosen.size() - which.most : 0;
  for (std::size_t i = skip; i < chosen.size(); ++i) {
    const record& r = *chosen[i];
    const thread_info& thread = thread_infos_[r.thread];
    origin_ = r.origin;
    switch (kind_of(r.words)) {
      case record_kind::span:
        read_span(r.words, thread, sinks, partial::emit);
        break;
      case record_kind::log:
        read_log(r.words, thread, sinks);
        break;
      default:
        emit_loss(static_cast<drop_reason>(r.words[6]), r.words[3], r.words[2], &thread, sinks);
        break;
    }
  }
  each(sinks, [](sink& s) { s.on_batch_end(); });
}

void replay::open_spans(const sink_list& sinks) {
  constexpr attribute_view lost{"error.type", attribute_type::string, false, 0, "lost", 0};
  const std::int64_t until = last_sign_of_life_ns();
  for (const std::uint32_t i : open_) {
    const open_slot& slot = image_.map().slots[i];
    std::uint64_t w[slot_words];
    std::memcpy(w, slot.words, sizeof slot.words);
    origin_ = record_origin::pending;
    span_view view = open_span(w, thread_infos_[last_thread_[slot.block]], until);
    std::vector<attribute_view> attributes(view.attributes.begin(), view.attributes.end());
    if (const auto parts = parts_.find(view.span.value); parts != parts_.end()) {
      attributes.insert(attributes.end(), parts->second.attributes.begin(), parts->second.attributes.end());
      keep_last_of_each_key(attributes);
      view.events = parts->second.events;
      view.links = parts->second.links;
      view.incomplete = parts->second.count < (w[0] >> 24 & 0xff) || parts->second.above_cap;
    } else {
      view.incomplete = (w[0] >> 24 & 0xff) != 0;
    }
    if (!image_.alive()) {
      view.failed = true;
      std::erase_if(attributes, [&](const attribute_view& a) { return a.key == lost.key; });
      attributes.push_back(lost);
      // A number of its own, so that a sink that remembers keys by number doesn't mix it up.
      attributes.back().key_number = image_.map().header->keys.load(std::memory_order_relaxed);
    }
    view.attributes = attributes;
    if (image_.alive()) {
      each(sinks, [&](sink& s) { s.on_open_span(view); });
    } else {
      each(sinks, [&](sink& s) { s.on_lost_span(view); });
    }
  }
  each(sinks, [](sink& s) { s.on_batch_end(); });
}

void replay::losses(const sink_list& sinks) {
  const memory_header& h = *image_.map().header;
  for (std::uint32_t i = 0; i < h.blocks.load(std::memory_order_relaxed); ++i) {
    const thread_block& b = image_.map().blocks[i];
    for (std::size_t r = 0; r < drop_reasons; ++r) {
      const std::uint64_t dropped = b.dropped[r].load(std::memory_order_relaxed);
      if (dropped <= b.told[r]) continue;
      emit_loss(static_cast<drop_reason>(r), dropped - b.told[r], h.seen_ticks.load(std::memory_order_relaxed),
                &thread_infos_[last_thread_[i]], sinks);
    }
  }
  each(sinks, [](sink& s) { s.on_batch_end(); });
}

}  // namespace telltale::detail
