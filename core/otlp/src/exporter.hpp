// The sending thread: chunks wait in memory, within a bound; they go out as requests; what can't go out now is tried
// again later, or waits on disk. Nothing here is ever run by a thread of the program.
//
//   delivered          forgotten
//   partly taken       the rest is counted as dropped, and said
//   refused (4xx …)    counted as dropped, and said; sending it again would change nothing
//   not now            tried again, after the receiver's own delay or one that doubles from half a second to half a
//                      minute, with jitter; into the spool meanwhile, where there is one
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "otlp/encode.hpp"
#include "settings.hpp"
#include "spool.hpp"
#include "transport.hpp"

namespace telltale::otlp {

class exporter {
 public:
  // The thread starts with the first chunk.
  exporter(settings s, const named_values& resource);
  ~exporter();
  exporter(const exporter&) = delete;
  exporter& operator=(const exporter&) = delete;

  // Ends the threads of all exporters of this process that encrypt, within the time and a second: what they haven't
  // delivered by then is dropped, and so is all that is submitted later.
  static void end_encrypted(std::chrono::milliseconds patience);

  // Called by the drain's thread. Above the bound the chunk is dropped and counted, or waited for.
  void submit(signal_kind s, chunk c);
  // Whose the chunks are that follow: those of a process that died, or this one's again. Metrics stay this process's.
  void set_resource(const named_values& resource);
  // Sends what there is, metrics too, without waiting for company. True once all of it is delivered or on disk.
  bool flush(std::chrono::steady_clock::time_point deadline);

  // In chunks; out is what was delivered, refused, dropped or stored on disk.
  sink::delivery delivered() const;
  std::uint64_t dropped() const;
  std::uint64_t errors() const;  // deliveries that failed for good, and troubles of the spool
  std::uint64_t retries() const;
  std::uint64_t spooled_bytes() const;
  // Drops that no record has told of yet.
  std::uint64_t take_untold_drops();

  const settings& configuration() const noexcept { return state_->config; }
  static encoding encoding_of(const target& t) noexcept {
    return t.protocol == protocol::http_json ? encoding::json : encoding::protobuf;
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr std::uint64_t none = UINT64_MAX;

  struct numbered_chunk {
    chunk records;
    std::shared_ptr<const std::string> resource;
    std::uint64_t number;  // of all that were submitted
  };
  struct waiting {
    std::deque<numbered_chunk> chunks;
    std::size_t bytes = 0;
    std::uint64_t records = 0;
    clock::time_point since{};  // of the oldest chunk
  };
  struct request {
    signal_kind signal = signal_kind::traces;
    buffer body;
    std::uint64_t records = 0;
    std::size_t charged = 0;  // bytes of its chunks, still counted as pending
  };

  // Shared with the thread, which is left behind when it hangs at exit.
  struct state {
    settings config;
    std::shared_ptr<const std::string> resources[signals];
    std::mutex mutex;
    std::condition_variable changed;
    waiting pending[signals];
    std::size_t pending_bytes = 0;  // with the request being sent
    std::uint64_t submitted = 0;    // chunks
    std::uint64_t in_hand = none;   // number of the first chunk of the request being sent or held
    std::uint64_t flushes_asked = 0;
    std::uint64_t flushes_done = 0;
    std::uint64_t dropped = 0;
    std::uint64_t untold = 0;
    std::uint64_t errors = 0;
    std::uint64_t retries = 0;
    std::uint64_t spooled = 0;
    bool stop = false;
    bool stopped = false;
    bool left_some = false;        // it stopped before all was delivered
    transport* sending = nullptr;  // while the thread has one
  };

  class worker;
  void start();
  bool stop(std::chrono::milliseconds patience);

  std::shared_ptr<state> state_;
  std::thread thread_;
};

}  // namespace telltale::otlp
