#include "hub/grpc/receiver.hpp"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <optional>

#include "hub/receive/inflate.hpp"
#include "hub/store/priority.hpp"

namespace telltale::hub {

namespace {

std::optional<otlp::signal_kind> signal_of(const std::string& method) {
  for (std::size_t i = 0; i < otlp::signals; ++i) {
    if (method == otlp::grpc_paths[i]) return static_cast<otlp::signal_kind>(i);
  }
  return std::nullopt;
}

// One call: a message in, a message out. It deletes itself when gRPC is done with it.
class call final : public grpc::ServerGenericBidiReactor {
 public:
  call(grpc::GenericCallbackServerContext* context, receiver& to, const std::string& authorization,
       std::uint64_t max_body)
      : signal_(signal_of(context->method())), to_(to), max_body_(max_body) {
    if (!signal_) {
      Finish({grpc::StatusCode::UNIMPLEMENTED, "this hub takes OTLP: " + std::string(otlp::grpc_paths[0]) +
                                                   " and its "
                                                   "like, not " +
                                                   context->method()});
      return;
    }
    const auto& sent = context->client_metadata();
    const auto it = sent.find("authorization");
    if (!authorization.empty() &&
        (it == sent.end() || std::string_view(it->second.data(), it->second.size()) != authorization)) {
      Finish({grpc::StatusCode::UNAUTHENTICATED, "this hub wants a token: authorization: Bearer TOKEN"});
      return;
    }
    StartRead(&request_);
  }

  void OnReadDone(bool good) override {
    yield_once(nice_ingest);
    if (!good) {
      Finish({grpc::StatusCode::INVALID_ARGUMENT, "the call carries no request"});
      return;
    }
    std::vector<grpc::Slice> slices;
    if (!request_.Dump(&slices).ok()) {
      Finish({grpc::StatusCode::INTERNAL, "the request could not be read"});
      return;
    }
    std::string bytes;
    bytes.reserve(request_.Length());
    for (const grpc::Slice& s : slices) bytes.append(reinterpret_cast<const char*>(s.begin()), s.size());
    slices.clear();
    request_.Clear();
    if (bytes.starts_with("\x1f\x8b")) {  // gzip: no protobuf begins so
      inflated unpacked = inflate(bytes, max_body_);
      if (unpacked.what != inflated::outcome::whole) {
        const bool large = unpacked.what == inflated::outcome::too_large;
        Finish({large ? grpc::StatusCode::RESOURCE_EXHAUSTED : grpc::StatusCode::INVALID_ARGUMENT, unpacked.bytes});
        return;
      }
      bytes = std::move(unpacked.bytes);
    }
    const received got = to_.receive(*signal_, std::move(bytes));
    switch (got.what) {
      case received::outcome::malformed:
        Finish({grpc::StatusCode::INVALID_ARGUMENT, got.why});
        return;
      case received::outcome::unavailable:
        Finish({grpc::StatusCode::UNAVAILABLE, got.why});
        return;
      case received::outcome::kept: {
        const grpc::Slice slice(answer_protobuf(*signal_, got.rejected, got.why));
        answer_ = grpc::ByteBuffer(&slice, 1);
        StartWriteAndFinish(&answer_, {}, grpc::Status::OK);
        return;
      }
    }
  }
  void OnDone() override { delete this; }

 private:
  std::optional<otlp::signal_kind> signal_;
  receiver& to_;
  std::uint64_t max_body_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer answer_;
};

class service final : public grpc::CallbackGenericService {
 public:
  service(receiver& to, std::string authorization, std::uint64_t max_body)
      : to_(to), authorization_(std::move(authorization)), max_body_(max_body) {}
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new call(context, to_, authorization_, max_body_);
  }

 private:
  receiver& to_;
  std::string authorization_;
  std::uint64_t max_body_;
};

}  // namespace

struct grpc_server::state {
  state(receiver& to, std::string authorization, std::uint64_t max_body)
      : generic(to, std::move(authorization), max_body) {}
  service generic;
  std::vector<int> ports;
  std::unique_ptr<grpc::Server> server;
};

grpc_server::grpc_server(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
grpc_server::~grpc_server() {
  if (state_->server) state_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
}
const std::vector<int>& grpc_server::ports() const noexcept {
  return state_->ports;
}

result<std::unique_ptr<grpc_server>> grpc_server::start(const grpc_settings& settings, receiver& to) {
  auto s = std::make_unique<state>(to, settings.token.empty() ? std::string{} : "Bearer " + settings.token,
                                   settings.max_body);
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (!settings.tls_certificate.empty()) {
    grpc::SslServerCredentialsOptions o;
    o.pem_key_cert_pairs.push_back({settings.tls_key, settings.tls_certificate});
    credentials = grpc::SslServerCredentials(o);
  }
  grpc::ServerBuilder builder;
  s->ports.resize(settings.listen.size());
  for (std::size_t i = 0; i < settings.listen.size(); ++i) {
    builder.AddListeningPort(settings.listen[i], credentials, &s->ports[i]);
  }
  builder.RegisterCallbackGenericService(&s->generic);
  builder.SetMaxReceiveMessageSize(static_cast<int>(settings.max_body));
  // gRPC would unpack all of a message before it looks at its size; we stop at the limit. It says no to deflate.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  grpc::ResourceQuota quota("hub");
  quota.Resize(settings.max_memory);
  builder.SetResourceQuota(quota);
  s->server = builder.BuildAndStart();
  for (std::size_t i = 0; i < settings.listen.size(); ++i) {
    if (!s->server || s->ports[i] == 0) {
      return error{"cannot serve gRPC on \"" + settings.listen[i] +
                   "\": the port is in use, the address is none (HOST:PORT), or certificate and key are no pair"};
    }
  }
  return std::unique_ptr<grpc_server>(new grpc_server(std::move(s)));
}

}  // namespace telltale::hub
