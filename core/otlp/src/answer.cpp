// Reading answers: a small reader of protobuf that trusts nothing, and a library's JSON.
#include "answer.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace telltale::otlp {

namespace {

// Fields of a message, one by one; ends at the first byte that makes no sense.
class fields {
 public:
  explicit fields(std::string_view bytes) noexcept : rest_(bytes) {}

  bool next() noexcept {
    std::uint64_t tag = 0;
    if (rest_.empty() || !varint(tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff) return false;
    number_ = static_cast<std::uint32_t>(tag >> 3);
    text_ = {};
    value_ = 0;
    switch (tag & 7) {
      case 0:
        return varint(value_);
      case 1:
        return skip(8);
      case 2: {
        std::uint64_t size = 0;
        if (!varint(size) || size > rest_.size()) return false;
        text_ = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return true;
      }
      case 5:
        return skip(4);
      default:
        return false;
    }
  }
  bool is(field f) const noexcept { return number_ == f.number; }
  std::uint32_t number() const noexcept { return number_; }
  std::uint64_t value() const noexcept { return value_; }
  std::string_view text() const noexcept { return text_; }

 private:
  bool varint(std::uint64_t& v) noexcept {
    v = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      v |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool skip(std::size_t n) noexcept {
    if (rest_.size() < n) return false;
    rest_.remove_prefix(n);
    return true;
  }
  std::string_view rest_;
  std::uint32_t number_ = 0;
  std::uint64_t value_ = 0;
  std::string_view text_;
};

// Nothing where a character is no digit. Padding is optional, as gRPC has it.
std::optional<std::string> base64_decoded(std::string_view s) {
  while (!s.empty() && s.back() == '=') s.remove_suffix(1);
  std::string out;
  std::uint32_t bits = 0;
  unsigned have = 0;
  for (const char c : s) {
    std::uint32_t d = 0;
    if (c >= 'A' && c <= 'Z') {
      d = static_cast<std::uint32_t>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      d = static_cast<std::uint32_t>(c - 'a' + 26);
    } else if (c >= '0' && c <= '9') {
      d = static_cast<std::uint32_t>(c - '0' + 52);
    } else if (c == '+' || c == '-') {
      d = 62;
    } else if (c == '/' || c == '_') {
      d = 63;
    } else {
      return std::nullopt;
    }
    bits = bits << 6 | d;
    have += 6;
    if (have >= 8) {
      have -= 8;
      out += static_cast<char>(bits >> have);
    }
  }
  return out;
}

// A rejection of fewer than none is none.
std::uint64_t count_of(std::uint64_t v) noexcept {
  return static_cast<std::int64_t>(v) < 0 ? 0 : v;
}

partial from_protobuf(std::string_view body, std::size_t signal) {
  partial p;
  for (fields response(body); response.next();) {
    if (!response.is(export_response::partial_success)) continue;
    for (fields inner(response.text()); inner.next();) {
      if (inner.is(partial_success::rejected[signal])) p.rejected = count_of(inner.value());
      if (inner.is(partial_success::error_message)) p.message = inner.text();
    }
  }
  return p;
}

partial from_json(std::string_view body, std::size_t signal) {
  partial p;
  const nlohmann::json j = nlohmann::json::parse(body, nullptr, false);
  const auto member = [](const nlohmann::json& of, field f) -> const nlohmann::json* {
    if (!of.is_object()) return nullptr;
    const auto at = of.find(std::string(f.json));
    return at != of.end() ? &*at : nullptr;
  };
  const nlohmann::json* inner = member(j, export_response::partial_success);
  if (inner == nullptr) return p;
  // A 64-bit number is a string in protobuf's JSON; not everybody writes it so.
  if (const auto* n = member(*inner, partial_success::rejected[signal])) {
    if (n->is_number_unsigned()) p.rejected = count_of(n->get<std::uint64_t>());
    if (n->is_string()) {
      const std::string& text = n->get_ref<const std::string&>();
      std::uint64_t v = 0;
      const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), v);
      if (failed == std::errc{} && end == text.data() + text.size()) p.rejected = count_of(v);
    }
  }
  if (const auto* m = member(*inner, partial_success::error_message); m != nullptr && m->is_string()) {
    p.message = m->get<std::string>();
  }
  return p;
}

// The lists of the OTLP specification.
bool retryable_grpc(int code) noexcept {
  return code == 1 || code == 4 || code == 10 || code == 11 || code == 14 || code == 15;
}
constexpr int resource_exhausted = 8;  // only where the answer says when
bool retryable_http(long status) noexcept {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

std::chrono::milliseconds read_duration(std::string_view bytes) {
  std::uint64_t seconds = 0;
  std::uint64_t nanoseconds = 0;
  for (fields duration(bytes); duration.next();) {
    if (duration.number() == 1) seconds = count_of(duration.value());
    if (duration.number() == 2) nanoseconds = count_of(duration.value());
  }
  seconds = std::min<std::uint64_t>(seconds, 3600);
  nanoseconds = std::min<std::uint64_t>(nanoseconds, 999'999'999);
  return std::chrono::milliseconds(seconds * 1000 + nanoseconds / 1'000'000);
}

}  // namespace

partial read_partial_success(std::string_view body, signal_kind s, protocol p) {
  const auto signal = static_cast<std::size_t>(s);
  if (p == protocol::http_json) return from_json(body, signal);
  if (p == protocol::grpc) {  // one frame: a byte "compressed", four bytes of length
    if (body.size() < 5 || body[0] != 0) return {};
    body.remove_prefix(5);
  }
  return from_protobuf(body, signal);
}

std::optional<std::chrono::milliseconds> read_retry_info(std::string_view base64_status) {
  const auto status = base64_decoded(base64_status);
  if (!status) return std::nullopt;
  for (fields s(*status); s.next();) {
    if (s.number() != 3) continue;  // details: Any
    std::string_view type;
    std::string_view value;
    for (fields any(s.text()); any.next();) {
      if (any.number() == 1) type = any.text();
      if (any.number() == 2) value = any.text();
    }
    if (!type.ends_with("google.rpc.RetryInfo")) continue;
    for (fields info(value); info.next();) {
      if (info.number() == 1) return read_duration(info.text());
    }
  }
  return std::nullopt;
}

answer judge(const reply& r, signal_kind s, protocol p) {
  answer a;
  a.wait = r.retry_after;
  if (r.http_status < 200 || r.http_status > 299) {
    a.what = retryable_http(r.http_status) ? answer::kind::retry : answer::kind::refused;
    a.message = "HTTP status " + std::to_string(r.http_status);
    return a;
  }
  if (p == protocol::grpc && !r.grpc_status) {
    if (r.speaks_grpc) {  // cut off before its trailers: the receiver went away
      a.message = "the answer ends before its grpc-status";
    } else {
      a.what = answer::kind::refused;
      a.message = "what listens there doesn't speak gRPC";
    }
    return a;
  }
  if (p == protocol::grpc && *r.grpc_status != 0) {
    const auto info = read_retry_info(r.grpc_details);
    const bool again = retryable_grpc(*r.grpc_status) || (*r.grpc_status == resource_exhausted && info);
    a.what = again ? answer::kind::retry : answer::kind::refused;
    if (info) a.wait = *info;
    a.message = "gRPC status " + std::to_string(*r.grpc_status);
    if (!r.grpc_message.empty()) a.message += " (" + r.grpc_message.substr(0, 200) + ")";
    return a;
  }
  const partial some = read_partial_success(r.body, s, p);
  a.what = answer::kind::delivered;
  a.rejected = some.rejected;
  a.message = some.message.substr(0, 500);
  return a;
}

}  // namespace telltale::otlp
