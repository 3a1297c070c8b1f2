#include "hub/receive/receiver.hpp"

#include "hub/otlp/text.hpp"
#include "hub/receive/forward.hpp"

namespace telltale::hub {

received receiver::receive(otlp::signal_kind signal, std::string request) {
  counts& n = counts_[static_cast<std::size_t>(signal)];
  ++n.requests;
  const auto unavailable = [&](std::string why) {
    ++n.unavailable;
    return received{received::outcome::unavailable, 0, std::move(why)};
  };
  if (store_ == nullptr) {  // what comes goes on as it is
    if (const auto sent = forward_->send(signal, std::move(request)); !sent) return unavailable(sent.error().message);
    ++n.records;
    return {};
  }
  if (store_->overloaded()) return unavailable("the store is behind; send again a little later");
  auto b = decode(signal, std::move(request), limits_);
  if (!b) {
    ++n.malformed;
    return {received::outcome::malformed, 0, b.error().message};
  }
  const std::shared_ptr<const batch> kept = *b;
  if (const auto appended = store_->append(kept); !appended) return unavailable(appended.error().message);
  // It is kept, so its sender won't send it again: what can't go on as well is lost to the other side.
  if (forward_ != nullptr && !forward_->send(signal, kept->body)) forward_->lose();
  n.records += kept->records();
  n.rejected += kept->rejected;
  n.shortened += kept->shortened;
  received answer;
  answer.rejected = kept->rejected;
  answer.why = kept->why;
  return answer;
}

received receiver::receive_json(otlp::signal_kind signal, std::string_view request) {
  auto wire = protobuf_of_json(signal, request);
  if (wire) return receive(signal, std::move(*wire));
  counts& n = counts_[static_cast<std::size_t>(signal)];
  ++n.requests;
  ++n.malformed;
  return {received::outcome::malformed, 0, wire.error().message};
}

void receiver::add_routes(router& r) {
  for (std::size_t i = 0; i < otlp::signals; ++i) {
    const auto signal = static_cast<otlp::signal_kind>(i);
    r.add("POST", "/" + std::string(otlp::http_paths[i]), [this, signal](const http_request& q) {
      std::string_view type = q.header("content-type");
      type = type.substr(0, type.find(';'));
      while (type.ends_with(' ')) type.remove_suffix(1);
      const bool json = type == "application/json";
      http_response a;
      if (!json && type != "application/x-protobuf") {
        a.status = 415;
        a.type = "text/plain; charset=utf-8";
        a.body = "OTLP comes as application/x-protobuf or application/json, not as \"" + std::string(type) + "\"\n";
        return a;
      }
      const received got = json ? receive_json(signal, q.body) : receive(signal, q.body);
      a.type = json ? "application/json" : "application/x-protobuf";
      if (got.what == received::outcome::kept) {
        a.body = json ? answer_json(signal, got.rejected, got.why) : answer_protobuf(signal, got.rejected, got.why);
        return a;
      }
      const bool later = got.what == received::outcome::unavailable;
      a.status = later ? 503 : 400;
      if (later) a.headers.emplace_back("Retry-After", "1");
      const int code = later ? 14 : 3;  // google.rpc.Status: UNAVAILABLE, INVALID_ARGUMENT
      if (json) {
        a.body = R"({"code":)" + std::to_string(code) + R"(,"message":)";
        append_json(a.body, std::string_view(got.why));
        a.body += "}";
      } else {
        const std::string_view why = cut_to(got.why, 2000);
        a.body = {'\x08', static_cast<char>(code), '\x12'};
        std::size_t n = why.size();
        for (; n >= 0x80; n >>= 7) a.body += static_cast<char>(n | 0x80);
        a.body += static_cast<char>(n);
        a.body += why;
      }
      return a;
    });
  }
}

}  // namespace telltale::hub
