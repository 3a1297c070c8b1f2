// A client of the proving daemon: what `prover --server` and prover-bench speak. Nothing of gRPC is in this header.
//
// The client itself stands in a library that open() loads: gRPC's libraries take 15 ms to load, which `prover prove` on
// a key of its own shall not pay.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "prover/daemon/job.hpp"
#include "telltale/core/result.hpp"

namespace prover::daemon {

struct client_settings {
  std::string server = "127.0.0.1:9820";  // or unix:/path
  std::string token_file;
  std::string tls_ca;           // the daemon's authority (PEM); with it the connection is TLS
  std::string tls_certificate;  // this client's, where the daemon asks for one; with tls_key
  std::string tls_key;
  std::uint64_t max_message = std::uint64_t{256} << 20;
};

// Why a call has no answer: gRPC's code, and the sentence.
struct call_failure {
  std::string code;  // "RESOURCE_EXHAUSTED"
  std::string message;
  std::string refusal;  // of a submission: "queue_full", …
  std::optional<nanoseconds> retry_after;
};
template <class T>
using answered = std::variant<T, call_failure>;

struct remote_result {
  job_id id;
  job_result result;
};

struct step {
  job_view job;
  bool last = false;
};

// Any thread. Each call sends the current trace's context.
class client {
 public:
  // Connects with the first call. Fails where a file can't be read, or the library isn't installed.
  static telltale::result<std::unique_ptr<client>> open(const client_settings& settings);
  virtual ~client() = default;

  virtual answered<accepted> submit(const request& r) = 0;
  virtual answered<remote_result> await(const job_id& id, std::optional<nanoseconds> timeout) = 0;
  virtual answered<remote_result> prove(const request& r, std::optional<nanoseconds> timeout,
                                        bool cancel_on_disconnect) = 0;

  // The same without waiting for it: `f` comes from one of gRPC's threads. The client's end gives up what still waits,
  // and waits for `f` to be told so: never end a client in an `f`.
  using on_result = std::function<void(answered<remote_result>)>;
  virtual void await(const job_id& id, std::optional<nanoseconds> timeout, on_result f) = 0;
  virtual void prove(const request& r, std::optional<nanoseconds> timeout, on_result f) = 0;

  // Calls `f` for each step until it has ended or `f` says false. Nothing where it went well.
  virtual std::optional<call_failure> watch(const job_id& id, const std::function<bool(const step&)>& f) = 0;
  virtual answered<std::string> cancel(const job_id& id) = 0;  // cancelled, at_next_boundary, already_finished
  virtual answered<std::vector<job_view>> list(const std::string& kind, bool finished, unsigned at_most) = 0;
  virtual answered<std::string> status() = 0;                          // the JSON document
  virtual answered<bool> preload(const std::string& kind) = 0;         // whether it was there already
  virtual answered<std::uint64_t> evict(const std::string& kind) = 0;  // bytes freed
};

}  // namespace prover::daemon
