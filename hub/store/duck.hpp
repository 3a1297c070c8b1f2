// DuckDB's C interface with owners: a database, connections, results, and rows on their way in. duckdb.h is included
// here and in nobody's public header.
#pragma once

#include <duckdb.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <telltale/core/result.hpp>
#include <vector>

namespace telltale::hub::duck {

// A chunk of a result, by column.
class rows {
 public:
  rows(duckdb_data_chunk chunk, std::size_t columns) : size_(duckdb_data_chunk_get_size(chunk)) {
    for (idx_t i = 0; i < columns; ++i) {
      const duckdb_vector v = duckdb_data_chunk_get_vector(chunk, i);
      data_.push_back(duckdb_vector_get_data(v));
      valid_.push_back(duckdb_vector_get_validity(v));
    }
  }
  std::size_t size() const noexcept { return size_; }
  bool is_null(std::size_t column, std::size_t row) const noexcept {
    return valid_[column] != nullptr && (valid_[column][row / 64] >> (row % 64) & 1) == 0;
  }
  template <class T>
  T get(std::size_t column, std::size_t row) const noexcept {
    return is_null(column, row) ? T{} : static_cast<const T*>(data_[column])[row];
  }
  std::string_view text(std::size_t column, std::size_t row) const noexcept {
    if (is_null(column, row)) return {};
    const auto& s = static_cast<const duckdb_string_t*>(data_[column])[row];
    return {s.value.inlined.length <= 12 ? s.value.inlined.inlined : s.value.pointer.ptr, s.value.inlined.length};
  }

 private:
  std::size_t size_;
  std::vector<const void*> data_;
  std::vector<const std::uint64_t*> valid_;
};

class connection {
 public:
  explicit connection(duckdb_database db) {
    if (duckdb_connect(db, &c_) != DuckDBSuccess) throw std::bad_alloc();
  }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection() { duckdb_disconnect(&c_); }
  duckdb_connection get() const noexcept { return c_; }

  // Calls `f(const rows&)` for each chunk of the answer.
  template <class F>
  result<void> each(const std::string& sql, F f) const {
    duckdb_result r;
    if (duckdb_query(c_, sql.c_str(), &r) != DuckDBSuccess) {
      error e{duckdb_result_error(&r)};
      duckdb_destroy_result(&r);
      return e;
    }
    const std::unique_ptr<duckdb_result, void (*)(duckdb_result*)> kept(&r, &duckdb_destroy_result);
    while (duckdb_data_chunk chunk = duckdb_fetch_chunk(r)) {
      const std::unique_ptr<duckdb_data_chunk, void (*)(duckdb_data_chunk*)> owned(&chunk, &duckdb_destroy_data_chunk);
      f(rows(chunk, duckdb_column_count(&r)));
    }
    return {};
  }
  result<void> run(const std::string& sql) const {
    return each(sql, [](const rows&) {});
  }

 private:
  duckdb_connection c_ = nullptr;
};

// Rows of one table, put together a chunk at a time. Strings are not copied before a chunk is full or flush() is
// called: they must live until then.
class appender {
 public:
  appender(const connection& c, const std::string& table, std::vector<duckdb_type> types);
  appender(const appender&) = delete;
  appender& operator=(const appender&) = delete;
  ~appender();

  void number(std::size_t column, auto v) noexcept { static_cast<decltype(v)*>(data_[column])[size_] = v; }
  void text(std::size_t column, std::string_view s) noexcept {
    auto& to = static_cast<duckdb_string_t*>(data_[column])[size_];
    to.value.inlined.length = static_cast<std::uint32_t>(s.size());
    if (s.size() <= 12) {
      std::memset(to.value.inlined.inlined, 0, 12);
      if (!s.empty()) std::memcpy(to.value.inlined.inlined, s.data(), s.size());
    } else {
      std::memcpy(to.value.pointer.prefix, s.data(), 4);
      to.value.pointer.ptr = const_cast<char*>(s.data());  // DuckDB doesn't write there
    }
  }
  void text_or_null(std::size_t column, std::string_view s) {
    if (s.empty()) {
      null(column);
    } else {
      text(column, s);
    }
  }
  void null(std::size_t column);
  // Ends a row. True where the chunk was full and went to DuckDB.
  result<bool> end_row() {
    if (++size_ < capacity_) return false;
    const auto sent = send();
    if (!sent) return sent.error();
    return true;
  }
  // What was appended becomes visible, and strings needn't live any longer.
  result<void> flush();

 private:
  result<void> send();

  duckdb_appender appender_ = nullptr;
  duckdb_data_chunk chunk_ = nullptr;
  std::vector<void*> data_;
  std::vector<duckdb_vector> vectors_;
  std::size_t size_ = 0;
  std::size_t capacity_;
};

}  // namespace telltale::hub::duck
