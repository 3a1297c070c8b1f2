// The gRPC server, on gRPC's callback interface.
//
// A unary handler that doesn't wait answers at once, on gRPC's thread. One that waits, and Watch, is an object that the
// service's callback or the client's going away ends, whichever comes first; it deletes itself when gRPC is done.
#include "prover/daemon/rpc/server.hpp"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <openssl/crypto.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <sstream>
#include <telltale/core/propagation.hpp>
#include <telltale/core/telltale.hpp>

#include "prover/daemon/job_trace.hpp"
#include "prover/daemon/rpc/convert.hpp"
#include "prover/daemon/rpc/listening.hpp"
#include "prover/daemon/rpc/prover.grpc.pb.h"

TELLTALE_MODULE("prover::daemon::rpc");

namespace prover::daemon {

using namespace telltale::literals;

namespace {

namespace api = rpc::api;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using grpc::StatusCode;
using std::chrono::milliseconds;

StatusCode code_of(refusal_reason why) {
  switch (why) {
    case refusal_reason::bad_request:
    case refusal_reason::too_large:
      return StatusCode::INVALID_ARGUMENT;
    case refusal_reason::unknown_kind:
      return StatusCode::NOT_FOUND;
    case refusal_reason::key:
      return StatusCode::FAILED_PRECONDITION;
    case refusal_reason::queue_full:
      return StatusCode::RESOURCE_EXHAUSTED;
    case refusal_reason::key_conflict:
      return StatusCode::ALREADY_EXISTS;
    case refusal_reason::draining:
    case refusal_reason::journal:
      return StatusCode::UNAVAILABLE;
  }
  return StatusCode::INTERNAL;
}

grpc::Status refuse(CallbackServerContext* context, const refusal& r) {
  context->AddTrailingMetadata("refusal", std::string(telltale_name(r.why)));
  if (r.retry_after) {
    const auto ms = std::chrono::ceil<milliseconds>(*r.retry_after).count();
    context->AddTrailingMetadata("retry-after-ms", std::to_string(ms));
  }
  return {code_of(r.why), r.message};
}

grpc::Status no_job(const std::string& id) {
  return {StatusCode::NOT_FOUND, "there is no job \"" + id.substr(0, 64) +
                                     "\": it was never accepted, or its result is no longer kept (journal.keep)."};
}

// The status of a wait that has ended, its result in `out`.
grpc::Status answer(const awaited& a, api::Result& out) {
  switch (a.what) {
    case awaited::answer::finished:
      rpc::fill(a.id, *a.result, out);
      return grpc::Status::OK;
    case awaited::answer::timed_out:
      return {StatusCode::DEADLINE_EXCEEDED, "job " + a.id.value + " goes on; ask again with Await."};
    case awaited::answer::stopping:
      return {StatusCode::UNAVAILABLE,
              "the daemon stops; job " + a.id.value + " is kept and runs when it is back: ask again with Await then."};
    case awaited::answer::unknown:
      break;
  }
  return no_job(a.id.value);
}

// Waits for a job's end without a thread. The service's answer and the client's going away race; one of them ends it.
class wait final : public ServerUnaryReactor {
 public:
  wait(service& s, job_id id, bool cancel_on_disconnect, api::Result* out)
      : service_(s), id_(std::move(id)), cancel_on_disconnect_(cancel_on_disconnect), out_(out) {}

  void begin(std::int64_t timeout_ms) {
    std::optional<nanoseconds> timeout;
    if (timeout_ms > 0) timeout = rpc::from_ms(timeout_ms);
    subscription_ = service_.await(id_, timeout, [this](const awaited& a) {
      if (ended_.exchange(true)) return;
      const grpc::Status s = answer(a, *out_);
      Finish(s);  // from here on the object may be gone
    });
    begun_.store(true, std::memory_order_release);
    begun_.notify_all();
  }

  void OnCancel() override {
    begun_.wait(false, std::memory_order_acquire);
    service_.unsubscribe(subscription_);
    if (ended_.exchange(true)) return;
    if (cancel_on_disconnect_) service_.cancel(id_);
    Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    begun_.wait(false, std::memory_order_acquire);
    delete this;
  }

 private:
  service& service_;
  const job_id id_;
  const bool cancel_on_disconnect_;
  api::Result* const out_;
  service::subscription subscription_ = 0;
  std::atomic<bool> begun_{false};
  std::atomic<bool> ended_{false};
};

// Writes a job's steps. A client that reads slowly misses steps in between: at most one waits to be written.
class watch final : public grpc::ServerWriteReactor<api::Progress> {
 public:
  explicit watch(service& s) : service_(s) {}

  void begin(const job_id& id) {
    const service::subscription s = service_.watch(id, [this](const progress& p) { step(p); });
    if (s == 0) {  // it has ended, or never was
      if (const auto job = service_.find(id)) {
        step({*job, true});
      } else {
        finish(no_job(id.value));
      }
    }
    subscription_ = s;
    begun_.store(true, std::memory_order_release);
    begun_.notify_all();
  }

  void OnWriteDone(bool good) override {
    std::unique_lock lock(mutex_);
    writing_ = false;
    if (!good) gone_ = true;
    next(lock);
  }
  void OnCancel() override {
    begun_.wait(false, std::memory_order_acquire);
    service_.unsubscribe(subscription_);
    std::unique_lock lock(mutex_);
    gone_ = true;
    next(lock);
  }
  void OnDone() override {
    begun_.wait(false, std::memory_order_acquire);
    service_.unsubscribe(subscription_);
    delete this;
  }

 private:
  void step(const progress& p) {
    std::unique_lock lock(mutex_);
    if (!waiting_ || !waiting_->last()) {
      waiting_.emplace();
      rpc::fill(p.job, *waiting_->mutable_job());
      waiting_->set_last(p.last);
    }
    next(lock);
  }
  void finish(const grpc::Status& s) {
    std::unique_lock lock(mutex_);
    if (std::exchange(finished_, true)) return;
    lock.unlock();
    Finish(s);
  }
  // What is to be done now, if anything: end, or write what waits.
  void next(std::unique_lock<std::mutex>& lock) {
    if (writing_ || finished_) return;
    const bool over = gone_ || (written_last_ && !waiting_);
    if (over) {
      finished_ = true;
      const grpc::Status s = gone_ ? grpc::Status::CANCELLED : grpc::Status::OK;
      lock.unlock();
      Finish(s);
    } else if (waiting_) {
      current_ = std::move(*waiting_);
      waiting_.reset();
      written_last_ = current_.last();
      writing_ = true;
      lock.unlock();
      StartWrite(&current_);
    }
  }

  service& service_;
  service::subscription subscription_ = 0;
  std::atomic<bool> begun_{false};
  std::mutex mutex_;
  std::optional<api::Progress> waiting_;
  api::Progress current_;
  bool writing_ = false;
  bool written_last_ = false;
  bool gone_ = false;
  bool finished_ = false;
};

class handlers final : public api::Prover::CallbackService {
 public:
  handlers(service& s, about_daemon about, std::string token)
      : service_(s), about_(std::move(about)), token_(std::move(token)) {}

  ServerUnaryReactor* Submit(CallbackServerContext* context, const api::SubmitRequest* in,
                             api::SubmitResponse* out) override {
    return at_once(context, [&] {
      auto a = submit(context, *in);
      if (auto* refused = std::get_if<grpc::Status>(&a)) return std::move(*refused);
      const auto& yes = std::get<accepted>(a);
      out->set_job_id(yes.id.value);
      out->set_joined(yes.joined);
      out->set_ahead(yes.ahead);
      return grpc::Status::OK;
    });
  }

  ServerUnaryReactor* Await(CallbackServerContext* context, const api::AwaitRequest* in, api::Result* out) override {
    if (auto refused = check(context)) return at_once(context, *refused);
    return await(job_id{in->job_id()}, false, in->timeout_ms(), out);
  }

  ServerUnaryReactor* Prove(CallbackServerContext* context, const api::ProveRequest* in, api::Result* out) override {
    if (auto refused = check(context)) return at_once(context, *refused);
    auto a = submit(context, in->submit());
    if (auto* refused = std::get_if<grpc::Status>(&a)) return at_once(context, *refused);
    return await(std::get<accepted>(a).id, in->cancel_on_disconnect(), in->timeout_ms(), out);
  }

  grpc::ServerWriteReactor<api::Progress>* Watch(CallbackServerContext* context, const api::WatchRequest* in) override {
    if (auto refused = check(context)) {
      struct no final : grpc::ServerWriteReactor<api::Progress> {
        void OnDone() override { delete this; }
      };
      auto* reactor = new no;
      reactor->Finish(*refused);
      return reactor;
    }
    auto* reactor = new watch(service_);
    reactor->begin(job_id{in->job_id()});
    return reactor;
  }

  ServerUnaryReactor* Cancel(CallbackServerContext* context, const api::CancelRequest* in,
                             api::CancelResponse* out) override {
    return at_once(context, [&] {
      switch (service_.cancel({in->job_id()})) {
        case cancel_answer::cancelled:
          out->set_answer("cancelled");
          break;
        case cancel_answer::at_next_boundary:
          out->set_answer("at_next_boundary");
          break;
        case cancel_answer::already_finished:
          out->set_answer("already_finished");
          break;
        case cancel_answer::unknown:
          return no_job(in->job_id());
      }
      return grpc::Status::OK;
    });
  }

  ServerUnaryReactor* List(CallbackServerContext* context, const api::ListRequest* in,
                           api::ListResponse* out) override {
    return at_once(context, [&] {
      job_filter filter{in->kind(), in->finished(), 1000};
      if (in->at_most() != 0) filter.at_most = std::min<std::size_t>(in->at_most(), 10'000);
      for (const job_view& v : service_.list(filter)) rpc::fill(v, *out->add_jobs());
      return grpc::Status::OK;
    });
  }

  ServerUnaryReactor* Status(CallbackServerContext* context, const api::StatusRequest*,
                             api::StatusResponse* out) override {
    return at_once(context, [&] {
      out->set_json(status_json(service_.get_status(), about_));
      return grpc::Status::OK;
    });
  }

  ServerUnaryReactor* PreloadParameters(CallbackServerContext* context, const api::PreloadParametersRequest* in,
                                        api::PreloadParametersResponse* out) override {
    return at_once(context, [&] {
      if (auto s = known(in->kind()); !s.ok()) return s;
      const auto a = service_.preload(in->kind());
      if (!a) return grpc::Status(StatusCode::FAILED_PRECONDITION, a.error().message);
      out->set_already_loaded(*a == preload_answer::already_loaded);
      return grpc::Status::OK;
    });
  }

  ServerUnaryReactor* EvictParameters(CallbackServerContext* context, const api::EvictParametersRequest* in,
                                      api::EvictParametersResponse* out) override {
    return at_once(context, [&] {
      if (auto s = known(in->kind()); !s.ok()) return s;
      const auto freed = service_.evict(in->kind());
      if (!freed) return grpc::Status(StatusCode::FAILED_PRECONDITION, freed.error().message);
      out->set_freed_bytes(*freed);
      return grpc::Status::OK;
    });
  }

 private:
  // Nothing where the caller may ask.
  std::optional<grpc::Status> check(CallbackServerContext* context) const {
    if (token_.empty()) return std::nullopt;
    const auto& metadata = context->client_metadata();
    const std::string wanted = "Bearer " + token_;
    for (auto [i, end] = metadata.equal_range("authorization"); i != end; ++i) {
      const grpc::string_ref sent = i->second;
      if (sent.size() == wanted.size() && CRYPTO_memcmp(sent.data(), wanted.data(), wanted.size()) == 0) {
        return std::nullopt;
      }
    }
    return grpc::Status(StatusCode::UNAUTHENTICATED,
                        "this daemon wants a token: send the metadata \"authorization: Bearer TOKEN\" (prover: "
                        "--token-file).");
  }

  grpc::Status known(const std::string& kind) const {
    std::string names;
    for (const auto& k : service_.kinds()) {
      if (k.name == kind) return grpc::Status::OK;
      names += (names.empty() ? "" : ", ") + k.name;
    }
    return {StatusCode::NOT_FOUND, "there is no kind \"" + kind.substr(0, 64) + "\"; this daemon has: " + names + "."};
  }

  static ServerUnaryReactor* at_once(CallbackServerContext* context, const grpc::Status& s) {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(s);
    return reactor;
  }
  template <class F>
    requires std::invocable<F>
  ServerUnaryReactor* at_once(CallbackServerContext* context, F f) const {
    if (auto refused = check(context)) return at_once(context, *refused);
    try {
      return at_once(context, f());
    } catch (const std::exception& e) {
      TELLTALE_ERROR("a call failed: {why}", "why"_a = telltale::text{e.what()});
      return at_once(context, grpc::Status(StatusCode::INTERNAL, e.what()));
    }
  }

  ServerUnaryReactor* await(job_id id, bool cancel_on_disconnect, std::int64_t timeout_ms, api::Result* out) {
    auto* reactor = new wait(service_, std::move(id), cancel_on_disconnect, out);
    reactor->begin(timeout_ms);
    return reactor;
  }

  std::variant<accepted, grpc::Status> submit(CallbackServerContext* context, const api::SubmitRequest& in) {
    // The job continues the caller's trace.
    const telltale::remote_scope from{telltale::extract(context->client_metadata())};
    submission_trace trace(in.ByteSizeLong());
    auto r = rpc::from(in);
    if (!r) {
      return grpc::Status(StatusCode::INVALID_ARGUMENT,
                          "a payload has neither a witness nor inputs, the priority is unknown, or the deadline is "
                          "negative.");
    }
    try {
      auto a = service_.submit(std::move(*r));
      if (const auto* refused = std::get_if<refusal>(&a)) return refuse(context, *refused);
      trace.accepted(std::get<accepted>(a).id);
      return std::get<accepted>(std::move(a));
    } catch (const std::exception& e) {
      TELLTALE_ERROR("a job was not accepted: {why}", "why"_a = telltale::text{e.what()});
      return grpc::Status(StatusCode::INTERNAL, e.what());
    }
  }

  service& service_;
  const about_daemon about_;
  const std::string token_;
};

telltale::result<std::string> content_of(const std::string& path, const char* what) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) {
    return telltale::error{"cannot read the " + std::string(what) + " \"" + path + "\", or it is empty"};
  }
  return text.str();
}

telltale::result<std::string> token_of(const std::string& path) {
  if (path.empty()) return std::string();
  struct stat there{};
  if (::stat(path.c_str(), &there) == 0 && (there.st_mode & S_IROTH) != 0) {
    TELLTALE_WARN("anybody on this machine can read the token in {file}: chmod o-r", "file"_a = telltale::text{path});
  }
  auto token = content_of(path, "token");
  if (!token) return token;
  while (!token->empty() && (token->back() == '\n' || token->back() == '\r' || token->back() == ' ')) token->pop_back();
  if (token->empty()) return telltale::error{"the token in \"" + path + "\" is empty: put a long random word there"};
  return token;
}

telltale::result<std::shared_ptr<grpc::ServerCredentials>> credentials_of(const server_settings& s) {
  if (s.tls_certificate.empty()) return grpc::InsecureServerCredentials();
  const auto certificate = content_of(s.tls_certificate, "certificate");
  if (!certificate) return certificate.error();
  const auto key = content_of(s.tls_key, "certificate's key");
  if (!key) return key.error();
  grpc::SslServerCredentialsOptions o(s.tls_client_ca.empty()
                                          ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                          : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  o.pem_key_cert_pairs.push_back({*key, *certificate});
  if (!s.tls_client_ca.empty()) {
    const auto ca = content_of(s.tls_client_ca, "client authority");
    if (!ca) return ca.error();
    o.pem_root_certs = *ca;
  }
  return grpc::SslServerCredentials(o);
}

}  // namespace

struct rpc_server::state {
  std::vector<socket_claim> claims;  // given up last
  std::unique_ptr<handlers> service;
  std::unique_ptr<grpc::Server> server;
  std::vector<std::string> addresses;
};

rpc_server::rpc_server(std::unique_ptr<state> s) : state_(std::move(s)) {}
rpc_server::~rpc_server() {
  stop(milliseconds{0});
}

telltale::result<std::unique_ptr<rpc_server>> rpc_server::start(const server_settings& settings, service& s,
                                                                const about_daemon& about) {
  auto token = token_of(settings.token_file);
  if (!token) return token.error();
  auto credentials = credentials_of(settings);
  if (!credentials) return credentials.error();

  auto state = std::make_unique<rpc_server::state>();
  state->service = std::make_unique<handlers>(s, about, *token);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.RegisterService(state->service.get());
  // What gRPC itself holds of requests that arrive comes out of the same budget: beyond, it reads no further.
  // A message that is larger than all of it ends its call (RESOURCE_EXHAUSTED).
  const auto memory = s.get_status().ledger.by_owner;
  if (const auto requests = memory.find("requests"); requests != memory.end() && requests->second != 0) {
    builder.SetResourceQuota(grpc::ResourceQuota("requests").Resize(requests->second));
  }
  builder.SetMaxReceiveMessageSize(static_cast<int>(settings.max_request));
  // Two daemons would share a port, and each get half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // A peer that vanished without a word is noticed after half a minute.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  std::vector<int> ports(settings.listen.size(), 0);
  for (std::size_t i = 0; i < settings.listen.size(); ++i) {
    const std::string& address = settings.listen[i];
    const bool local = address.starts_with("unix:");
    if (local) {
      auto claim = socket_claim::take(address);
      if (!claim) return claim.error();
      state->claims.push_back(std::move(*claim));
    }
    builder.AddListeningPort(address, local ? grpc::InsecureServerCredentials() : *credentials, &ports[i]);
  }
  state->server = builder.BuildAndStart();
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::string& address = settings.listen[i];
    if (ports[i] == 0) {
      if (state->server != nullptr) state->server->Shutdown();
      return telltale::error{"cannot listen on \"" + address + "\": " + why_not(address)};
    }
    if (address.starts_with("unix:")) {
      ::chmod(address.c_str() + 5, 0660);  // this user and group
      state->addresses.push_back(address);
    } else {
      state->addresses.push_back(address.substr(0, address.rfind(':') + 1) + std::to_string(ports[i]));
    }
  }
  if (state->server == nullptr) {
    return telltale::error{"the gRPC server did not start: look at tls_certificate, tls_key and tls_client_ca"};
  }
  return std::unique_ptr<rpc_server>(new rpc_server(std::move(state)));
}

const std::vector<std::string>& rpc_server::addresses() const noexcept {
  return state_->addresses;
}

void rpc_server::stop_serving() {
  if (auto* health = state_->server->GetHealthCheckService()) health->SetServingStatus(false);
}

void rpc_server::stop(milliseconds grace) {
  state_->server->Shutdown(std::chrono::system_clock::now() + grace);
}

}  // namespace prover::daemon
