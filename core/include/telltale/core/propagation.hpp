// The context across processes: W3C Trace Context (traceparent, tracestate) and W3C Baggage, in the headers of a
// request, the metadata of a call, the keys of a message or the environment of a child.
//
//   telltale::inject(request.headers);                       // client: who asks, as headers
//
//   const auto remote = telltale::extract(request.headers);  // server: who asked
//   telltale::remote_scope from{remote};                     // the next span is a child of the caller's
//   TELLTALE_SPAN("serve");
//
// A carrier is any range of pairs of strings: std::map, std::multimap (gRPC's metadata among them), a vector of pairs.
// Writing goes into a map or a vector of pairs, into what has AddMetadata (gRPC's ClientContext), or through a callable
// that takes a name and a value. Names are compared without regard to case.
//
// Only what is on the list of baggage keys (options::baggage, TELLTALE_BAGGAGE; by default job_id, module_id, task_id)
// leaves or enters: those keys of the current scopes are sent, and those of a caller become attributes that everything
// below inherits. Nothing else of a scope crosses a process.
//
// Malformed input is never an error of the caller's request: what can't be read is left out, and said in
// remote_context::ignored.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <ranges>
#include <string>
#include <string_view>
#include <telltale/core/context.hpp>
#include <telltale/core/result.hpp>
#include <utility>
#include <vector>

namespace telltale {

// --- the three headers --------------------------------------------------------------------------------------------

struct traceparent {
  trace_id trace;
  span_id parent;
  std::uint8_t flags = 0;  // bit 0: sampled
  friend bool operator==(const traceparent&, const traceparent&) = default;
};
// Any version but ff; of a later one the fields that version 00 has.
TELLTALE_EXPORT result<traceparent> parse_traceparent(std::string_view text);
// As version 00, which knows the sampled flag only. Nothing (an empty string) for ids that are zero.
TELLTALE_EXPORT std::string to_string(const traceparent& t);

struct tracestate_member {
  std::string key;
  std::string value;
  friend bool operator==(const tracestate_member&, const tracestate_member&) = default;
};
// At most 32 members, no key twice; several headers are joined with commas first.
TELLTALE_EXPORT result<std::vector<tracestate_member>> parse_tracestate(std::string_view text);
// At most 512 characters: members of more than 128 go first, then the last ones.
TELLTALE_EXPORT std::string to_string(const std::vector<tracestate_member>& members);

struct baggage_member {
  std::string key;
  std::string value;  // decoded; UTF-8
  friend bool operator==(const baggage_member&, const baggage_member&) = default;
};
// At most 8,192 bytes and 180 members. Properties behind a value (";key=value") are read over. The later of two members
// with one key wins.
TELLTALE_EXPORT result<std::vector<baggage_member>> parse_baggage(std::string_view text);
// Keys that are no token are left out, and so is what would exceed the limits.
TELLTALE_EXPORT std::string to_string(const std::vector<baggage_member>& members);

// --- what came from another process -------------------------------------------------------------------------------

struct remote_context {
  context parent;                        // empty where there was none, or none that could be read; whoever installs it
                                         // by hand gives it to continue_trace() first
  std::vector<tracestate_member> state;  // passed on unchanged while the remote_scope lives
  std::vector<baggage_member> baggage;   // all that was sent; remote_scope takes what is on the list
  std::vector<error> ignored;            // what could not be read, and why
};

// The header values of one request, as they came.
struct remote_headers {
  std::vector<std::string> traceparent;
  std::vector<std::string> tracestate;
  std::vector<std::string> baggage;
};
TELLTALE_EXPORT remote_context read_remote(const remote_headers& headers);
// The variables TRACEPARENT, TRACESTATE and BAGGAGE, for a child that wants to belong to what started it.
TELLTALE_EXPORT remote_context extract_environment();

// Makes a remote context current for as long as it lives, with its baggage as inherited attributes. Whether its trace
// is recorded here is continue_trace()'s decision, or forced where forced_trace() was current. Ends on the thread that
// made it. Allocates; locks shortly where there is a tracestate.
class remote_scope {
 public:
  TELLTALE_EXPORT explicit remote_scope(const remote_context& remote);
  TELLTALE_EXPORT ~remote_scope();
  remote_scope(const remote_scope&) = delete;
  remote_scope& operator=(const remote_scope&) = delete;

 private:
  context former_;
  std::uint32_t scope_ = 0;
  trace_id with_state_;
};

// --- writing and reading carriers ---------------------------------------------------------------------------------

// The headers for a context: traceparent, and tracestate and baggage where there are any. Empty outside a trace, but
// for the baggage. A trace that is left out here goes on as not sampled, under its id.
struct header {
  std::string_view name;  // a literal
  std::string value;
};
TELLTALE_EXPORT std::vector<header> headers_for(const context& c);

// The environment of a child: this process's, with TRACEPARENT, TRACESTATE and BAGGAGE for the current context instead
// of its own. "NAME=VALUE" each.
TELLTALE_EXPORT std::vector<std::string> environment_for_child();

namespace detail {

TELLTALE_EXPORT bool same_header(std::string_view a, std::string_view b) noexcept;

template <class S>
std::string_view header_view(const S& s) {
  if constexpr (std::convertible_to<const S&, std::string_view>) {
    return s;
  } else {
    return {s.data(), s.size()};  // grpc::string_ref
  }
}

}  // namespace detail

template <class C>
concept header_range = std::ranges::input_range<const C> && requires(const C& c) {
  detail::header_view((*std::ranges::begin(c)).first);
  detail::header_view((*std::ranges::begin(c)).second);
};
template <class F>
concept header_setter = std::invocable<F&, std::string, std::string>;

template <header_range C>
remote_context extract(const C& carrier) {
  remote_headers h;
  for (const auto& [name, value] : carrier) {
    const std::string_view n = detail::header_view(name);
    if (detail::same_header(n, "traceparent")) h.traceparent.emplace_back(detail::header_view(value));
    if (detail::same_header(n, "tracestate")) h.tracestate.emplace_back(detail::header_view(value));
    if (detail::same_header(n, "baggage")) h.baggage.emplace_back(detail::header_view(value));
  }
  return read_remote(h);
}

// Writes `c`, replacing headers of the same name that the carrier has.
template <class C>
void inject(C&& carrier, const context& c = current_context()) {
  for (header& h : headers_for(c)) {
    std::string name{h.name};
    if constexpr (header_setter<C>) {
      carrier(std::move(name), std::move(h.value));
    } else if constexpr (requires { carrier.AddMetadata(name, h.value); }) {
      carrier.AddMetadata(name, h.value);
    } else if constexpr (requires { carrier.insert_or_assign(name, std::move(h.value)); }) {
      carrier.insert_or_assign(std::move(name), std::move(h.value));
    } else if constexpr (requires {
                           carrier.emplace(name, std::move(h.value));
                           carrier.erase(name);
                         }) {
      carrier.erase(name);  // a multimap
      carrier.emplace(std::move(name), std::move(h.value));
    } else {
      std::erase_if(carrier, [&](const auto& e) { return detail::same_header(detail::header_view(e.first), name); });
      carrier.emplace_back(std::move(name), std::move(h.value));
    }
  }
}

}  // namespace telltale
