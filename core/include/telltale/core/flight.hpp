// Reading a flight record: what a process that was killed, aborted or hangs had recorded last, and which spans were
// open. The command `telltale recover FILE` is made of this.
//
//   auto record = telltale::flight_reader::open("/run/telltale/prover.4711.1764660000123.flight");
//   if (!record) return record.error();
//   record->open_spans(sinks);
//
// A file is not trusted: whatever its bytes are, reading it ends with an error or with what could be made sense of
// (damage() says what could not). Reading changes neither the file nor its process. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <telltale/core/result.hpp>
#include <telltale/core/sink.hpp>
#include <vector>

namespace telltale {

class flight_reader {
 public:
  // Reads all of it into memory. Fails where it is no flight record, is cut off, or is of another version.
  TELLTALE_EXPORT static result<flight_reader> open(const std::string& path);
  TELLTALE_EXPORT flight_reader(flight_reader&&) noexcept;
  flight_reader(const flight_reader&) = delete;
  flight_reader& operator=(const flight_reader&) = delete;
  flight_reader& operator=(flight_reader&&) = delete;
  TELLTALE_EXPORT ~flight_reader();

  struct summary {
    std::string service;
    std::uint32_t process = 0;
    bool alive = false;  // some process has it mapped: it runs, or hangs
    std::int64_t started_ns = 0;
    std::int64_t last_seen_ns = 0;  // the last sign of life
    std::uint64_t pending = 0;      // records that no sink ever had
    std::uint64_t handed = 0;       // that the sinks had, but perhaps not yet written
    std::uint64_t drained = 0;      // that the sinks had written, and are still there
    std::uint64_t open_spans = 0;
    std::vector<std::string> damage;
  };
  TELLTALE_EXPORT summary about() const;

  using sinks = std::vector<std::shared_ptr<sink>>;
  enum class which : std::uint8_t { drained, undrained, all };
  // Hands records to the sinks in order of time, the last `most` of them; span_view::origin says which kind each is.
  TELLTALE_EXPORT void records(which w, std::size_t most, const sinks& to);
  // Hands the open spans to the sinks, oldest first: on_lost_span, or on_open_span where the process is alive.
  TELLTALE_EXPORT void open_spans(const sinks& to);

 private:
  struct state;
  explicit flight_reader(std::unique_ptr<state> s) noexcept;
  std::unique_ptr<state> state_;
};

}  // namespace telltale
