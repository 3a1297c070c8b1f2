// Instructions per call, which repeat where times don't: callgrind counts a loop of N and one of 2 N iterations, and
// the difference divided by N is exact. And what is left of a span that is compiled out: nothing.
#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "core/bench/child.hpp"
#include "core/bench/figures.hpp"

namespace telltale::bench {
namespace {

std::optional<double> counted(const std::string& program, const std::string& what, int n) {
  const ended e = run_child({"valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                             "--toggle-collect=counted_" + what, program, what, std::to_string(n)});
  const auto at = e.output.find("Collected : ");
  if (e.code != 0 || at == std::string::npos) return std::nullopt;
  double instructions = 0;
  const char* from = e.output.data() + at + 12;
  std::from_chars(from, e.output.data() + e.output.size(), instructions);
  return instructions;
}

std::optional<double> per_iteration(const std::string& program, const std::string& what) {
  constexpr int n = 20'000;
  const auto once = counted(program, what, n);
  const auto twice = counted(program, what, 2 * n);
  if (!once || !twice) return std::nullopt;
  return (*twice - *once) / n;
}

bool is_padding(const std::string& instruction) {
  for (const char* start : {"nop", "xchg   %ax,%ax", "cs nop", "data16"}) {
    if (instruction.starts_with(start)) return true;
  }
  return false;
}

// "cmp %b,%a" becomes "cmp %a,%b".
void order_operands(std::string& instruction) {
  const auto first = instruction.find('%');
  const auto comma = instruction.find(',');
  if (!instruction.starts_with("cmp ") || first == std::string::npos || comma == std::string::npos) return;
  std::string a = instruction.substr(first, comma - first);
  std::string b = instruction.substr(comma + 1);
  if (b < a) instruction = instruction.substr(0, first) + b + "," + a;
}

// The instructions of one function, without addresses, its own name replaced.
std::vector<std::string> disassembled(const std::string& program, const std::string& function) {
  std::istringstream lines(run_child({"objdump", "--no-show-raw-insn", "--disassemble=" + function, program}).output);
  std::vector<std::string> result;
  for (std::string line; std::getline(lines, line);) {
    const auto tab = line.find(":\t");
    if (tab == std::string::npos) continue;
    std::string words = line.substr(tab + 2);
    if (const auto angle = words.find('<'); angle != std::string::npos) {  // "call 1234 <target+0x8>"
      const auto space = words.find_last_of(' ', angle - 2);
      words.erase(space + 1, angle - space - 1);
    }
    if (const auto own = words.find(function); own != std::string::npos) words.replace(own, function.size(), "self");
    result.push_back(std::move(words));
  }
  while (!result.empty() && is_padding(result.back())) result.pop_back();
  // Equality has no order: a compiler may compare either way round.
  for (std::size_t i = 0; i + 1 < result.size(); ++i) {
    if (result[i + 1].starts_with("je ") || result[i + 1].starts_with("jne ")) order_operands(result[i]);
  }
  return result;
}

void add_compiled_out(report& r) {
  const std::string name = "span compiled out, instructions that differ";
  const std::string program = beside("core_compiled_out");
  const auto bare = disassembled(program, "bare_function");
  const auto with = disassembled(program, "function_with_spans_compiled_out");
  if (bare.empty() || with.empty()) return r.absent(name, "objdump (binutils) did not run");
  std::size_t different = std::max(bare.size(), with.size()) - std::min(bare.size(), with.size());
  for (std::size_t i = 0; i < std::min(bare.size(), with.size()); ++i) different += bare[i] != with[i] ? 1U : 0U;
  r.add({.name = name, .value = static_cast<double>(different), .unit = "instr", .bar = value_at_most(0)});
}

}  // namespace

void add_instruction_figures(report& r) {
  const std::string program = beside("core_counted_loop");
  const std::optional<double> empty = per_iteration(program, "empty");
  if (!empty) {
    r.absent("instructions per call", "valgrind did not run: apt-get install valgrind");
  } else {
    const auto add = [&](const std::string& name, const std::string& what, telltale::bench::bar bar) {
      const auto value = per_iteration(program, what);
      if (!value) return r.absent(name, "valgrind's run of core_counted_loop " + what + " failed");
      r.add({.name = name,
             .value = *value,
             .unit = "instr",
             .reference = "the empty loop",
             .reference_value = *empty,
             .bar = bar});
    };
    add("span off, loop with the call", "span_off", value_at_most(6));
    add("line off, loop with the call", "log_off", value_at_most(6));
    add("enabled span, loop with the call", "span", {});
    add("enabled line, loop with the call", "log", {});
  }
  add_compiled_out(r);
}

}  // namespace telltale::bench
