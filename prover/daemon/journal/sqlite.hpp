// SQLite for C++: a connection and statements that throw what SQLite says. Nothing else of SQLite's interface is used.
#pragma once

#include <sqlite3.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace prover::daemon::sqlite {

struct failure : std::runtime_error {
  failure(int number, const std::string& what) : std::runtime_error(what), code(number) {}
  int code;  // SQLITE_FULL, SQLITE_NOTADB, …
};

// One connection, used by one thread at a time.
class connection {
 public:
  // Made where it is missing, unless `read_only`.
  connection(const std::string& path, bool read_only);

  void run(const char* sql);  // one or more statements without results
  std::int64_t number(const char* sql);
  sqlite3* handle() const noexcept { return handle_.get(); }
  [[noreturn]] void fail() const;

 private:
  struct closer {
    void operator()(sqlite3* c) const noexcept { sqlite3_close_v2(c); }
  };
  std::unique_ptr<sqlite3, closer> handle_;
};

// A prepared statement, kept and used again. Values are bound with use(…), which also begins anew:
//
//   find.use(id);
//   while (find.next()) … find.integer(0) …
class statement {
 public:
  statement(const connection& c, const char* sql);

  template <class... V>
  statement& use(const V&... values) {
    sqlite3_reset(handle_.get());
    int position = 0;
    (bind(++position, values), ...);
    return *this;
  }
  bool next();  // whether there is another row; the statement is reset behind the last one
  void run();   // to its end
  void reset() noexcept { sqlite3_reset(handle_.get()); }

  bool null(int column) const { return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL; }
  std::int64_t integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  // Both valid until next(), run() or use().
  std::string_view text(int column) const;
  std::span<const std::byte> blob(int column) const;

 private:
  template <std::integral T>
  void bind(int position, T value) {
    check(sqlite3_bind_int64(handle_.get(), position, static_cast<std::int64_t>(value)));
  }
  template <class T>
  void bind(int position, const std::optional<T>& value) {
    if (value) {
      bind(position, *value);
    } else {
      check(sqlite3_bind_null(handle_.get(), position));
    }
  }
  // Not copied: what is bound must live until the statement has run.
  void bind(int position, std::string_view text);
  void bind(int position, std::span<const std::byte> blob);
  void check(int code) const;

  struct finalizer {
    void operator()(sqlite3_stmt* s) const noexcept { sqlite3_finalize(s); }
  };
  std::unique_ptr<sqlite3_stmt, finalizer> handle_;
  const connection* connection_;
};

}  // namespace prover::daemon::sqlite
