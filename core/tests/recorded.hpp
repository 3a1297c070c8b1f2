// What a test recorded: a sink in memory for the length of a test, nothing on the terminal.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <telltale/core/telltale.hpp>
#include <telltale/core/trace_model.hpp>

namespace telltale::testing {

// Starts with the given options (no sinks but this one), and takes itself away at the end.
class recorded {
 public:
  explicit recorded(options o = {}, double overhead = 0) {
    o.sinks = "none";
    o.overhead = overhead;
    const auto started = start(o);
    EXPECT_TRUE(started) << started.error().message;
    flush();
    add_sink(sink_);
  }
  ~recorded() { remove_sink(sink_); }
  recorded(const recorded&) = delete;
  recorded& operator=(const recorded&) = delete;

  std::vector<trace_span> spans() {
    EXPECT_TRUE(flush());
    return sink_->take();
  }
  std::vector<recording::line> lines() {
    EXPECT_TRUE(flush());
    return sink_->take_lines();
  }
  std::uint64_t lost() {
    EXPECT_TRUE(flush());
    return sink_->lost();
  }

 private:
  std::shared_ptr<recording> sink_ = std::make_shared<recording>(20'000'000);
};

inline const trace_span& named(const std::vector<trace_span>& spans, std::string_view name) {
  const auto found = std::find_if(spans.begin(), spans.end(), [&](const trace_span& s) { return s.name == name; });
  if (found == spans.end()) throw std::runtime_error("no span named " + std::string(name));
  return *found;
}

inline std::string text_of(const attribute_value* v) {
  return v != nullptr ? to_string(*v) : "(none)";
}

}  // namespace telltale::testing
