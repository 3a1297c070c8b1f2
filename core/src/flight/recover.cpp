// The public reader of flight records.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <telltale/core/flight.hpp>

#include "files.hpp"
#include "replay.hpp"

namespace telltale {

struct flight_reader::state {
  explicit state(detail::flight_image i) : image(std::move(i)), replay(image) {}
  detail::flight_image image;
  detail::replay replay;
};

flight_reader::flight_reader(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
flight_reader::flight_reader(flight_reader&&) noexcept = default;
flight_reader::~flight_reader() = default;

result<flight_reader> flight_reader::open(const std::string& path) {
  const detail::flight_file file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK), path);
  if (!file) return error{"cannot open \"" + path + "\": " + std::strerror(errno)};  // NOLINT(concurrency-mt-unsafe)
  // Its process holds the lock for as long as it lives.
  const bool alive = ::flock(file.fd(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!alive) ::flock(file.fd(), LOCK_UN);  // a start of the service may want it
  auto image = detail::flight_image::read(file.fd(), path, alive);
  if (!image) return image.error();
  return flight_reader(std::make_unique<state>(std::move(*image)));
}

flight_reader::summary flight_reader::about() const {
  const detail::memory_header& h = *state_->image.map().header;
  const auto& found = state_->replay.what();
  return {h.service,
          h.process,
          state_->image.alive(),
          state_->replay.started_ns(),
          state_->replay.last_sign_of_life_ns(),
          found.pending,
          found.handed,
          found.drained,
          found.open,
          state_->image.damage()};
}

void flight_reader::records(which w, std::size_t most, const sinks& to) {
  state_->replay.records({.drained = w != which::undrained, .undrained = w != which::drained, .most = most}, to);
}

void flight_reader::open_spans(const sinks& to) {
  state_->replay.open_spans(to);
}

}  // namespace telltale
