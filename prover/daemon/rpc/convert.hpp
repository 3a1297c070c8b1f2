// Between the API's messages and our own types, both ways. Included by the server and the client only.
#pragma once

#include <optional>
#include <string>

#include "prover/daemon/job.hpp"
#include "prover/daemon/rpc/prover.pb.h"

namespace prover::daemon::rpc {

namespace api = telltale::prover::v1;

inline nanoseconds from_ms(std::int64_t ms) {
  // What can't be said in nanoseconds is as good as never.
  constexpr std::int64_t most = std::chrono::duration_cast<std::chrono::milliseconds>(nanoseconds::max()).count() / 2;
  return std::chrono::milliseconds(std::min(ms, most));
}

// The enum whose name this is; `otherwise` for one that a newer side sent.
template <class E>
E named(std::string_view name, E last, E otherwise) {
  for (unsigned i = 0; i <= static_cast<unsigned>(last); ++i) {
    if (telltale_name(static_cast<E>(i)) == name) return static_cast<E>(i);
  }
  return otherwise;
}

inline std::vector<std::byte> bytes_of(const std::string& s) {
  const auto* begin = reinterpret_cast<const std::byte*>(s.data());
  return {begin, begin + s.size()};
}

// Nothing where a payload has no content or the priority is none: whoever sent it is told.
std::optional<request> from(const api::SubmitRequest& r);
void fill(const request& r, api::SubmitRequest& out);

void fill(const job_id& id, const job_result& r, api::Result& out);
job_result from(const api::Result& r);

void fill(const job_view& v, api::Job& out);
job_view from(const api::Job& j);

}  // namespace prover::daemon::rpc
