// The store's directory: made where it isn't there, ours alone while we live, without what a crash left over.
#pragma once

#include <string>
#include <telltale/core/result.hpp>

#include "hub/store/manifest.hpp"

namespace telltale::hub {

class directory {
 public:
  // Fails where it can't be made or written, is open in another process, or is of a newer version.
  static result<directory> open(const std::string& path);
  // Changes nothing. Several may read at once, while nobody writes.
  static result<directory> open_to_read(const std::string& path);
  directory(directory&& o) noexcept;
  directory& operator=(directory&& o) noexcept;
  ~directory();

  const std::string& path() const noexcept { return path_; }  // without links, not ended by a slash
  const manifest& found() const noexcept { return manifest_; }

 private:
  directory() = default;

  std::string path_;
  manifest manifest_;
  int lock_ = -1;
};

}  // namespace telltale::hub
