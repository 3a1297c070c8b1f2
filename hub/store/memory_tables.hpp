// What is not in files yet: a generation of tables in DuckDB's memory, filled by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "hub/otlp/batch.hpp"
#include "hub/store/duck.hpp"
#include "hub/store/generation_index.hpp"
#include "hub/store/manifest.hpp"
#include "hub/store/recent_spans.hpp"
#include "hub/store/schema.hpp"

namespace telltale::hub {

// Rows and times by kind.
using row_counts = std::array<file_entry, std::size(kinds)>;

class memory_tables {
 public:
  // The tables are there already: create_tables(). `before` are the spans of the generation before.
  memory_tables(duckdb_database db, std::uint64_t generation, recent_spans before);

  // Strings are not copied before flush(): the tables keep the batch until then. A span that came lately is left out.
  result<void> insert(const std::shared_ptr<const batch>& b);
  // What was inserted becomes visible. Gives back how many records did.
  result<std::uint64_t> flush();

  bool has_unseen() const noexcept { return !unseen_.empty(); }
  std::uint64_t generation() const noexcept { return generation_; }
  std::uint64_t rows() const noexcept;
  std::uint64_t bytes() const noexcept { return bytes_; }  // of the requests that they came in
  const row_counts& counts() const noexcept { return counts_; }
  std::uint64_t repeated() const noexcept { return repeated_; }  // spans that were left out
  const std::shared_ptr<generation_index>& known() const noexcept { return known_; }
  recent_spans take_recent() noexcept { return std::move(recent_); }

 private:
  std::uint32_t number_of(const resource_record& r);
  result<void> insert_spans(const batch& b, const std::vector<std::uint32_t>& resources);
  result<void> insert_logs(const batch& b, const std::vector<std::uint32_t>& resources);
  result<void> insert_points(const batch& b);
  duck::appender& of(file_kind k) noexcept { return *appenders_[index(k)]; }
  void note(file_kind k, std::int64_t ns) noexcept;

  std::uint64_t generation_;
  recent_spans before_;
  recent_spans recent_;
  std::shared_ptr<generation_index> known_ = std::make_shared<generation_index>();
  std::uint64_t repeated_ = 0;
  duck::connection connection_;
  std::array<std::unique_ptr<duck::appender>, std::size(kinds)> appenders_;
  std::unique_ptr<duck::appender> resources_;
  std::unordered_map<std::string, std::uint32_t> resource_numbers_;
  std::vector<std::shared_ptr<const batch>> unseen_;
  std::uint64_t unseen_records_ = 0;
  std::uint64_t bytes_ = 0;
  row_counts counts_;
};

}  // namespace telltale::hub
