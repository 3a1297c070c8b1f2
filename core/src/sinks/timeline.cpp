// Timelines want slices that nest on their track. Spans that a thread interleaves (coroutines, spans that end
// elsewhere) do not: such a span gets a lane of its own beside its thread's track.
#include "timeline.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "../format.hpp"
#include "../otlp/writer.hpp"

namespace telltale::detail {

namespace {

constexpr std::size_t chunk_bytes = 256 * 1024;

// Decides on which lane of its thread a span lies. Spans come in order of their ends.
class lanes {
 public:
  std::size_t place(std::int64_t begin, std::int64_t end) {
    std::size_t lane = 0;
    while (lane < lanes_.size() && !fits(lanes_[lane], begin)) ++lane;
    if (lane == lanes_.size()) lanes_.emplace_back();
    std::deque<slice>& on = lanes_[lane];
    while (!on.empty() && on.back().begin > begin) on.pop_back();  // below this one now
    on.push_back({begin, end});
    if (on.size() > remembered) on.pop_front();
    return lane;
  }
  std::size_t count() const noexcept { return lanes_.size(); }

 private:
  struct slice {
    std::int64_t begin;
    std::int64_t end;
  };
  static constexpr std::size_t remembered = 1024;

  // Whether no slice on the lane runs across `begin`, or starts with it (which would be the outer one?).
  static bool fits(const std::deque<slice>& on, std::int64_t begin) noexcept {
    for (auto s = on.rbegin(); s != on.rend() && s->end > begin; ++s) {
      if (s->begin <= begin) return false;
    }
    return true;
  }
  std::vector<std::deque<slice>> lanes_;
};

// What both formats share: who is who, and the way out.
class timeline_sink : public sink {
 public:
  explicit timeline_sink(std::unique_ptr<output> out) : out_(std::move(out)) {}

  void on_batch_end() override {
    submit();
    if (const std::uint64_t untold = out_->take_untold_drops(); untold != 0) {
      loss(last_ns_, "sink_full", untold, nullptr);
      submit();
    }
  }
  bool flush(std::chrono::steady_clock::time_point deadline) override {
    on_batch_end();
    return out_->flush(deadline);
  }
  void on_loss(const loss_view& l) override {
    loss(l.since_ns != 0 ? l.since_ns : last_ns_, to_string(l.reason), l.count, l.thread);
    end();
  }
  delivery delivered() const override { return out_->delivered(); }
  std::uint64_t dropped() const override { return out_->dropped(); }
  std::uint64_t errors() const override { return out_->errors(); }

 protected:
  virtual void loss(std::int64_t since_ns, std::string_view reason, std::uint64_t count, const thread_info* t) = 0;

  void end() {
    ++records_;
    if (w_.size() >= chunk_bytes) submit();
  }
  void submit() {
    out_->submit(w_, records_);
    records_ = 0;
  }
  std::unique_ptr<output> output_of_child() const {
    return std::make_unique<output>(out_->target()->for_child(), out_->policy(), out_->max_pending());
  }

  // Own attributes, then inherited ones that it hasn't got.
  template <class F>
  static void each_attribute(std::span<const attribute_view> own, const scope_info* scope, F f) {
    std::vector<std::string_view> seen;
    const auto all = [&](std::span<const attribute_view> list) {
      for (const attribute_view& a : list) {
        if (std::find(seen.begin(), seen.end(), a.key) != seen.end()) continue;
        seen.push_back(a.key);
        f(a);
      }
    };
    all(own);
    for (; scope != nullptr; scope = scope->parent.get()) all(scope->attributes);
  }

  std::unique_ptr<output> out_;
  std::int64_t pid_ = ::getpid();  // of whoever made the records
  buffer w_;
  std::uint64_t records_ = 0;
  std::int64_t last_ns_ = 0;
  std::string message_;
};

// --- Perfetto -----------------------------------------------------------------------------------------------------

using otlp::field;

// Numbers of perfetto/trace/trace_packet.proto and track_event/*.proto.
struct packet {
  static constexpr field in_trace{1, {}};
  static constexpr field timestamp{8, {}};
  static constexpr field sequence{10, {}};
  static constexpr field track_event{11, {}};
  static constexpr field sequence_flags{13, {}};
  static constexpr field track_descriptor{60, {}};
  static constexpr std::uint32_t state_cleared = 1;
};
struct track {
  static constexpr field uuid{1, {}};
  static constexpr field name{2, {}};
  static constexpr field process{3, {}};
  static constexpr field thread{4, {}};
  static constexpr field parent{5, {}};
};
struct process {
  static constexpr field pid{1, {}};
  static constexpr field name{6, {}};
};
struct thread_of {
  static constexpr field pid{1, {}};
  static constexpr field tid{2, {}};
  static constexpr field name{5, {}};
};
struct track_event {
  static constexpr field annotations{4, {}};
  static constexpr field type{9, {}};
  static constexpr field track{11, {}};
  static constexpr field categories{22, {}};
  static constexpr field name{23, {}};
  static constexpr field flows{47, {}};
  static constexpr std::uint32_t begin = 1;
  static constexpr std::uint32_t end = 2;
  static constexpr std::uint32_t instant = 3;
};
struct annotation {
  static constexpr field boolean{2, {}};
  static constexpr field natural{3, {}};
  static constexpr field integer{4, {}};
  static constexpr field real{5, {}};
  static constexpr field text{6, {}};
  static constexpr field name{10, {}};
};

class perfetto_sink final : public timeline_sink {
 public:
  using timeline_sink::timeline_sink;

  void on_span(const span_view& s) override {
    last_ns_ = s.end_ns;
    const std::uint64_t on = track_of(s.thread, threads_[s.thread.number].place(s.begin_ns, s.end_ns));
    event(s.begin_ns, track_event::begin, on, s.site.module, s.site.name, [&] {
      // Slices that name the same flow are joined by an arrow: each names its own id, and those it links to.
      writer_.fixed64(track_event::flows, s.span.value);
      for (const link_view& l : s.links) writer_.fixed64(track_event::flows, l.span.value);
      each_attribute(s.attributes, s.scope, [&](const attribute_view& a) { annotate(a); });
      if (s.failed) annotate_text("status", "error");
      for (const link_view& l : s.links) annotate_text("link", to_string(l.kind));
      annotate_hex("trace_id", s.trace.high, s.trace.low);
    });
    for (const event_view& e : s.events) {
      event(e.time_ns, track_event::instant, on, s.site.module, e.site->name, [&] {
        for (const attribute_view& a : e.attributes) annotate(a);
      });
    }
    event(s.end_ns, track_event::end, on, {}, {}, [] {});
    end();
  }

  void on_log(const log_view& l) override {
    last_ns_ = l.time_ns;
    message_.clear();
    append_message(message_, l);
    event(l.time_ns, track_event::instant, track_of(l.thread, 0), l.site.module, message_, [&] {
      annotate_text("level", to_string(l.site.level));
      each_attribute(l.attributes, l.scope, [&](const attribute_view& a) { annotate(a); });
    });
    end();
  }

  void on_other_process(std::int64_t pid) override {
    pid_ = pid;
    ++processes_;
    told_process_ = false;
    told_threads_.clear();
    threads_.clear();
  }

  std::shared_ptr<sink> for_child() override { return make_timeline_sink(output_of_child(), timeline::perfetto); }

 private:
  void loss(std::int64_t since_ns, std::string_view reason, std::uint64_t count, const thread_info* t) override {
    event(since_ns, track_event::instant, t != nullptr ? track_of(*t, 0) : process_track(), "telltale",
          "records were dropped", [&] {
            annotate_text("reason", reason);
            attribute_view n;
            n.key = "count";
            n.type = attribute_type::uint64;
            n.bits = count;
            annotate(n);
          });
  }

  template <class F>
  void event(std::int64_t ns, std::uint32_t type, std::uint64_t on, std::string_view category, std::string_view name,
             F more) {
    const auto p = begin_packet();
    writer_.integer(packet::timestamp, ns);
    const auto e = writer_.begin(packet::track_event, 2);
    writer_.enumeration(track_event::type, type);
    writer_.integer(track_event::track, static_cast<std::int64_t>(on));
    if (!category.empty()) writer_.string(track_event::categories, category);
    if (!name.empty()) writer_.string(track_event::name, name);
    more();
    writer_.end(e);
    writer_.end(p);
  }

  otlp::proto_writer::mark begin_packet() {
    const auto p = writer_.begin(packet::in_trace, 2);
    writer_.enumeration(packet::sequence, static_cast<std::uint32_t>(pid_));
    return p;
  }

  // A process's tracks are told apart from another's (a forked child's, one's that died) by its number, and by the
  // order in which they come: in a container the next process has the number of the last one.
  std::uint64_t process_track() {
    const std::uint64_t uuid = processes_ << 54 | static_cast<std::uint64_t>(pid_) << 32;
    if (!std::exchange(told_process_, true)) {
      const auto p = begin_packet();
      writer_.enumeration(packet::sequence_flags, packet::state_cleared);
      const auto d = writer_.begin(packet::track_descriptor, 2);
      writer_.integer(track::uuid, static_cast<std::int64_t>(uuid));
      const auto of = writer_.begin(track::process);
      writer_.integer(process::pid, pid_);
      writer_.string(process::name, ::program_invocation_short_name);
      writer_.end(of);
      writer_.end(d);
      writer_.end(p);
    }
    return uuid;
  }

  std::uint64_t track_of(const thread_info& t, std::size_t lane) {
    const std::uint64_t whole = process_track();
    const std::uint64_t uuid = whole + 1 + t.number * 256 + std::min<std::size_t>(lane, 255);
    std::string& told = told_threads_[uuid];
    const std::string name = t.name.empty() ? std::to_string(t.os_id) : t.name;
    if (told == name) return uuid;
    told = name;
    const auto p = begin_packet();
    const auto d = writer_.begin(packet::track_descriptor, 2);
    writer_.integer(track::uuid, static_cast<std::int64_t>(uuid));
    writer_.integer(track::parent, static_cast<std::int64_t>(whole));
    if (lane == 0) {
      const auto of = writer_.begin(track::thread);
      writer_.integer(thread_of::pid, pid_);
      writer_.integer(thread_of::tid, t.os_id);
      writer_.string(thread_of::name, name);
      writer_.end(of);
    } else {
      writer_.string(track::name, name + " (interleaved)");
    }
    writer_.end(d);
    writer_.end(p);
    return uuid;
  }

  void annotate(const attribute_view& a) {
    const auto m = writer_.begin(track_event::annotations);
    writer_.string(annotation::name, a.key);
    switch (a.type) {
      case attribute_type::boolean:
        writer_.boolean(annotation::boolean, a.bits != 0);
        break;
      case attribute_type::int64:
        writer_.integer(annotation::integer, static_cast<std::int64_t>(a.bits));
        break;
      case attribute_type::uint64:
        writer_.integer(annotation::natural, static_cast<std::int64_t>(a.bits));
        break;
      case attribute_type::float64:
        writer_.number(annotation::real, std::bit_cast<double>(a.bits));
        break;
      case attribute_type::string:
        writer_.string(annotation::text, a.text);
        break;
    }
    writer_.end(m);
  }
  void annotate_text(std::string_view key, std::string_view text) {
    attribute_view a;
    a.key = key;
    a.type = attribute_type::string;
    a.text = text;
    annotate(a);
  }
  void annotate_hex(std::string_view key, std::uint64_t high, std::uint64_t low) {
    hex_.clear();
    hex_.reserve(32);
    put_hex(hex_, high);
    put_hex(hex_, low);
    annotate_text(key, hex_.view());
  }

  otlp::proto_writer writer_{w_};
  std::uint64_t processes_ = 0;  // others before this one
  bool told_process_ = false;
  std::unordered_map<std::uint64_t, std::string> told_threads_;  // by track, the name it was told under
  std::unordered_map<std::uint32_t, lanes> threads_;
  buffer hex_;
};

// --- Chrome -------------------------------------------------------------------------------------------------------

class chrome_sink final : public timeline_sink {
 public:
  using timeline_sink::timeline_sink;

  void on_span(const span_view& s) override {
    last_ns_ = s.end_ns;
    const std::int64_t tid = track_of(s.thread, threads_[s.thread.number].place(s.begin_ns, s.end_ns));
    begin("X", s.begin_ns, tid, s.site.module, s.site.name);
    w_.append(",\"dur\":");
    microseconds(s.end_ns - s.begin_ns);
    w_.append(",\"args\":{");
    comma_ = "";
    each_attribute(s.attributes, s.scope, [&](const attribute_view& a) { argument(a); });
    text_argument("trace_id", hex(s.trace.high) + hex(s.trace.low));
    text_argument("span_id", hex(s.span.value));
    if (s.failed) text_argument("status", "error");
    w_.append("}}");
    for (const event_view& e : s.events) {
      begin("i", e.time_ns, tid, s.site.module, e.site->name);
      w_.append(",\"s\":\"t\",\"args\":{");
      comma_ = "";
      for (const attribute_view& a : e.attributes) argument(a);
      w_.append("}}");
    }
    remember(s.span, tid, s.begin_ns);
    for (const link_view& l : s.links) arrow(l, tid, s.begin_ns);
    end();
  }

  void on_log(const log_view& l) override {
    last_ns_ = l.time_ns;
    message_.clear();
    append_message(message_, l);
    begin("i", l.time_ns, track_of(l.thread, 0), l.site.module, message_);
    w_.append(",\"s\":\"t\",\"args\":{");
    comma_ = "";
    text_argument("level", to_string(l.site.level));
    each_attribute(l.attributes, l.scope, [&](const attribute_view& a) { argument(a); });
    w_.append("}}");
    end();
  }

  void on_other_process(std::int64_t pid) override {
    pid_ = pid;
    told_threads_.clear();
    threads_.clear();
    begin("M", 0, pid, "", "process_name");
    w_.append(",\"args\":{");
    comma_ = "";
    text_argument("name", ::program_invocation_short_name);
    w_.append("}}");
  }

  std::shared_ptr<sink> for_child() override { return make_timeline_sink(output_of_child(), timeline::chrome); }

 private:
  struct place {
    std::int64_t tid;
    std::int64_t ns;
  };

  void loss(std::int64_t since_ns, std::string_view reason, std::uint64_t count, const thread_info* t) override {
    begin("i", since_ns, t != nullptr ? track_of(*t, 0) : pid_, "telltale", "records were dropped");
    w_.append(",\"s\":\"p\",\"args\":{");
    comma_ = "";
    text_argument("reason", reason);
    text_argument("count", std::to_string(count));
    w_.append("}}");
  }

  // {"ph":"X","ts":…,"pid":…,"tid":…,"cat":…,"name":…
  void begin(std::string_view phase, std::int64_t ns, std::int64_t tid, std::string_view category,
             std::string_view name) {
    w_.append(",\n{\"ph\":\"");
    w_.append(phase);
    w_.append("\",\"ts\":");
    microseconds(ns);
    w_.reserve(80);
    w_.put(",\"pid\":");
    w_.number(pid_);
    w_.put(",\"tid\":");
    w_.number(tid);
    w_.put(",\"cat\":");
    append_json_string(w_, category);
    w_.append(",\"name\":");
    append_json_string(w_, name);
  }
  void microseconds(std::int64_t ns) {
    w_.reserve(48);
    w_.number(ns / 1000);
    w_.put('.');
    for (const std::int64_t unit : {100, 10, 1}) w_.put(static_cast<char>('0' + ns % 1000 / unit % 10));
  }
  void argument(const attribute_view& a) {
    w_.append(comma_);
    comma_ = ",";
    append_json_string(w_, a.key);
    w_.append(":");
    append_json_value(w_, a);
  }
  void text_argument(std::string_view key, std::string_view text) {
    attribute_view a;
    a.key = key;
    a.type = attribute_type::string;
    a.text = text;
    argument(a);
  }
  static std::string hex(std::uint64_t v) {
    buffer b;
    b.reserve(16);
    put_hex(b, v);
    return std::string(b.view());
  }

  std::int64_t track_of(const thread_info& t, std::size_t lane) {
    const std::int64_t tid =
        lane == 0 ? t.os_id : (std::int64_t{1} << 32) + std::int64_t{t.number} * 256 + static_cast<std::int64_t>(lane);
    std::string name = t.name.empty() ? std::to_string(t.os_id) : t.name;
    if (lane != 0) name += " (interleaved)";
    std::string& told = told_threads_[tid];
    if (told == name) return tid;
    told = name;
    begin("M", 0, tid, "", "thread_name");
    w_.append(",\"args\":{");
    comma_ = "";
    text_argument("name", name);
    w_.append("}}");
    return tid;
  }

  // Arrows need both ends; spans that ended are remembered for a while, and those wanted that haven't yet.
  void remember(span_id s, std::int64_t tid, std::int64_t ns) {
    if (const auto wanted = wanted_.find(s.value); wanted != wanted_.end()) {
      flow_end("s", s.value, {tid, ns});
      wanted_.erase(wanted);
    }
    ended_[s.value] = {tid, ns};
    order_.push_back(s.value);
    if (order_.size() > 65'536) {
      ended_.erase(order_.front());
      order_.pop_front();
    }
  }
  void arrow(const link_view& l, std::int64_t tid, std::int64_t ns) {
    if (const auto from = ended_.find(l.span.value); from != ended_.end()) {
      flow_end("s", l.span.value, from->second);
    } else if (wanted_.size() < 65'536) {
      wanted_.insert(l.span.value);
    }
    flow_end("f", l.span.value, {tid, ns});
  }
  void flow_end(std::string_view phase, std::uint64_t id, place at) {
    begin(phase, at.ns, at.tid, "link", "link");
    w_.append(",\"bp\":\"e\",\"id\":\"0x");
    w_.append(hex(id));
    w_.append("\"}");
  }

  const char* comma_ = "";
  std::unordered_map<std::int64_t, std::string> told_threads_;
  std::unordered_map<std::uint32_t, lanes> threads_;
  std::unordered_map<std::uint64_t, place> ended_;
  std::deque<std::uint64_t> order_;
  std::unordered_set<std::uint64_t> wanted_;
};

}  // namespace

// Chrome's array needs no closing bracket, so that a program that is killed leaves a file that can be read.
result<void> begin_timeline(line_target& target, timeline format) {
  if (format == timeline::perfetto) return {};
  buffer w;
  w.append(R"([{"ph":"M","name":"process_name","pid":)");
  w.reserve(32);
  w.number(::getpid());
  w.append(R"(,"args":{"name":)");
  append_json_string(w, ::program_invocation_short_name);
  w.append("}}");
  return target.write(w.view());
}

std::shared_ptr<sink> make_timeline_sink(std::unique_ptr<output> out, timeline format) {
  if (format == timeline::perfetto) return std::make_shared<perfetto_sink>(std::move(out));
  return std::make_shared<chrome_sink>(std::move(out));
}

}  // namespace telltale::detail
