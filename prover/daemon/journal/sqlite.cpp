// SQLite for C++.
#include "prover/daemon/journal/sqlite.hpp"

namespace prover::daemon::sqlite {

connection::connection(const std::string& path, bool read_only) {
  sqlite3* opened = nullptr;
  const int how = read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path.c_str(), &opened, how | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(opened);
  if (code != SQLITE_OK) fail();
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_timeout(opened, 5000);
}

void connection::fail() const {
  if (handle_ == nullptr) throw failure(SQLITE_NOMEM, "out of memory");
  throw failure(sqlite3_errcode(handle_.get()), sqlite3_errmsg(handle_.get()));
}

void connection::run(const char* sql) {
  if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

std::int64_t connection::number(const char* sql) {
  statement s(*this, sql);
  return s.next() ? s.integer(0) : 0;
}

statement::statement(const connection& c, const char* sql) : connection_(&c) {
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v3(c.handle(), sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared, nullptr) != SQLITE_OK) c.fail();
  handle_.reset(prepared);
}

bool statement::next() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  const bool done = code == SQLITE_DONE;
  if (!done) {
    const failure why(code, sqlite3_errmsg(connection_->handle()));
    reset();
    throw failure(why);
  }
  reset();
  return false;
}

void statement::run() {
  while (next()) {
  }
}

std::string_view statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), column));
  return {bytes != nullptr ? bytes : "", static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

std::span<const std::byte> statement::blob(int column) const {
  const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(handle_.get(), column));
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

void statement::bind(int position, std::string_view text) {
  const char* bytes = text.data() != nullptr ? text.data() : "";  // a null pointer would be NULL
  check(sqlite3_bind_text64(handle_.get(), position, bytes, text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void statement::bind(int position, std::span<const std::byte> blob) {
  check(sqlite3_bind_blob64(handle_.get(), position, blob.data(), blob.size(), SQLITE_STATIC));
}

void statement::check(int code) const {
  if (code != SQLITE_OK) connection_->fail();
}

}  // namespace prover::daemon::sqlite
