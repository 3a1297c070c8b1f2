// Which spans came lately: a request that was sent again, because its answer got lost, is then kept once.
#pragma once

#include <cstdint>
#include <telltale/core/context.hpp>
#include <vector>

#include "hub/model.hpp"

namespace telltale::hub {

// Spans of one generation of tables. Not for several threads.
class recent_spans {
 public:
  recent_spans() : slots_(1024) {}

  // True where the span is new, or came only in a state that this one replaces: open, lost, ended, in this order.
  bool add(trace_id trace, span_id span, span_state state);
  bool holds(trace_id trace, span_id span, span_state state) const noexcept;

 private:
  struct slot {
    std::uint64_t trace = 0;  // both halves of its id in one
    std::uint64_t span = 0;   // 0: empty, which no span's id is
    std::uint8_t rank = 0;
  };
  static slot slot_of(trace_id trace, span_id span, span_state state) noexcept;
  std::size_t find(const slot& s) const noexcept;
  void grow();

  std::vector<slot> slots_;  // a power of two, at most three quarters full
  std::size_t size_ = 0;
};

}  // namespace telltale::hub
