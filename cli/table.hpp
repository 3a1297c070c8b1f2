// Columns that stand below each other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace telltale::cli {

class text_table {
 public:
  // A heading per column; one that begins with '>' is aligned to the right.
  explicit text_table(std::vector<std::string> headings);
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // The last column is not padded. `bold` puts the headings in bold.
  std::string text(bool bold) const;

 private:
  std::vector<std::string> headings_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace telltale::cli
