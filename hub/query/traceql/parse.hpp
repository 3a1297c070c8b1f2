// From the text of a TraceQL query to its tree.
//
//   auto query = parse("{ name = \"Prove\" && duration > 2s } | count() > 3");
//   if (!query) show(query.error().message);
//
// An error has the place, the text with a mark under it, and what would be right there.
#pragma once

#include <string>
#include <string_view>
#include <telltale/core/result.hpp>

#include "ast.hpp"

namespace telltale::hub::traceql {

// What a text is that isn't a query here.
enum class refusal : std::uint8_t {
  syntax,       // no TraceQL
  meaning,      // TraceQL that compares what cannot be compared, or a regular expression that is none
  unsupported,  // TraceQL that this subset leaves out, or that is nested too deeply
};

class parsed {
 public:
  parsed(pipeline p) : state_(std::move(p)) {}  // NOLINT
  parsed(refusal kind, error why) : state_(std::pair(kind, std::move(why))) {}
  explicit operator bool() const noexcept { return state_.index() == 0; }
  const pipeline& operator*() const& { return std::get<0>(state_); }
  pipeline&& operator*() && { return std::get<0>(std::move(state_)); }
  const pipeline* operator->() const { return &std::get<0>(state_); }
  refusal kind() const { return std::get<1>(state_).first; }
  const telltale::error& error() const { return std::get<1>(state_).second; }

 private:
  std::variant<pipeline, std::pair<refusal, telltale::error>> state_;
};

parsed parse(std::string_view text);

}  // namespace telltale::hub::traceql
