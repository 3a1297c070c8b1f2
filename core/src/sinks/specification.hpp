// One sink's words, "json:trace.jsonl?overflow=block", taken apart. A kind of sink takes its options out, one by one;
// what is left over in the end is unknown and an error. Exported for kinds that live in libraries of their own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <telltale/core/result.hpp>
#include <telltale/core/runtime.hpp>
#include <telltale/core/sink.hpp>

namespace telltale::detail {

struct queue_options {
  overflow_policy overflow = overflow_policy::drop;
  std::size_t pending = 0;
};

struct TELLTALE_EXPORT sink_words {
  std::string whole;
  std::string kind;
  std::string target;
  std::map<std::string, std::string, std::less<>> options;

  error bad(const std::string& why) const;
  // Each takes an option out of the list. An absent one gives nothing, the first word, or `otherwise`.
  std::optional<std::string> take(std::string_view name);
  result<std::size_t> take_word(std::string_view name, std::initializer_list<std::string_view> words);
  result<std::uint64_t> take_size(std::string_view name, std::uint64_t otherwise);
  result<std::chrono::milliseconds> take_duration(std::string_view name, std::chrono::milliseconds otherwise);
  result<queue_options> take_queue();
  // `known`: the options there are, for the message.
  result<void> nothing_left(std::string_view known) const;
};

}  // namespace telltale::detail
