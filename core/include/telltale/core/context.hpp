// The current context: which span, of which trace, under which scope, the running code belongs to.
//
// It is one plain value in thread-local memory. A span sets it when it begins and puts the former one back when it
// ends; everything else (threads, pools, coroutines, foreign calls) copies it and installs the copy:
//
//   auto job = telltale::bind([] { TELLTALE_INFO("runs under the caller's span"); });
//   std::thread(job).detach();
//
//   telltale::with_context guard{captured};    // the same by hand, for as long as `guard` lives
//
// Every function here is noexcept, allocates nothing, takes no lock and may be called from any thread.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#if defined(__GNUC__)
#define TELLTALE_EXPORT [[gnu::visibility("default")]]
#else
#error "telltale needs g++ or clang"
#endif

namespace telltale {

// 128 bits as W3C Trace Context has them; all zero means "no trace".
struct trace_id {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  constexpr explicit operator bool() const noexcept { return (high | low) != 0; }
  friend constexpr bool operator==(const trace_id&, const trace_id&) = default;
};

// 64 bits as W3C Trace Context has them; zero means "no span".
struct span_id {
  std::uint64_t value = 0;
  constexpr explicit operator bool() const noexcept { return value != 0; }
  friend constexpr bool operator==(const span_id&, const span_id&) = default;
};

// A node of inherited attributes; zero means "none". Meaningful inside one process only.
struct scope_id {
  std::uint32_t value = 0;
  constexpr explicit operator bool() const noexcept { return value != 0; }
  friend constexpr bool operator==(const scope_id&, const scope_id&) = default;
};

// Where in a trace the running code stands. A span that begins and ends changes this part only, unless it is a root.
struct position {
  span_id span;
  scope_id scope;
  std::uint16_t origin = 0;  // call site of `span`; 0 where the span is another process's
  std::uint16_t flags = 0;   // W3C trace flags in the low byte; bit 8: another process chose them
  friend constexpr bool operator==(const position&, const position&) = default;
};

// Bits of position::flags: W3C's in the low byte, ours above.
inline constexpr std::uint16_t flag_sampled = 0x1;
inline constexpr std::uint16_t flag_not_recorded = 0x400;  // the sampler left this trace out: no span of it is recorded
inline constexpr std::uint16_t flag_forced = 0x800;        // a trace that begins here is recorded, whatever the sampler

struct context : position {
  trace_id trace;
  friend constexpr bool operator==(const context&, const context&) = default;
};
static_assert(sizeof(position) == 16 && sizeof(context) == 32 && std::is_trivially_copyable_v<context>);

namespace detail {

struct thread_block;
struct metric_shard;
struct tally_sheet;

// A shard in which nothing can be counted: that of threads that have counted nothing yet.
TELLTALE_EXPORT extern constinit metric_shard no_shard;
TELLTALE_EXPORT extern constinit tally_sheet no_tallies;

// Everything a call site needs to know about its thread. One per thread and process, since the library is shared.
struct thread_state {
  context current;
  thread_block* block = nullptr;       // this thread's ring and slots; until its first record an empty one, never null
  std::uint64_t id_state = 0;          // see next_id()
  metric_shard* shard = &no_shard;     // where this thread's metrics count; see cells.hpp
  tally_sheet* tallies = &no_tallies;  // where it counts the calls of spans that fire too often; see tally.hpp
};
static_assert(std::is_trivially_destructible_v<thread_state>);

// initial-exec: one load from the thread pointer, also when the library came in through dlopen (64 bytes of the
// loader's spare static TLS).
TELLTALE_EXPORT extern constinit thread_local thread_state tls __attribute__((tls_model("initial-exec")));

}  // namespace detail

inline context current_context() noexcept {
  return detail::tls.current;
}

// Installs `c` and returns what was there.
inline context exchange_context(const context& c) noexcept {
  return std::exchange(detail::tls.current, c);
}

// Installs a context for as long as it lives. Must end on the thread that made it, and must not live across a
// suspension of a coroutine (coroutine.hpp has what may).
class with_context {
 public:
  explicit with_context(const context& c) noexcept : former_(exchange_context(c)) {}
  ~with_context() { detail::tls.current = former_; }
  with_context(const with_context&) = delete;
  with_context& operator=(const with_context&) = delete;

 private:
  context former_;
};

namespace detail {
template <class F>
class bound {
 public:
  bound(context c, F f) : context_(c), f_(std::move(f)) {}
  template <class... A>
  decltype(auto) operator()(A&&... a) {
    with_context guard{context_};
    return f_(std::forward<A>(a)...);
  }
  template <class... A>
  decltype(auto) operator()(A&&... a) const {
    with_context guard{context_};
    return f_(std::forward<A>(a)...);
  }
  const F& callable() const noexcept { return f_; }

 private:
  context context_;
  F f_;
};
}  // namespace detail

// A callable that runs `f` under the context in which bind() was called, on whichever thread.
template <class F>
auto bind(F f) {
  return detail::bound<F>{current_context(), std::move(f)};
}
template <class F>
auto bind(const context& c, F f) {
  return detail::bound<F>{c, std::move(f)};
}

// An executor whose tasks run under the context of whoever posted them. `Pool` is any type with post(callable),
// submit(callable) or execute(callable); what that returns is returned.
template <class Pool>
class bound_executor {
 public:
  explicit bound_executor(Pool& pool) noexcept : pool_(&pool) {}
  template <class F>
  decltype(auto) post(F&& f) const {
    if constexpr (requires { pool_->post(bind(std::forward<F>(f))); }) {
      return pool_->post(bind(std::forward<F>(f)));
    } else if constexpr (requires { pool_->submit(bind(std::forward<F>(f))); }) {
      return pool_->submit(bind(std::forward<F>(f)));
    } else {
      return pool_->execute(bind(std::forward<F>(f)));
    }
  }

 private:
  Pool* pool_;
};

}  // namespace telltale
