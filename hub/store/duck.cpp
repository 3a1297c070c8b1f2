#include "hub/store/duck.hpp"

#include <stdexcept>

namespace telltale::hub::duck {

appender::appender(const connection& c, const std::string& table, std::vector<duckdb_type> types)
    : capacity_(duckdb_vector_size()) {
  if (duckdb_appender_create(c.get(), nullptr, table.c_str(), &appender_) != DuckDBSuccess) {
    throw std::logic_error("no appender for " + table + ": " + duckdb_appender_error(appender_));
  }
  std::vector<duckdb_logical_type> logical;
  for (const duckdb_type t : types) logical.push_back(duckdb_create_logical_type(t));
  chunk_ = duckdb_create_data_chunk(logical.data(), logical.size());
  for (duckdb_logical_type& t : logical) duckdb_destroy_logical_type(&t);
  for (idx_t i = 0; i < types.size(); ++i) {
    vectors_.push_back(duckdb_data_chunk_get_vector(chunk_, i));
    data_.push_back(duckdb_vector_get_data(vectors_.back()));
  }
}

appender::~appender() {
  duckdb_destroy_data_chunk(&chunk_);
  duckdb_appender_destroy(&appender_);
}

void appender::null(std::size_t column) {
  duckdb_vector_ensure_validity_writable(vectors_[column]);
  duckdb_validity_set_row_invalid(duckdb_vector_get_validity(vectors_[column]), size_);
}

result<void> appender::send() {
  if (size_ == 0) return {};
  duckdb_data_chunk_set_size(chunk_, size_);
  const bool sent = duckdb_append_data_chunk(appender_, chunk_) == DuckDBSuccess;
  duckdb_data_chunk_reset(chunk_);
  for (std::size_t i = 0; i < vectors_.size(); ++i) data_[i] = duckdb_vector_get_data(vectors_[i]);
  size_ = 0;
  if (!sent) return error{std::string("cannot append rows: ") + duckdb_appender_error(appender_)};
  return {};
}

result<void> appender::flush() {
  if (const auto sent = send(); !sent) return sent;
  if (duckdb_appender_flush(appender_) != DuckDBSuccess) {
    return error{std::string("cannot append rows: ") + duckdb_appender_error(appender_)};
  }
  return {};
}

}  // namespace telltale::hub::duck
