// What crosses a process: reading it, making it current, and writing it.
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <telltale/core/detail/write.hpp>
#include <telltale/core/propagation.hpp>
#include <telltale/core/sampling.hpp>
#include <telltale/core/sink.hpp>
#include <telltale/core/span.hpp>

#include "../catalogue.hpp"
#include "../decode.hpp"
#include "../engine.hpp"
#include "../memory.hpp"

namespace telltale {

namespace {

using namespace detail;

constexpr std::uint16_t chosen_elsewhere = 0x100;  // context::flags: the low byte is another process's

// --- tracestates ----------------------------------------------------------------------------------------------------

// A context has no room for a tracestate: those of the traces that are being continued here are kept by trace id.
struct kept_state {
  std::vector<tracestate_member> members;
  std::size_t users = 0;
};
struct state_table {
  std::mutex mutex;
  std::map<std::pair<std::uint64_t, std::uint64_t>, kept_state> by_trace;
};
state_table& states() {
  static auto& s = *new state_table;  // used until the last static object is gone
  return s;
}
std::pair<std::uint64_t, std::uint64_t> key_of(trace_id t) noexcept {
  return {t.high, t.low};
}
void keep_state(trace_id t, const std::vector<tracestate_member>& members) {
  const std::lock_guard lock(states().mutex);
  kept_state& s = states().by_trace[key_of(t)];
  s.members = members;
  ++s.users;
}
void release_state(trace_id t) noexcept {
  const std::lock_guard lock(states().mutex);
  const auto at = states().by_trace.find(key_of(t));
  if (at != states().by_trace.end() && --at->second.users == 0) states().by_trace.erase(at);
}
std::string state_of(trace_id t) {
  const std::lock_guard lock(states().mutex);
  const auto at = states().by_trace.find(key_of(t));
  return at != states().by_trace.end() ? to_string(at->second.members) : std::string{};
}

// A fork must not leave the table locked in the child.
[[gnu::constructor]] void watch_forks() {
  (void)states();
  ::pthread_atfork([] { states().mutex.lock(); }, [] { states().mutex.unlock(); }, [] { states().mutex.unlock(); });
}

// --- baggage --------------------------------------------------------------------------------------------------------

// The attributes of a scope and those above it that may leave the process, the nearer first.
std::vector<baggage_member> baggage_of(scope_id scope) {
  std::vector<baggage_member> out;
  const memory_map* m = memory();
  if (m == nullptr || !scope) return out;
  const auto keys = engine::baggage_keys();
  std::vector<attribute_view> attributes;
  for (std::uint32_t id = scope.value; id != 0;) {
    if ((id & 0xffff) >= max_scopes) break;
    const scope_node& n = m->scopes[id & 0xffff];
    if (n.id.load(std::memory_order_acquire) != id) break;  // the context outlived its scope
    attributes.clear();
    const site_info site = read_site(*m, n.site);  // the views point into it
    decode_attributes(*m, site.attributes, false, n.payload, n.words, attributes);
    for (const attribute_view& a : attributes) {
      if (std::find(keys->begin(), keys->end(), a.key) == keys->end()) continue;
      if (std::any_of(out.begin(), out.end(), [&](const auto& b) { return b.key == a.key; })) continue;
      baggage_member& b = out.emplace_back(baggage_member{std::string(a.key), {}});
      append_value(b.value, a);
    }
    id = n.parent;
  }
  return out;
}

// A scope node that holds what a caller sent of the keys on the list; 0 where there is nothing of it.
std::uint32_t scope_for(const std::vector<baggage_member>& baggage) {
  const auto keys = engine::baggage_keys();
  std::vector<const baggage_member*> taken;
  for (const baggage_member& b : baggage) {
    if (std::find(keys->begin(), keys->end(), b.key) != keys->end()) taken.push_back(&b);
  }
  if (taken.empty()) return 0;
  static const site& remote =
      *make_site({"remote", "telltale", {}, 0, level::info, site_kind::scope}, nullptr, 0);  // for ever
  const new_scope node = begin_scope(remote);
  if (node.id == 0) return 0;
  std::uint64_t* p = node.words;
  std::uint64_t* const end = p + scope_payload_words;
  for (const baggage_member* b : taken) {
    if (end - p < 3) break;
    put(p, late_key(register_key(b->key), attribute_type::string));
    p = put_cut_string(p + 1, b->value, static_cast<std::size_t>(end - p - 1));
  }
  filled_scope(node.id, static_cast<std::size_t>(p - node.words));
  return node.id;
}

std::string joined(const std::vector<std::string>& values) {
  std::string all;
  for (const std::string& v : values) all += (all.empty() ? "" : ",") + v;
  return all;
}

}  // namespace

// --- reading --------------------------------------------------------------------------------------------------------

remote_context read_remote(const remote_headers& h) {
  remote_context out;
  if (h.traceparent.size() > 1) {
    out.ignored.push_back(
        {"cannot read the header traceparent: it stands there more than once. It is ignored, and a "
         "trace of its own begins. Look at what the caller sends."});
  } else if (!h.traceparent.empty()) {
    if (const auto t = parse_traceparent(h.traceparent.front())) {
      out.parent.trace = t->trace;
      out.parent.span = t->parent;
      out.parent.flags = t->flags | chosen_elsewhere;
    } else {
      out.ignored.push_back(t.error());
    }
  }
  if (out.parent.span && !h.tracestate.empty()) {  // without a traceparent a tracestate means nothing
    if (auto s = parse_tracestate(joined(h.tracestate))) {
      out.state = std::move(*s);
    } else {
      out.ignored.push_back(s.error());
    }
  }
  if (!h.baggage.empty()) {
    if (auto b = parse_baggage(joined(h.baggage))) {
      out.baggage = std::move(*b);
    } else {
      out.ignored.push_back(b.error());
    }
  }
  return out;
}

remote_context extract_environment() {
  remote_headers h;
  const auto read = [](const char* name, std::vector<std::string>& to) {
    const char* v = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    if (v != nullptr && *v != '\0') to.emplace_back(v);
  };
  read("TRACEPARENT", h.traceparent);
  read("TRACESTATE", h.tracestate);
  read("BAGGAGE", h.baggage);
  return read_remote(h);
}

remote_scope::remote_scope(const remote_context& remote) : former_(current_context()) {
  scope_ = scope_for(remote.baggage);
  context now = former_;
  if (remote.parent.span) {
    context parent = remote.parent;
    if (!former_.trace) parent.flags |= former_.flags & flag_forced;
    now = continue_trace(parent);
  }
  now.scope = scope_ != 0 ? scope_id{scope_} : former_.scope;
  if (remote.parent.span && !remote.state.empty()) {
    with_state_ = remote.parent.trace;
    keep_state(with_state_, remote.state);
  }
  exchange_context(now);
}

remote_scope::~remote_scope() {
  exchange_context(former_);
  if (with_state_) release_state(with_state_);
  if (scope_ != 0) end_scope(scope_);
}

// --- writing --------------------------------------------------------------------------------------------------------

bool detail::same_header(std::string_view a, std::string_view b) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::vector<header> headers_for(const context& c) {
  std::vector<header> out;
  const bool left_out = (c.flags & flag_not_recorded) != 0;
  if (c.trace && (c.span || left_out)) {
    // Whoever began the trace decided whether it is sampled; what began here is recorded.
    const bool sampled = !left_out && ((c.flags & chosen_elsewhere) == 0 || (c.flags & flag_sampled) != 0);
    // A trace that is left out has no spans here; whoever is asked shall leave it out as well, and the header wants an
    // id for the parent.
    const span_id parent = c.span ? c.span : span_id{c.trace.low != 0 ? c.trace.low : c.trace.high};
    out.push_back({"traceparent", to_string(traceparent{c.trace, parent, static_cast<std::uint8_t>(sampled ? 1 : 0)})});
    if (std::string state = state_of(c.trace); !state.empty()) out.push_back({"tracestate", std::move(state)});
  }
  if (std::string baggage = to_string(baggage_of(c.scope)); !baggage.empty()) {
    out.push_back({"baggage", std::move(baggage)});
  }
  return out;
}

std::vector<std::string> environment_for_child() {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"traceparent", "TRACEPARENT"}, {"tracestate", "TRACESTATE"}, {"baggage", "BAGGAGE"}};
  std::vector<std::string> out;
  for (char** e = environ; e != nullptr && *e != nullptr; ++e) {
    const std::string_view variable{*e};
    const std::string_view name = variable.substr(0, variable.find('='));
    if (std::none_of(std::begin(names), std::end(names), [&](const auto& n) { return n.second == name; })) {
      out.emplace_back(variable);
    }
  }
  for (const header& h : headers_for(current_context())) {
    for (const auto& [header_name, name] : names) {
      if (h.name == header_name) out.push_back(std::string(name) + "=" + h.value);
    }
  }
  return out;
}

}  // namespace telltale
