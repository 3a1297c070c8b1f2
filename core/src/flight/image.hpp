// A flight record as another process reads it: copied into plain memory, every number in it that is used as an index,
// a length or a time checked. A file is not to be trusted: it may be cut off, overwritten, or made by somebody.
#pragma once

#include <memory>
#include <string>
#include <telltale/core/result.hpp>
#include <vector>

#include "../clock.hpp"
#include "../memory.hpp"

namespace telltale::detail {

class flight_image {
 public:
  // Reads an open file. `alive`: its process writes while we read.
  static result<flight_image> read(int fd, const std::string& path, bool alive);
  // Over memory that lies there already, as large as its own header says; for tests.
  static result<flight_image> over(std::byte* base, std::size_t bytes);

  flight_image(flight_image&& o) noexcept;
  flight_image(const flight_image&) = delete;
  flight_image& operator=(const flight_image&) = delete;
  flight_image& operator=(flight_image&&) = delete;
  ~flight_image();

  memory_map& map() noexcept { return map_; }
  bool alive() const noexcept { return alive_; }
  tick_converter clock() const;
  // Ticks outside of these are damage.
  std::uint64_t first_ticks() const noexcept { return first_ticks_; }
  std::uint64_t last_ticks() const noexcept { return last_ticks_; }
  // Where the records of a ring that are whole begin (bytes ever written).
  std::uint64_t whole_from(std::uint32_t block) const noexcept { return whole_from_[block]; }
  // Whether the slot held one span while it was read.
  bool is_open(std::uint32_t slot) const noexcept { return open_[slot]; }
  std::uint32_t slots() const noexcept { return static_cast<std::uint32_t>(open_.size()); }
  // What was found to be wrong, for people.
  const std::vector<std::string>& damage() const noexcept { return damage_; }
  void add_damage(std::string what);

 private:
  flight_image() = default;
  void check();
  void check_counts();
  void check_catalogue();
  void check_scopes();
  void check_blocks();
  void check_slots();

  memory_map map_{};
  bool owned_ = false;
  bool alive_ = false;
  std::uint64_t first_ticks_ = 0;
  std::uint64_t last_ticks_ = 0;
  std::vector<std::uint64_t> whole_from_;
  std::vector<std::uint64_t> heads_after_;  // of a living process: heads and tails as they were when all was read
  std::vector<std::uint64_t> tails_after_;
  std::vector<bool> open_;
  std::vector<std::string> damage_;
};

}  // namespace telltale::detail
