// Which levels are on, module by module: "info,prover=debug,prover::msm=trace".
#pragma once

#include <string>
#include <string_view>
#include <telltale/core/level.hpp>
#include <telltale/core/result.hpp>
#include <vector>

namespace telltale::detail {

class filter {
 public:
  // A directive is LEVEL or MODULE=LEVEL; RUST_LOG also knows MODULE by itself, which here would hide a misspelt level.
  enum class grammar { telltale, rust_log };

  // Later directives for the same module win. The error names the directive and says what may stand there.
  static result<filter> parse(std::string_view directives, grammar g = grammar::telltale);

  // The level in force for a module: that of the longest directive whose module is it or above it ("prover" is above
  // "prover::msm", not above "prover2"); `off` where none applies.
  level level_for(std::string_view module) const noexcept;

  const std::string& text() const noexcept { return text_; }
  // The same filter in the stricter grammar.
  std::string as_telltale() const;

 private:
  struct directive {
    std::string module;  // empty: everything
    telltale::level level;
  };
  std::vector<directive> directives_;
  std::string text_;
};

}  // namespace telltale::detail
