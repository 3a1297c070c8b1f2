#pragma once

#include "hub/store/store.hpp"

namespace telltale::hub {

class duckdb_dialect final : public dialect {
 public:
  std::string_view name() const override { return "duckdb"; }
  std::string_view counted() const override { return "counted"; }
  std::string text(std::string_view value) const override;
  std::string is_trace(trace_id id) const override;
  std::string attribute(std::string_view key, from where) const override;
  std::string attribute_number(std::string_view key, from where) const override;
  std::string attribute_is(std::string_view key, from where, const attribute_value& value) const override;
  std::string quantile(std::string_view expression, double q) const override;
  std::string matches(std::string_view expression, std::string_view regex) const override;
};

}  // namespace telltale::hub
