// Records as JSON lines. What repeats is kept ready: the middle of a line per call site, the keys, the fragment of
// inherited attributes per scope, the trace id.
#include "json.hpp"

#include <algorithm>
#include <array>

#include "../format.hpp"

namespace telltale::detail {

namespace {

constexpr std::size_t chunk_bytes = 256 * 1024;

// Fields of a line that an inherited attribute must not repeat.
constexpr std::array<std::string_view, 18> own_fields = {
    "ts",    "level",  "target",      "span",  "message",    "trace_id", "span_id", "parent_id",  "thread",
    "event", "status", "duration_ms", "links", "attributes", "events",   "kind",    "incomplete", "recovered"};

bool is_own_field(std::string_view key) noexcept {
  return std::find(own_fields.begin(), own_fields.end(), key) != own_fields.end();
}

std::string quoted(std::string_view s) {
  buffer b;
  append_json_string(b, s);
  return std::string(b.view());
}

class json_sink final : public sink {
 public:
  explicit json_sink(std::unique_ptr<output> out) : out_(std::move(out)) {}

  void on_span(const span_view& s) override { write(s, "complete"); }
  void on_open_span(const span_view& s) override { write(s, "open"); }
  void on_lost_span(const span_view& s) override { write(s, "lost"); }
  void on_aggregate(const span_view& s) override { write(s, "aggregate"); }

  void on_other_process(std::int64_t) override {
    sites_.clear();
    keys_.clear();
    scopes_.clear();
    thread_number_ = UINT32_MAX;
  }

  void on_log(const log_view& l) override {
    buffer& w = lines_;
    w.reserve(512);
    begin(w, l.time_ns, l.site, l.scope);
    if (!l.span_name.empty()) {
      w.append(R"(,"span":)");
      append_json_string(w, l.span_name);
    }
    message_.clear();
    append_message(message_, l);
    w.append(R"(,"message":)");
    append_json_string(w, message_);
    ids(w, l.trace, l.span, {});
    // Lines of other languages have their whole text as an attribute; it has been said.
    const bool is_text = l.site.name == "{message}" && !l.attributes.empty() && l.attributes[0].key == "message";
    attributes(w, l.site, l.attributes.subspan(is_text ? 1 : 0), l.scope);
    thread(w, l.thread);
    origin(w, l.origin);
    w.append("}\n");
    end();
  }

  void on_loss(const loss_view& l) override { loss(l.since_ns, to_string(l.reason), l.count, l.thread); }

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
  std::shared_ptr<sink> for_child() override {
    return make_json_sink(std::make_unique<output>(out_->target()->for_child(), out_->policy(), out_->max_pending()));
  }
  delivery delivered() const override { return out_->delivered(); }
  std::uint64_t dropped() const override { return out_->dropped(); }
  std::uint64_t errors() const override { return out_->errors(); }

 private:
  struct site_cache {
    std::string head;               // ","level":"INFO","target":"…"[,"span":"…"]
    std::vector<std::string> keys;  // "n":
  };
  struct scope_cache {
    std::uint32_t id = 0;
    std::string fields;                        // ,"job_id":"…"
    std::vector<attribute_view> not_as_field;  // inherited, but named like a field of ours: they go into `attributes`
    std::shared_ptr<const scope_info> keeps;   // what the views point into
  };

  void write(const span_view& s, std::string_view event) {
    buffer& w = lines_;
    w.reserve(512);
    begin(w, s.end_ns, s.site, s.scope);
    ids(w, s.trace, s.span, s.parent);
    attributes(w, s.site, s.attributes, s.scope);
    w.reserve(160);
    if (s.kind != span_kind::internal) {
      constexpr std::string_view names[] = {"internal", "server", "client", "producer", "consumer"};
      w.put(R"(,"kind":")");
      w.put(names[static_cast<std::size_t>(s.kind)]);
      w.put('"');
    }
    if (s.failed) w.put(R"(,"status":"error")");
    if (!s.events.empty()) events(w, s);
    if (!s.links.empty()) links(w, s);
    thread(w, s.thread);
    origin(w, s.origin);
    w.reserve(100);
    if (s.incomplete) w.put(R"(,"incomplete":true)");
    w.put(R"(,"duration_ms":)");
    put_milliseconds(w, s.end_ns - s.begin_ns);
    w.put(",\"event\":\"");
    w.put(event);
    w.put("\"}\n");
    end();
  }

  void begin(buffer& w, std::int64_t ns, const site_info& s, const scope_info* scope) {
    last_ns_ = ns;
    w.put(R"({"ts":")");
    time_.put(w, ns);
    w.append(site(s).head);
    if (scope != nullptr) w.append(inherited(*scope).fields);
    w.reserve(160);
  }

  void ids(buffer& w, trace_id trace, span_id span, span_id parent) {
    w.reserve(160);
    if (trace) {
      w.put(R"(,"trace_id":")");
      put_hex(w, trace.high);
      put_hex(w, trace.low);
      w.put('"');
    }
    if (span) {
      w.put(R"(,"span_id":")");
      put_hex(w, span.value);
      w.put('"');
    }
    if (parent) {
      w.put(R"(,"parent_id":")");
      put_hex(w, parent.value);
      w.put('"');
    }
  }

  void attributes(buffer& w, const site_info& s, std::span<const attribute_view> list, const scope_info* scope) {
    const std::vector<attribute_view>* extra = scope != nullptr ? &inherited(*scope).not_as_field : nullptr;
    if (list.empty() && (extra == nullptr || extra->empty())) return;
    w.append(R"(,"attributes":{)");
    const site_cache& cache = site(s);
    const char* comma = "";
    for (std::size_t i = 0; i < list.size(); ++i) {
      w.append(comma);
      const bool is_static = i < cache.keys.size() && list[i].key_number == s.attributes[i].key_number;
      w.append(is_static ? std::string_view{cache.keys[i]} : key(list[i]));
      append_json_value(w, list[i]);
      mark_cut(w, list[i], list);
      comma = ",";
    }
    if (extra != nullptr) {
      for (const attribute_view& a : *extra) {
        if (std::any_of(list.begin(), list.end(), [&](const attribute_view& own) { return own.key == a.key; }))
          continue;
        w.append(comma);
        w.append(key(a));
        append_json_value(w, a);
        comma = ",";
      }
    }
    w.append("}");
  }

  // A string that was cut says so beside it, unless somebody has that name already.
  static void mark_cut(buffer& w, const attribute_view& a, std::span<const attribute_view> list) {
    if (!a.cut) return;
    const std::string name = std::string(a.key) + ".cut";
    if (std::any_of(list.begin(), list.end(), [&](const attribute_view& other) { return other.key == name; })) return;
    w.append(",");
    append_json_string(w, name);
    w.append(":true");
  }

  void object(buffer& w, const std::vector<attribute_view>& list) {
    w.append("{");
    const char* comma = "";
    for (const attribute_view& a : list) {
      w.append(comma);
      w.append(key(a));
      append_json_value(w, a);
      mark_cut(w, a, list);
      comma = ",";
    }
    w.append("}");
  }

  void events(buffer& w, const span_view& s) {
    w.append(R"(,"events":[)");
    const char* comma = "";
    for (const event_view& e : s.events) {
      w.append(comma);
      w.reserve(64);
      w.put(R"({"ts":")");
      time_.put(w, e.time_ns);
      w.put(R"(","name":)");
      append_json_string(w, e.site->name);
      w.append(R"(,"attributes":)");
      object(w, e.attributes);
      w.append("}");
      comma = ",";
    }
    w.append("]");
  }

  void links(buffer& w, const span_view& s) {
    w.append(R"(,"links":[)");
    const char* comma = "";
    for (const link_view& l : s.links) {
      w.append(comma);
      w.reserve(160);
      w.put(R"({"kind":")");
      w.put(to_string(l.kind));
      w.put(R"(","trace_id":")");
      put_hex(w, l.trace.high);
      put_hex(w, l.trace.low);
      w.put(R"(","span_id":")");
      put_hex(w, l.span.value);
      w.put(R"("})");
      comma = ",";
    }
    w.append("]");
  }

  void thread(buffer& w, const thread_info& t) {
    if (t.number != thread_number_ || t.name != thread_name_) {
      thread_number_ = t.number;
      thread_name_ = t.name;
      thread_field_ = ",\"thread\":" + quoted(t.name.empty() ? std::to_string(t.os_id) : t.name);
    }
    w.append(thread_field_);
  }

  void origin(buffer& w, record_origin o) {
    if (o == record_origin::live) return;
    w.append(R"(,"recovered":")");
    w.append(to_string(o));
    w.append("\"");
  }

  void loss(std::int64_t since_ns, std::string_view reason, std::uint64_t count, const thread_info* t) {
    buffer& w = lines_;
    w.reserve(256);
    w.put(R"({"ts":")");
    time_.put(w, since_ns != 0 ? since_ns : last_ns_);
    w.put(R"(","level":"WARN","target":"telltale","message":")");
    w.number(count);
    w.put(R"( records were dropped here: )");
    w.put(reason);
    w.put('"');
    if (t != nullptr) thread(w, *t);
    w.reserve(160);
    w.put(R"(,"attributes":{"reason":")");
    w.put(reason);
    w.put(R"(","count":)");
    w.number(count);
    w.put("},\"event\":\"loss\"}\n");
  }

  void end() {
    ++records_;
    if (lines_.size() >= chunk_bytes) submit();
  }

  void submit() {
    out_->submit(lines_, records_);
    records_ = 0;
  }

  site_cache& site(const site_info& s) {
    if (s.id >= sites_.size()) sites_.resize(s.id + 1);
    site_cache& c = sites_[s.id];
    if (c.head.empty()) {
      c.head = R"(","level":")" + std::string(to_string(s.level)) + R"(","target":)" + quoted(s.module);
      if (s.kind != site_kind::log) c.head += ",\"span\":" + quoted(s.name);
      for (const site_info::attribute& a : s.attributes) c.keys.push_back(quoted(a.key) + ":");
    }
    return c;
  }

  std::string_view key(const attribute_view& a) {
    if (a.key_number >= keys_.size()) keys_.resize(a.key_number + 1);
    std::string& k = keys_[a.key_number];
    if (k.empty()) k = quoted(a.key) + ":";
    return k;
  }

  const scope_cache& inherited(const scope_info& s) {
    const std::size_t index = s.id & 0xffff;
    if (index >= scopes_.size()) scopes_.resize(index + 1);
    scope_cache& c = scopes_[index];
    if (c.id == s.id) return c;
    c = {};
    c.id = s.id;
    std::vector<std::string_view> seen;
    std::vector<std::string_view> cut;
    buffer w;
    for (const scope_info* at = &s; at != nullptr; at = at->parent.get()) {
      for (const attribute_view& a : at->attributes) {
        if (std::find(seen.begin(), seen.end(), a.key) != seen.end()) continue;
        seen.push_back(a.key);
        if (is_own_field(a.key)) {
          c.not_as_field.push_back(a);
        } else {
          w.append(",");
          w.append(key(a));
          append_json_value(w, a);
          if (a.cut) cut.push_back(a.key);
        }
      }
    }
    for (const std::string_view k : cut) {
      const std::string name = std::string(k) + ".cut";
      if (std::find(seen.begin(), seen.end(), name) == seen.end()) w.append("," + quoted(name) + ":true");
    }
    c.fields = w.view();
    c.keeps = s.shared_from_this();
    return c;
  }

  std::unique_ptr<output> out_;
  buffer lines_;
  std::uint64_t records_ = 0;
  std::int64_t last_ns_ = 0;
  time_writer time_{6};
  std::string message_;
  std::vector<site_cache> sites_;
  std::vector<std::string> keys_;
  std::vector<scope_cache> scopes_;
  std::uint32_t thread_number_ = UINT32_MAX;
  std::string thread_name_;
  std::string thread_field_;
};

}  // namespace

std::shared_ptr<sink> make_json_sink(std::unique_ptr<output> out) {
  return std::make_shared<json_sink>(std::move(out));
}

}  // namespace telltale::detail
