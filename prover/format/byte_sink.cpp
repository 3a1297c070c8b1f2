// Writing beside the file and renaming at the end.
#include "prover/format/byte_sink.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace prover::format {

telltale::error byte_sink::cannot_write(int code) const {
  return {"cannot write " + kind_ + " \"" + path_ + "\": " + std::generic_category().message(code) +
          ". Check the folder, its permissions and the space that is left."};
}

telltale::result<byte_sink> byte_sink::create(std::string path, std::string kind) {
  byte_sink r;
  r.path_ = std::move(path);
  r.kind_ = std::move(kind);
  struct stat status{};
  const bool special = ::stat(r.path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  r.written_to_ = special ? r.path_ : r.path_ + ".part" + std::to_string(::getpid());
  r.file_.reset(std::fopen(r.written_to_.c_str(), special ? "w" : "wx"));
  if (!r.file_) return r.cannot_write(errno);
  return r;
}

byte_sink::~byte_sink() {
  if (file_) remove();
}

void byte_sink::remove() const {
  if (written_to_ != path_) std::remove(written_to_.c_str());
}

void byte_sink::write(std::span<const std::byte> bytes) {
  if (failure_ != 0) return;
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) failure_ = errno != 0 ? errno : EIO;
}

telltale::result<void> byte_sink::commit() {
  if (failure_ == 0 && std::fflush(file_.get()) != 0) failure_ = errno;
  if (std::fclose(file_.release()) != 0 && failure_ == 0) failure_ = errno;
  if (failure_ == 0 && written_to_ != path_ && std::rename(written_to_.c_str(), path_.c_str()) != 0) failure_ = errno;
  if (failure_ == 0) return {};
  remove();
  return cannot_write(failure_);
}

telltale::result<void> write_text(const std::string& path, std::string_view text, const std::string& kind) {
  auto sink = byte_sink::create(path, kind);
  if (!sink) return sink.error();
  sink->write(text);
  return sink->commit();
}

}  // namespace prover::format
