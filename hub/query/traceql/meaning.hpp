// Which TraceQL makes no sense, as far as that is known before any span is seen: `"a" + 1`, `!2`, `=~ "("`.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ast.hpp"
#include "refusal.hpp"

namespace telltale::hub::traceql {

constexpr std::array<std::string_view, 3> statuses = {"ok", "error", "unset"};
constexpr std::array<std::string_view, 6> kinds = {"unspecified", "internal", "server",
                                                   "client",      "producer", "consumer"};

// What an operand is, where that is known.
enum class type : std::uint8_t { unknown, nil, boolean, number, string, status, kind };

// How tightly an operation binds: && || below comparisons below + - below * / % below ^ below those of one operand.
int strength(operation o);

// Doubts whether `e`, at `at`, is of the type; `why` says what wants it.
void want(doubts& d, const expression& e, type t, std::size_t at, std::string_view why);
// Doubts an operation whose operands don't fit it, or each other; they stand at `left_at` and `right_at`.
void check(doubts& d, const expression& e, std::size_t left_at, std::size_t right_at);

}  // namespace telltale::hub::traceql
