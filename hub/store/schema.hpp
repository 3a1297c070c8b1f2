// The store's relations in DuckDB: their columns, their tables in memory, the views that are asked.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hub/store/duck.hpp"
#include "hub/store/manifest.hpp"

namespace telltale::hub {

struct column {
  std::string_view name;
  std::string_view sql;
  duckdb_type type;
};
struct relation {
  std::span<const column> columns;
  std::string_view order;  // of its files
};
// By file_kind.
const relation& relation_of(file_kind k) noexcept;
// What comes in: these have tables in memory.
inline constexpr file_kind kinds[] = {file_kind::spans, file_kind::logs, file_kind::metrics, file_kind::links};
constexpr std::size_t index(file_kind k) noexcept {
  return static_cast<std::size_t>(k);
}

// Tables in memory are numbered: a generation is filled, becomes files, and is dropped.
std::string table_of(file_kind k, std::uint64_t generation);
std::string resources_of(std::uint64_t generation);  // the table of its resources: id, json
std::string create_tables(std::uint64_t generation);
std::string drop_tables(std::uint64_t generation);

// A relation in memory with its resource as text: its columns are those of a file.
std::string select_memory(file_kind k, std::uint64_t generation);
// The columns of a file, in their order, for a SELECT.
std::string columns_of(file_kind k);

// The view that is asked, over tables and files (paths as SQL texts).
std::string create_view(file_kind k, std::uint64_t generation, const std::vector<std::string>& paths);
// The view `counted`: the thinned spans as well. After that of spans.
std::string create_counted_view(const std::vector<std::string>& paths);

}  // namespace telltale::hub
