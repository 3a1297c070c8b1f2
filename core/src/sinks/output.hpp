// Where a text or JSON sink's bytes go: a file descriptor behind a thread of its own, so that a slow pipe or disk
// stalls neither the program nor another sink.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <telltale/core/result.hpp>
#include <telltale/core/sink.hpp>
#include <thread>

#include "../format.hpp"

namespace telltale::detail {

// Something that takes whole lines. Used by one thread.
class line_target {
 public:
  virtual ~line_target() = default;
  // Writes them all and takes them off `lines`. On an error what isn't written is left there, from the beginning of the
  // line in which it stopped.
  virtual result<void> take(std::string_view& lines) = 0;
  result<void> write(std::string_view lines) { return take(lines); }
  // The same target for a forked child.
  virtual std::shared_ptr<line_target> for_child() const = 0;
  virtual std::string name() const = 0;
};

// An open descriptor (stderr, stdout), not owned.
std::shared_ptr<line_target> descriptor_target(int fd, std::string name);
// A file, appended to.
result<std::shared_ptr<line_target>> file_target(const std::string& path);
// The same, emptied first.
result<std::shared_ptr<line_target>> fresh_file_target(const std::string& path);
// A file that is renamed to PATH.1, PATH.2 … when it grows beyond `max_bytes` or becomes older than `max_age` (0: not
// by that); `keep` old ones are kept.
struct rolling_options {
  std::uint64_t max_bytes = std::uint64_t{64} << 20;
  std::chrono::seconds max_age{0};
  unsigned keep = 5;
};
result<std::shared_ptr<line_target>> rolling_target(const std::string& path, rolling_options o);

// The thread in front of a target. Bounded: what exceeds `max_pending` is dropped and counted, or waited for.
class output {
 public:
  output(std::shared_ptr<line_target> target, overflow_policy policy, std::size_t max_pending);
  ~output();
  output(const output&) = delete;
  output& operator=(const output&) = delete;

  // Takes `lines` (of so many records) and leaves an empty buffer behind, with capacity where one is at hand.
  void submit(buffer& lines, std::uint64_t records);
  bool flush(std::chrono::steady_clock::time_point deadline);

  sink::delivery delivered() const noexcept;
  std::uint64_t dropped() const noexcept;
  std::uint64_t errors() const noexcept;
  // Drops that no line has told of yet.
  std::uint64_t take_untold_drops() noexcept;

  std::shared_ptr<line_target> target() const noexcept { return state_->target; }
  overflow_policy policy() const noexcept { return state_->policy; }
  std::size_t max_pending() const noexcept { return state_->max_pending; }

 private:
  struct chunk {
    buffer lines;
    std::uint64_t records;
    std::uint64_t lost_with(std::string_view unwritten) const noexcept;
  };
  // Shared with the thread, which is left behind when it hangs in a write at exit.
  struct state {
    std::shared_ptr<line_target> target;
    overflow_policy policy;
    std::size_t max_pending;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<chunk> pending;
    buffer spare;
    std::size_t pending_bytes = 0;  // with the chunk being written
    sink::delivery delivered;       // in chunks
    std::uint64_t dropped = 0;
    std::uint64_t untold = 0;
    std::uint64_t errors = 0;
    bool stop = false;
    bool stopped = false;
  };
  void start();
  static void run(const std::shared_ptr<state>& s);

  std::shared_ptr<state> state_;
  std::thread thread_;
};

}  // namespace telltale::detail
