// libFuzzer: what a receiver answers, from any bytes. A count is never more than OTLP has room for, a wait never more
// than an hour, what is shown to a person is bounded, and what our own reader takes from an answer that is well-formed
// is what stands in it.
#include <string>

#include "answer.hpp"
#include "input.hpp"

namespace {

using namespace telltale::otlp;

constexpr std::uint64_t most = INT64_MAX;
constexpr protocol protocols[] = {protocol::grpc, protocol::http_protobuf, protocol::http_json};

void put_varint(std::string& to, std::uint64_t v) {
  for (; v >= 0x80; v >>= 7) to += static_cast<char>(v | 0x80);
  to += static_cast<char>(v);
}
std::string field_of(std::uint32_t number, const std::string& bytes) {
  std::string out;
  put_varint(out, number << 3 | 2);
  put_varint(out, bytes.size());
  return out + bytes;
}

void any_body(fuzz::input& in) {
  const auto s = static_cast<signal_kind>(in.byte() % signals);
  const protocol p = protocols[in.byte() % 3];
  const std::string_view body = in.rest();
  const partial read = read_partial_success(body, s, p);
  fuzz::require(read.rejected <= most && read.message.size() <= body.size());
}

// A partial success, with fields that we don't know around it.
void written_body(fuzz::input& in) {
  const auto s = static_cast<signal_kind>(in.byte() % signals);
  const bool grpc = in.byte() % 2 == 0;
  const std::uint64_t rejected = in.word() & most;
  const std::string unknown(in.text(in.byte() % 16));
  const std::string message(in.rest());
  std::string inner = field_of(9, unknown);
  put_varint(inner, 1u << 3);
  put_varint(inner, rejected);
  inner += field_of(2, message);
  std::string body = field_of(7, unknown) + field_of(1, inner);
  if (grpc) body.insert(0, 5, '\0');
  const partial read = read_partial_success(body, s, grpc ? protocol::grpc : protocol::http_protobuf);
  fuzz::require(read.rejected == rejected && read.message == message);
}

void any_reply(fuzz::input& in) {
  reply r;
  r.http_status = static_cast<long>(in.word() % 700);
  const std::uint8_t bits = in.byte();
  r.speaks_grpc = (bits & 1) != 0;
  if ((bits & 2) != 0) r.grpc_status = static_cast<int>(in.byte()) - 8;
  r.retry_after = std::chrono::milliseconds(in.word() % 3'600'000);
  r.grpc_message = in.text(in.byte());
  r.grpc_details = in.text(in.byte());
  const auto s = static_cast<signal_kind>(in.byte() % signals);
  const protocol p = protocols[in.byte() % 3];
  r.body = in.rest();
  const answer a = judge(r, s, p);
  fuzz::require(a.rejected <= most && a.message.size() <= 600);
  fuzz::require(a.wait.count() >= 0 && a.wait <= std::chrono::hours(1) + std::chrono::seconds(1));
  const bool taken = r.http_status / 100 == 2 && (p != protocol::grpc || r.grpc_status == 0);
  fuzz::require((a.what == answer::kind::delivered) == taken);
  fuzz::require(taken || !a.message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  switch (in.byte() % 4) {
    case 0:
      any_body(in);
      break;
    case 1:
      written_body(in);
      break;
    case 2:
      any_reply(in);
      break;
    default:
      if (const auto wait = read_retry_info(in.rest())) {
        fuzz::require(wait->count() >= 0 && *wait <= std::chrono::hours(1) + std::chrono::seconds(1));
      }
  }
  return 0;
}
