// Expressions: what stands inside braces and in the parentheses of an aggregate.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ast.hpp"
#include "meaning.hpp"
#include "reader.hpp"

namespace telltale::hub::traceql {

class expression_reader : public reader {
 protected:
  using reader::reader;

  // As far as operators bind at least as tightly as `weakest`.
  expression read_expression(int weakest = 0);
  std::vector<expression> read_list(std::string_view what);  // in parentheses; what they are for, for messages
  field read_field();
  std::optional<operation> comparison();
  static std::optional<operation> arithmetic(char c);

 private:
  void skip(operation o);
  expression read_unary();
  expression read_operand();
  std::variant<value, field, operation> read_word();
  bool dot_follows(std::string_view name) const;
  void skip_dot(std::string_view name);
};

}  // namespace telltale::hub::traceql
