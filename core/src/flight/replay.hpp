// A dead process's records through this process's sinks (or a living one's, for `telltale recover`): the drain, reading
// an image instead of the rings.
#pragma once

#include <cstdint>
#include <vector>

#include "../drain.hpp"
#include "image.hpp"

namespace telltale::detail {

class replay : private drain {
 public:
  explicit replay(flight_image& image);

  // Records and open spans that are there.
  struct found {
    std::uint64_t pending = 0;
    std::uint64_t handed = 0;
    std::uint64_t drained = 0;
    std::uint64_t open = 0;
  };
  const found& what() const noexcept { return found_; }
  std::int64_t last_sign_of_life_ns() const;
  std::int64_t started_ns() const;

  // Hands out records in order of time: of those of these origins the last `most`.
  struct selection {
    bool drained = false;
    bool undrained = false;
    std::size_t most = SIZE_MAX;
  };
  void records(const selection& which, const sink_list& sinks);
  // Open spans: as lost, or, where the process lives, as open. Oldest first.
  void open_spans(const sink_list& sinks);
  // Losses that no record has told of.
  void losses(const sink_list& sinks);

 private:
  struct record {
    const std::uint64_t* words;
    std::uint64_t time;      // a span's end
    std::uint64_t position;  // in its ring
    std::uint32_t thread;
    record_origin origin;
  };
  bool is_whole(const std::uint64_t* w, std::uint64_t room) const noexcept;
  std::uint64_t first_whole(const thread_block& b, std::uint64_t from, std::uint64_t to) const;
  void walk(const thread_block& b);
  std::uint64_t step(const thread_block& b, std::uint64_t at, std::uint64_t end, record_origin origin);

  flight_image& image_;
  drain_counts counts_;
  found found_;
  std::vector<thread_info> thread_infos_;
  std::vector<std::uint32_t> last_thread_;  // by block: who writes there now
  std::vector<record> records_;
  std::vector<std::uint32_t> open_;
};

}  // namespace telltale::detail
