// The journal: requests as they came, written before they are acknowledged, read again after a crash. It holds what is
// not in files yet.
//
// Segments `NNNNNNNNNN.journal`, each a magic line and records: size (32 bits), CRC-32 of the payload (32), payload
// (the signal's number, then the request as protobuf). A record that is cut, or doesn't match its sum, ends what is
// read of a segment: it was never acknowledged. A segment that has reached its limits ends before anything more is
// taken, so what becomes files at once is bounded, however much waits.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <telltale/core/otlp/fields.hpp>
#include <telltale/core/result.hpp>
#include <vector>

#include "hub/otlp/batch.hpp"

namespace telltale::hub {

class journal {
 public:
  // Called in the order of the journal, one call at a time: with each batch once it is durable, and with null where a
  // segment ended: all batches of segments up to that number were handed over before.
  using taker = std::function<void(std::shared_ptr<const batch>, std::uint64_t segment)>;
  using reader = std::function<void(otlp::signal_kind, std::string request)>;
  struct limits {  // of a segment
    std::uint64_t records;
    std::uint64_t bytes;
  };

  // Removes segments up to `through`, gives the records of the others to `read`, and begins a new segment.
  static result<std::unique_ptr<journal>> open(std::string directory, bool sync_each, limits most,
                                               std::uint64_t through, const reader& read, taker take);
  // Only gives the records of segments after `through` to `read`, and changes nothing.
  static result<void> replay(const std::string& directory, std::uint64_t through, const reader& read);
  ~journal();

  // Returns when the batch is durable. Batches that wait at the same time are written and synchronised together.
  result<void> append(std::shared_ptr<const batch> b);
  // Ends the current segment, and tells the taker.
  result<void> end_segment();
  void remove_through(std::uint64_t segment);
  // For fsync = interval: whatever was written reaches the disk.
  void sync();
  std::uint64_t bytes() const;

 private:
  struct group;
  journal(std::string directory, bool sync_each, limits most, taker take)
      : directory_(std::move(directory)), sync_each_(sync_each), most_(most), take_(std::move(take)) {}
  std::string path_of(std::uint64_t segment) const;
  result<void> begin_segment(std::uint64_t number);
  result<void> end_current();
  result<void> write(const std::vector<std::shared_ptr<const batch>>& batches);

  const std::string directory_;
  const bool sync_each_;
  const limits most_;
  const taker take_;

  mutable std::mutex mutex_;
  std::condition_variable turn_;
  bool writing_ = false;                               // a group is on its way to the disk
  std::vector<std::shared_ptr<const batch>> waiting_;  // the next group
  std::shared_ptr<group> next_;
  int file_ = -1;
  std::uint64_t segment_ = 0;
  std::uint64_t size_ = 0;                                      // of the current segment
  std::uint64_t records_ = 0;                                   // in it
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ended_;  // segment, bytes
};

}  // namespace telltale::hub
