// Writes a SARIF document with everything in it that ours can have; its test shows it to the official schema.
#include <cstdio>
#include <telltale/core/diagnostic.hpp>
#include <telltale/core/telltale.hpp>

int main() {
  using telltale::diagnostic;
  using telltale::severity;
  using namespace telltale::literals;
  telltale::options o;
  o.sinks = "none";
  if (!telltale::start(o)) return 1;
  TELLTALE_SPAN("compile");
  TELLTALE_SPAN("typecheck", "function"_a = "matmul");
  const auto file = telltale::source_file::make("a dir/model ü#1.shape", "let y = matmul(a, b)\n\xff\n");
  const auto absolute = telltale::source_file::make("/abs/x.shape", "");
  const diagnostic all[] = {
      diagnostic(severity::error, "SHP-0203", "inner dimensions \x1b\xff do not agree")
          .primary({file, 18, 19}, "this has 96 rows")
          .secondary({file, 15, 16})
          .secondary({absolute, 0, 0}, "declared here")
          .note("a note")
          .help("transpose it"),
      diagnostic(severity::warning, "", "no place, no code", telltale::topic::runtime),
      diagnostic(severity::remark, "SHP-0203", "").secondary({}, "a label without a file"),
  };
  std::fputs(telltale::render_sarif(all, {"telltale-sample", "1.2.3"}).c_str(), stdout);
  std::fputs(telltale::render_sarif({}, {"telltale-sample", ""}).c_str(), stdout);
  return 0;
}
