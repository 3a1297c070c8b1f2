// What C and C++ libraries print to stderr or stdout, as records under the span that was current where they printed it.
//
//   auto captured = telltale::capture::start(telltale::standard_stream::error, {.module = "bellman"});
//   if (!captured) return complain(captured.error());
//   run_jobs_side_by_side();          // each line carries the job_id of the thread that printed it
//                                     // …and at the end of `captured` everything is as it was
//
// Two ways lead out of a library, and only one says who is speaking:
//   - stdio (fprintf(stderr, …), perror, fputs) and std::cerr, std::clog (or std::cout) are replaced by streams that
//     hand each piece over on the printing thread, so its context is at hand. Lines are put together per thread and
//     job.
//   - what is written to the descriptor itself (write(2, …), other programs started meanwhile) comes through a pipe,
//     and nobody can say which thread it was. Such a line gets the context of whoever started the capture, and the
//     attribute log.shared=true.
//
// A line is at most max_string_bytes long; a longer one becomes several records, all but the last of them marked
// log.continued=true. The end of a text without a newline is a line too, when its thread or the capture ends. The
// library's own sinks keep writing to the real descriptor. A forked child has the real descriptor back and goes on
// recording what it prints through stdio. A program that was started meanwhile and outlives the capture writes into a
// closed pipe. At a crash what still lies in the pipe is lost to the records; `echo` writes it through.
//
// Start a capture before other threads print, and end it after. One at a time per stream.
#pragma once

#include <memory>
#include <string>
#include <telltale/core/level.hpp>
#include <telltale/core/result.hpp>

namespace telltale {

enum class standard_stream : std::uint8_t { output = 1, error = 2 };

struct capture_options {
  std::string module = "native";                  // of the records
  telltale::level level = telltale::level::info;  // of the records: the text says nothing about it
  bool echo = false;                              // also write everything to the real descriptor, as it comes
};

class [[gnu::visibility("default")]] capture {
 public:
  // Fails where the stream is captured already, or the system has no descriptors left.
  static result<capture> start(standard_stream which, capture_options o = {});
  // Puts everything back; what was printed until then is recorded first. Waits for that, but for no other process that
  // still holds the descriptor.
  ~capture();
  capture(capture&&) noexcept;
  capture& operator=(capture&&) = delete;

  struct state;

 private:
  explicit capture(std::unique_ptr<state> s) noexcept;
  std::unique_ptr<state> state_;
};

}  // namespace telltale
