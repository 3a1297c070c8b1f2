#include "hub/store/manifest.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

namespace telltale::hub {

namespace {

constexpr int version = 1;
constexpr std::string_view kind_names[file_kinds] = {"spans", "logs", "metrics", "links", "thinned"};

}  // namespace

std::string_view name_of(file_kind k) noexcept {
  return kind_names[static_cast<std::size_t>(k)];
}

std::string durations_of(const std::string& spans_file) {
  return "durations" + spans_file.substr(spans_file.find('-'));
}

result<manifest> read_manifest(const std::string& directory) {
  const std::string path = directory + "/MANIFEST.json";
  manifest m;
  std::error_code code;
  if (!std::filesystem::exists(path, code)) return m;
  std::ifstream in(path);
  const auto parsed = nlohmann::json::parse(in, nullptr, false);
  try {
    const int found = parsed.at("version").get<int>();
    if (found > version) {
      return error{"the store in " + directory + " was written by a newer telltale (its version is " +
                   std::to_string(found) + ", this one knows " + std::to_string(version) +
                   "). Use that one, or another directory."};
    }
    m.journal_through = parsed.at("journal_through").get<std::uint64_t>();
    m.next = parsed.at("next").get<std::uint64_t>();
    for (const auto& f : parsed.at("files")) {
      file_entry e;
      const auto kind = f.at("kind").get<std::string>();
      std::size_t k = 0;
      while (k < file_kinds && kind != kind_names[k]) ++k;
      if (k == file_kinds) return error{path + ": there are no files of kind \"" + kind + "\""};
      e.kind = static_cast<file_kind>(k);
      e.name = f.at("name").get<std::string>();
      if (e.name.find('/') != std::string::npos || !e.name.starts_with(kind + "-")) {
        return error{path + ": \"" + e.name + "\" is no file of " + kind};
      }
      e.rows = f.at("rows").get<std::uint64_t>();
      e.bytes = f.at("bytes").get<std::uint64_t>();
      e.min_ns = f.at("min_ns").get<std::int64_t>();
      e.max_ns = f.at("max_ns").get<std::int64_t>();
      m.files.push_back(std::move(e));
    }
  } catch (const nlohmann::json::exception& e) {
    return error{path + " is damaged (" + e.what() + "). The data files beside it can still be read as Parquet."};
  }
  return m;
}

result<void> write_manifest(const std::string& directory, const manifest& m) {
  nlohmann::json out = {{"version", version}, {"journal_through", m.journal_through}, {"next", m.next}};
  out["files"] = nlohmann::json::array();
  for (const file_entry& f : m.files) {
    out["files"].push_back({{"kind", name_of(f.kind)},
                            {"name", f.name},
                            {"rows", f.rows},
                            {"bytes", f.bytes},
                            {"min_ns", f.min_ns},
                            {"max_ns", f.max_ns}});
  }
  const std::string path = directory + "/MANIFEST.json";
  const std::string beside = path + ".tmp";
  const std::string text = out.dump(1) + "\n";
  const auto fail = [&](int code) {
    return error{"cannot write " + path + ": " + std::generic_category().message(code)};
  };
  const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (file < 0) return fail(errno);
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int code = written ? (::fsync(file) == 0 ? 0 : errno) : ENOSPC;
  ::close(file);
  if (code != 0) return fail(code);
  if (::rename(beside.c_str(), path.c_str()) != 0) return fail(errno);
  if (const int folder = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
  return {};
}

}  // namespace telltale::hub
