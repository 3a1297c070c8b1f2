// libFuzzer: specifications of sinks. The sinks and files beneath the reader are left out: nothing is opened, and a
// path that contains "refused" stands for one that can't be.
#include <string>

#include "input.hpp"
#include "otlp/file.hpp"
#include "sinks/elsewhere.hpp"
#include "sinks/json.hpp"
#include "sinks/output.hpp"
#include "sinks/text.hpp"
#include "sinks/timeline.hpp"

namespace telltale::detail {

namespace {

struct nowhere final : line_target {
  result<void> take(std::string_view&) override { return {}; }
  std::shared_ptr<line_target> for_child() const override { return nullptr; }
  std::string name() const override { return "nowhere"; }
};

result<std::shared_ptr<line_target>> target_at(const std::string& path) {
  fuzz::require(!path.empty());
  if (path.find("refused") != std::string::npos) return error{"cannot open \"" + path + "\""};
  return std::shared_ptr<line_target>(std::make_shared<nowhere>());
}

}  // namespace

std::shared_ptr<line_target> descriptor_target(int fd, std::string name) {
  fuzz::require(name == (fd == 2 ? "stderr" : "stdout"));
  return std::make_shared<nowhere>();
}
result<std::shared_ptr<line_target>> file_target(const std::string& path) {
  return target_at(path);
}
result<std::shared_ptr<line_target>> fresh_file_target(const std::string& path) {
  return target_at(path);
}
result<std::shared_ptr<line_target>> rolling_target(const std::string& path, rolling_options o) {
  fuzz::require(o.max_bytes > 0 && o.max_age.count() >= 0 && o.keep <= 10000);
  return target_at(path);
}

output::output(std::shared_ptr<line_target> target, overflow_policy, std::size_t) {
  fuzz::require(target != nullptr);
}
output::~output() = default;

std::shared_ptr<sink> make_text_sink(std::unique_ptr<output> out, text_options) {
  fuzz::require(out != nullptr);
  return std::make_shared<sink>();
}
std::shared_ptr<sink> make_json_sink(std::unique_ptr<output> out) {
  fuzz::require(out != nullptr);
  return std::make_shared<sink>();
}

result<void> begin_timeline(line_target&, timeline) {
  return {};
}
std::shared_ptr<sink> make_timeline_sink(std::unique_ptr<output> out, timeline) {
  fuzz::require(out != nullptr);
  return std::make_shared<sink>();
}

result<std::shared_ptr<sink>> make_otlp_sink(sink_words words) {
  for (const char* option : {"protocol", "spool"}) {
    if (words.take(option) == "refused") return words.bad("refused");
  }
  return std::make_shared<sink>();
}

}  // namespace telltale::detail

namespace telltale::otlp {

std::shared_ptr<telltale::sink> make_file_sink(std::unique_ptr<detail::output> out, const named_values&) {
  fuzz::require(out != nullptr);
  return std::make_shared<telltale::sink>();
}
result<named_values> resource_from_environment() {
  return named_values{};
}

}  // namespace telltale::otlp

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::input(data, size).rest();
  const auto sinks = telltale::make_sinks(text);
  if (!sinks) {
    const std::string& why = sinks.error().message;
    fuzz::require(why.starts_with("cannot use sink \"") || why.starts_with("cannot open \""));
    return 0;
  }
  for (const auto& s : *sinks) fuzz::require(s != nullptr);
  // One more at the end is one more; one that isn't known fails them all.
  const auto more = telltale::make_sinks(std::string(text) + ";text:stderr");
  fuzz::require(more && more->size() == sinks->size() + 1);
  fuzz::require(!telltale::make_sinks(std::string(text) + ";unknown:stderr"));
  return 0;
}
