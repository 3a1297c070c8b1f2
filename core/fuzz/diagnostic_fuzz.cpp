// libFuzzer: diagnostics over any source, any spans, any texts. Every renderer returns valid text that reads back, and
// the human one loses no label.
#include <nlohmann/json.hpp>
#include <string>
#include <telltale/core/diagnostic.hpp>

#include "input.hpp"

namespace {

using telltale::diagnostic;

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

// A text that no source here can hold by chance.
std::string token(std::size_t i) {
  return "⟦" + std::to_string(i) + "⟧";
}

void require_clean(std::string_view shown, bool colour) {
  fuzz::require(fuzz::is_utf8(shown) && shown.ends_with('\n'));
  for (const char c : shown) {
    const auto b = static_cast<unsigned char>(c);
    fuzz::require((b >= 0x20 && b != 0x7f) || c == '\n' || (colour && c == '\x1b'));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  const std::uint8_t shape = in.byte();
  const std::size_t labels = in.byte() % 8;
  telltale::human_options o;
  o.colour = (shape & 1) != 0;
  o.width = in.byte();
  o.tab = in.byte() % 20;
  struct bounds {
    std::size_t begin, end;
    bool primary, other;
  };
  std::vector<bounds> spans(labels);
  for (bounds& b : spans) {
    const std::uint64_t w = in.word();
    b = {w & 0x3ff, w >> 16 & 0x3ff, (w >> 32 & 1) != 0, (w >> 33 & 3) == 3};
  }
  const std::string message{in.text(in.byte())};
  std::string source{in.rest()};
  if ((shape & 2) != 0) source.insert(source.size() / 2, std::string(600, 'x'));

  const auto file = telltale::source_file::make("fuzz\n" + message, source);
  const auto other = telltale::source_file::make("other", message);
  diagnostic d(static_cast<telltale::severity>(shape >> 2 & 1), message, message);
  for (std::size_t i = 0; i < labels; ++i) {
    telltale::source_span where{spans[i].other ? other : file, spans[i].begin, spans[i].end};
    if (spans[i].primary) {
      d.primary(std::move(where), token(i));
    } else {
      d.secondary(std::move(where), token(i));
    }
  }
  d.note(message);
  d.help(source.substr(0, 100));

  const std::string human = render_human(d, o);
  require_clean(human, o.colour);
  if (source.find("\xe2\x9f") == std::string::npos && message.find("\xe2\x9f") == std::string::npos) {
    for (std::size_t i = 0; i < labels; ++i) fuzz::require(count_of(human, token(i)) == 1);
  }

  const std::string gnu = render_gnu(d);
  require_clean(gnu, false);

  const std::string line = render_json(d);
  fuzz::require(fuzz::is_utf8(line));
  const nlohmann::json j = nlohmann::json::parse(line, nullptr, false);
  fuzz::require(!j.is_discarded() && j["labels"].size() == labels);
  const nlohmann::json s = nlohmann::json::parse(telltale::render_sarif({&d, 1}, {message, "1"}), nullptr, false);
  fuzz::require(!s.is_discarded() && s["runs"][0]["results"].size() == 1);
  for (const auto& l : j["labels"]) {
    const std::size_t begin = l["begin"]["line"];
    const std::size_t end = l["end"]["line"];
    fuzz::require(begin <= end && end <= (l["file"] == "other" ? other : file)->lines());
    if (begin == end) fuzz::require(l["begin"]["column"] <= l["end"]["column"]);
  }
  return 0;
}
