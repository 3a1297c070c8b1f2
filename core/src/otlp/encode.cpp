// The mapping from records to OTLP. docs/formats.md has it as a table.
#include "encode.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include "attributes.hpp"
#include "writer.hpp"

namespace telltale::otlp {

namespace {

constexpr field list_of(signal_kind s) noexcept {
  return s == signal_kind::traces ? span::attributes : log_record::attributes;
}

// What we say of every span and line beside its own attributes. An attribute of the program's with such a name wins.
constexpr std::string_view key_level = "telltale.level";
constexpr std::string_view key_file = "code.file.path";
constexpr std::string_view key_line = "code.line.number";
constexpr std::string_view key_thread_id = "thread.id";
constexpr std::string_view key_thread_name = "thread.name";
constexpr std::string_view key_incomplete = "telltale.incomplete";
constexpr std::string_view key_recovered = "telltale.recovered";
constexpr std::array our_keys = {key_level,       key_file,       key_line,     key_thread_id,
                                 key_thread_name, key_incomplete, key_recovered};

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

template <class W>
class encoder_of final : public encoder {
 public:
  void add(const span_view& s) override {
    group& g = begin(signal_kind::traces, s.site.module);
    W w(g.records);
    const auto m = w.begin_item(scope_records::records[0], 2);
    w.id(span::trace_id, s.trace);
    w.id(span::span_id, s.span);
    if (s.parent) w.id(span::parent_span_id, s.parent);
    w.fixed32(span::flags, flag_sampled);
    w.string(span::name, s.site.name);
    w.enumeration(span::kind, static_cast<std::uint32_t>(s.kind) + 1);
    w.fixed64(span::start_time, static_cast<std::uint64_t>(s.begin_ns));
    w.fixed64(span::end_time, static_cast<std::uint64_t>(s.end_ns));
    w.begin_list(span::attributes);
    attributes(w, signal_kind::traces, s.site, s.attributes, s.scope, s.thread, s.incomplete, s.origin);
    w.end_list();
    if (!s.events.empty()) events(w, s);
    if (!s.links.empty()) links(w, s);
    if (s.failed) {
      const auto status = w.begin(span::status);
      w.enumeration(span_status::code, span_status::error);
      w.end(status);
    }
    w.end(m);
    end(signal_kind::traces, g);
  }

  void add(const log_view& l) override {
    group& g = begin(signal_kind::logs, l.site.module);
    W w(g.records);
    message_.clear();
    append_message(message_, l);
    const auto m = begin_log(w, l.time_ns, l.site.level, message_);
    w.begin_list(log_record::attributes);
    attributes(w, signal_kind::logs, l.site, l.attributes, l.scope, l.thread, false, l.origin);
    w.end_list();
    log_ids(w, l.trace, l.span);
    w.end(m);
    end(signal_kind::logs, g);
  }

  void add_open(const span_view& s, std::string_view event) override {
    group& g = begin(signal_kind::logs, s.site.module);
    W w(g.records);
    message_.assign(s.site.name);
    message_ += " is still open";
    const auto m = begin_log(w, s.end_ns, s.site.level, message_);
    w.string(log_record::event_name, event);
    w.begin_list(log_record::attributes);
    put_attribute(w, log_record::attributes, "telltale.span.name", text_view({}, s.site.name));
    put_attribute(w, log_record::attributes, "telltale.span.start_time_unix_nano", number_view({}, s.begin_ns));
    if (s.parent) {
      buffer hex;
      hex.reserve(16);
      detail::put_hex(hex, s.parent.value);
      put_attribute(w, log_record::attributes, "telltale.span.parent_id", text_view({}, hex.view()));
    }
    attributes(w, signal_kind::logs, s.site, s.attributes, s.scope, s.thread, s.incomplete, s.origin);
    w.end_list();
    log_ids(w, s.trace, s.span);
    w.end(m);
    end(signal_kind::logs, g);
  }

  void add_loss(std::string_view reason, std::uint64_t count, std::int64_t since_ns, const thread_info* t) override {
    group& g = begin(signal_kind::logs, "telltale");
    W w(g.records);
    message_ = std::to_string(count) + " records were dropped here: " + std::string(reason);
    const auto m = begin_log(w, since_ns != 0 ? since_ns : last_ns_, level::warn, message_);
    w.string(log_record::event_name, event_loss);
    w.begin_list(log_record::attributes);
    put_attribute(w, log_record::attributes, "reason", text_view({}, reason));
    put_attribute(w, log_record::attributes, "count", number_view({}, static_cast<std::int64_t>(count)));
    if (t != nullptr) w.items(thread(*t).written[index(signal_kind::logs)]);
    w.end_list();
    w.end(m);
    end(signal_kind::logs, g);
  }

  std::size_t bytes(signal_kind s) const noexcept override { return totals_[index(s)].bytes; }
  std::uint64_t records(signal_kind s) const noexcept override { return totals_[index(s)].records; }

  chunk take(signal_kind s) override {
    chunk out;
    out.records = totals_[index(s)].records;
    out.bytes.reserve(totals_[index(s)].bytes + 256);
    W w(out.bytes);
    for (group& g : groups_[index(s)]) {
      if (g.records.empty()) continue;
      const auto m = w.begin_item(resource_records::scopes[index(s)], 3);
      const auto scope = w.begin(scope_records::scope);
      w.string(instrumentation_scope::name, g.module);
      w.end(scope);
      w.begin_list(scope_records::records[index(s)]);
      w.items(g.records.view());
      w.end_list();
      w.end(m);
      g.records.clear();
    }
    totals_[index(s)] = {};
    return out;
  }

 private:
  // Records of one module, as messages of a list.
  struct group {
    std::string module;
    buffer records;
    std::size_t before = 0;  // its size when the current record began
  };
  struct total {
    std::size_t bytes = 0;
    std::uint64_t records = 0;
  };
  using fragments = std::array<std::string, 2>;  // attributes as messages of a span's and of a log record's list
  struct site_cache {
    bool known = false;
    fragments written;
  };
  struct scope_cache {
    std::uint32_t id = 0;
    bool names_ours = false;
    fragments written;
    std::vector<attribute_view> attributes;   // all inherited ones, the nearest of each key
    std::shared_ptr<const scope_info> keeps;  // what the views point into
  };
  struct thread_cache {
    std::uint32_t number = 0;
    std::string name;
    fragments written;
  };

  static constexpr std::size_t index(signal_kind s) noexcept { return static_cast<std::size_t>(s); }

  template <class F>
  static fragments write_both(F write) {
    fragments out;
    for (const signal_kind s : {signal_kind::traces, signal_kind::logs}) {
      buffer b;
      W w(b);
      write(w, s);
      out[index(s)] = b.view();
    }
    return out;
  }

  group& begin(signal_kind s, std::string_view module) {
    std::vector<group>& groups = groups_[index(s)];
    std::size_t& last = last_group_[index(s)];
    if (last >= groups.size() || groups[last].module != module) {
      last = static_cast<std::size_t>(
          std::find_if(groups.begin(), groups.end(), [&](const group& g) { return g.module == module; }) -
          groups.begin());
      if (last == groups.size()) groups.push_back({std::string(module), {}, 0});
    }
    group& g = groups[last];
    g.before = g.records.size();
    return g;
  }
  void end(signal_kind s, const group& g) noexcept {
    totals_[index(s)].bytes += g.records.size() - g.before;
    ++totals_[index(s)].records;
  }

  auto begin_log(W& w, std::int64_t ns, level l, std::string_view body) {
    const auto m = w.begin_item(scope_records::records[1], 2);
    last_ns_ = ns;
    w.fixed64(log_record::time, static_cast<std::uint64_t>(ns));
    w.fixed64(log_record::observed_time, static_cast<std::uint64_t>(ns));
    w.enumeration(log_record::severity_number, severities[static_cast<std::size_t>(l)]);
    w.string(log_record::severity_text, to_string(l));
    const auto b = w.begin(log_record::body);
    w.string(any_value::string_value, body);
    w.end(b);
    return m;
  }
  static void log_ids(W& w, trace_id trace, span_id span) {
    if (!trace) return;
    w.id(log_record::trace_id, trace);
    if (!span) return;  // the sampler has left the trace out
    w.fixed32(log_record::flags, flag_sampled);
    w.id(log_record::span_id, span);
  }

  // Own attributes, then inherited ones that it hasn't got, then ours. Each key once.
  void attributes(W& w, signal_kind kind, const site_info& s, std::span<const attribute_view> own,
                  const scope_info* scope, const thread_info& t, bool incomplete, record_origin origin) {
    const field list = list_of(kind);
    bool names_ours = false;
    for (const attribute_view& a : own) {
      put_attribute(w, list, a.key, a);
      if (a.cut) mark_cut(w, list, a, own);
      names_ours = names_ours || is_ours(a);
    }
    const scope_cache* inherited = scope != nullptr ? &cached(*scope) : nullptr;
    if (inherited != nullptr) {
      names_ours = names_ours || inherited->names_ours;
      if (share_a_key(own, inherited->attributes)) [[unlikely]] {
        for (const attribute_view& a : inherited->attributes) {
          if (!has(own, a.key)) put_attribute(w, list, a.key, a);
        }
      } else {
        w.items(inherited->written[index(kind)]);
      }
    }
    if (!names_ours) [[likely]] {
      w.items(site(s).written[index(kind)]);
      w.items(thread(t).written[index(kind)]);
      if (incomplete || origin != record_origin::live) [[unlikely]]
        each_rare(incomplete, origin, [&](const attribute_view& a) { put_attribute(w, list, a.key, a); });
      return;
    }
    const auto put_unless_named = [&](const attribute_view& a) {
      if (!has(own, a.key) && (inherited == nullptr || !has(inherited->attributes, a.key))) {
        put_attribute(w, list, a.key, a);
      }
    };
    each_of_site(s, kind, put_unless_named);
    each_of_thread(t, put_unless_named);
    each_rare(incomplete, origin, put_unless_named);
  }

  // A string that was cut says so beside it, unless somebody has that name already.
  static void mark_cut(W& w, field list, const attribute_view& a, std::span<const attribute_view> all) {
    const std::string name = std::string(a.key) + ".cut";
    if (has(all, name)) return;
    put_attribute(w, list, name, true_view(name));
  }

  static bool has(std::span<const attribute_view> list, std::string_view key) noexcept {
    return std::any_of(list.begin(), list.end(), [&](const attribute_view& a) { return a.key == key; });
  }
  static bool share_a_key(std::span<const attribute_view> a, std::span<const attribute_view> b) noexcept {
    return std::any_of(a.begin(), a.end(), [&](const attribute_view& x) {
      return std::any_of(b.begin(), b.end(), [&](const attribute_view& y) { return x.key_number == y.key_number; });
    });
  }
  // Whether its key is one of ours; looked up once per key.
  bool is_ours(const attribute_view& a) {
    if (a.key_number >= is_ours_.size()) is_ours_.resize(a.key_number + 1, unknown);
    std::uint8_t& known = is_ours_[a.key_number];
    if (known == unknown) known = std::find(our_keys.begin(), our_keys.end(), a.key) != our_keys.end() ? yes : no;
    return known == yes;
  }

  template <class F>
  static void each_of_site(const site_info& s, signal_kind kind, F f) {
    if (kind == signal_kind::traces) f(text_view(key_level, lower(to_string(s.level))));
    f(text_view(key_file, s.file));
    f(number_view(key_line, s.line));
  }
  template <class F>
  static void each_of_thread(const thread_info& t, F f) {
    f(number_view(key_thread_id, t.os_id));
    if (!t.name.empty()) f(text_view(key_thread_name, t.name));
  }

  template <class F>
  static void each_rare(bool incomplete, record_origin origin, F f) {
    if (incomplete) f(true_view(key_incomplete));
    if (origin != record_origin::live) f(text_view(key_recovered, to_string(origin)));
  }

  const site_cache& site(const site_info& s) {
    if (s.id >= sites_.size()) sites_.resize(s.id + 1);
    site_cache& c = sites_[s.id];
    if (!c.known) {
      c.known = true;
      c.written = write_both([&](W& w, signal_kind kind) {
        each_of_site(s, kind, [&](const attribute_view& a) { put_attribute(w, list_of(kind), a.key, a); });
      });
    }
    return c;
  }

  const thread_cache& thread(const thread_info& t) {
    const std::size_t at = t.number % 64;
    if (threads_.size() <= at) threads_.resize(64);
    thread_cache& c = threads_[at];
    if (c.number != t.number || c.name != t.name || c.written[0].empty()) {
      c.number = t.number;
      c.name = t.name;
      c.written = write_both([&](W& w, signal_kind kind) {
        each_of_thread(t, [&](const attribute_view& a) { put_attribute(w, list_of(kind), a.key, a); });
      });
    }
    return c;
  }

  const scope_cache& cached(const scope_info& s) {
    const std::size_t at = s.id & 0xffff;
    if (at >= scopes_.size()) scopes_.resize(at + 1);
    scope_cache& c = scopes_[at];
    if (c.id == s.id) return c;
    c = {};
    c.id = s.id;
    for (const scope_info* from = &s; from != nullptr; from = from->parent.get()) {
      for (const attribute_view& a : from->attributes) {
        if (!has(c.attributes, a.key)) c.attributes.push_back(a);
      }
    }
    for (const attribute_view& a : c.attributes) c.names_ours = c.names_ours || is_ours(a);
    c.written = write_both([&](W& w, signal_kind kind) {
      for (const attribute_view& a : c.attributes) {
        put_attribute(w, list_of(kind), a.key, a);
        if (a.cut) mark_cut(w, list_of(kind), a, c.attributes);
      }
    });
    c.keeps = s.shared_from_this();
    return c;
  }

  static void events(W& w, const span_view& s) {
    w.begin_list(span::events);
    for (const event_view& e : s.events) {
      const auto m = w.begin_item(span::events);
      w.fixed64(span_event::time, static_cast<std::uint64_t>(e.time_ns));
      w.string(span_event::name, e.site->name);
      w.begin_list(span_event::attributes);
      for (const attribute_view& a : e.attributes) {
        put_attribute(w, span_event::attributes, a.key, a);
        if (a.cut) mark_cut(w, span_event::attributes, a, e.attributes);
      }
      w.end_list();
      w.end(m);
    }
    w.end_list();
  }

  static void links(W& w, const span_view& s) {
    w.begin_list(span::links);
    for (const link_view& l : s.links) {
      const auto m = w.begin_item(span::links);
      w.id(span_link::trace_id, l.trace);
      w.id(span_link::span_id, l.span);
      w.begin_list(span_link::attributes);
      put_attribute(w, span_link::attributes, "telltale.link.kind", text_view({}, to_string(l.kind)));
      w.end_list();
      w.end(m);
    }
    w.end_list();
  }

  static constexpr std::uint8_t unknown = 0;
  static constexpr std::uint8_t no = 1;
  static constexpr std::uint8_t yes = 2;

  std::vector<group> groups_[signals];
  std::size_t last_group_[signals] = {};
  total totals_[signals];
  std::vector<site_cache> sites_;
  std::vector<scope_cache> scopes_;
  std::vector<thread_cache> threads_;
  std::vector<std::uint8_t> is_ours_;
  std::string message_;
  std::int64_t last_ns_ = 0;
};

template <class W>
std::string write_resource(const named_values& attributes) {
  buffer b;
  W w(b);
  const auto m = w.begin(resource_records::resource);
  w.begin_list(resource::attributes);
  for (const auto& [key, value] : attributes) {
    put_attribute(w, resource::attributes, key, view_of(value));
  }
  w.end_list();
  w.end(m);
  return std::string(b.view());
}

template <class W>
buffer write_request(signal_kind s, std::string_view resource, std::span<const chunk> chunks) {
  const auto i = static_cast<std::size_t>(s);
  buffer out;
  std::size_t bytes = resource.size() + 64;
  for (const chunk& c : chunks) bytes += c.bytes.size() + 1;
  out.reserve(bytes);
  W w(out);
  if constexpr (W::is_json) out.append("{");
  w.begin_list(export_request::resources[i]);
  const auto m = w.begin_item(export_request::resources[i], 4);
  w.items(resource);
  w.begin_list(resource_records::scopes[i]);
  for (const chunk& c : chunks) w.items(c.bytes.view());
  w.end_list();
  w.end(m);
  w.end_list();
  if constexpr (W::is_json) out.append("}");
  return out;
}

}  // namespace

std::unique_ptr<encoder> make_encoder(encoding e) {
  if (e == encoding::json) return std::make_unique<encoder_of<json_writer>>();
  return std::make_unique<encoder_of<proto_writer>>();
}

std::string encode_resource(encoding e, const named_values& attributes) {
  return e == encoding::json ? write_resource<json_writer>(attributes) : write_resource<proto_writer>(attributes);
}

buffer make_request(encoding e, signal_kind s, std::string_view resource, std::span<const chunk> chunks) {
  return e == encoding::json ? write_request<json_writer>(s, resource, chunks)
                             : write_request<proto_writer>(s, resource, chunks);
}

}  // namespace telltale::otlp
