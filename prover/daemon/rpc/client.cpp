// The client, as a library that load_client.cpp loads.
#include "prover/daemon/rpc/client.hpp"

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <telltale/core/propagation.hpp>

#include "prover/daemon/rpc/convert.hpp"
#include "prover/daemon/rpc/prover.grpc.pb.h"

namespace prover::daemon {

namespace {

namespace api = rpc::api;

const char* name_of(grpc::StatusCode code) {
  constexpr const char* names[] = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  const auto n = static_cast<std::size_t>(code);
  return n < std::size(names) ? names[n] : "UNKNOWN";
}

std::int64_t ms_of(const std::optional<nanoseconds>& d) {
  if (!d) return 0;
  // 0 would be for ever.
  return std::max<std::int64_t>(1, std::chrono::duration_cast<std::chrono::milliseconds>(*d).count());
}

telltale::result<std::string> content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) return telltale::error{"cannot read \"" + path + "\", or it is empty"};
  return text.str();
}

// The calls of a client that wait for their answer. A client outlives them: the last one who lets go of a channel must
// not be gRPC's own thread (1.51 frees its completion queue twice then).
class calls_under_way {
 public:
  void add(grpc::ClientContext* c) {
    const std::lock_guard lock(mutex_);
    all_.insert(c);
    ++alive_;
  }
  // Before the context goes: from now on nobody cancels it.
  void ends(grpc::ClientContext* c) {
    const std::lock_guard lock(mutex_);
    all_.erase(c);
  }
  // After it has gone.
  void ended() {
    const std::lock_guard lock(mutex_);
    --alive_;
    changed_.notify_all();
  }
  void cancel_and_wait() {
    std::unique_lock lock(mutex_);
    for (grpc::ClientContext* c : all_) c->TryCancel();
    changed_.wait(lock, [&] { return alive_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<grpc::ClientContext*> all_;  // to be cancelled
  std::size_t alive_ = 0;
};

// A call under way, with what it reads and writes.
template <class Request>
class pending {
  // Leaves the list when everything else of the call is gone.
  struct listed {
    calls_under_way& in;
    std::optional<grpc::ClientContext> context{std::in_place};
    explicit listed(calls_under_way& list) : in(list) { in.add(&*context); }
    ~listed() {
      in.ends(&*context);
      context.reset();
      in.ended();
    }
    listed(const listed&) = delete;
    listed& operator=(const listed&) = delete;
  };
  listed listed_;

 public:
  explicit pending(calls_under_way& list) : listed_(list) {}
  grpc::ClientContext& context = *listed_.context;
  Request in;
  api::Result out;
  client::on_result f;
};

class grpc_client final : public client {
 public:
  grpc_client(std::string server, std::string token, std::unique_ptr<api::Prover::Stub> stub)
      : server_(std::move(server)), token_(std::move(token)), stub_(std::move(stub)) {}

  ~grpc_client() override { calls_.cancel_and_wait(); }
  grpc_client(const grpc_client&) = delete;
  grpc_client& operator=(const grpc_client&) = delete;

  answered<accepted> submit(const request& r) override {
    api::SubmitRequest in;
    rpc::fill(r, in);
    return call<api::SubmitResponse>(
        [&](auto& context, auto& out) { return stub_->Submit(&context, in, &out); },
        [](const api::SubmitResponse& out) { return accepted{{out.job_id()}, out.joined(), out.ahead()}; });
  }

  answered<remote_result> await(const job_id& id, std::optional<nanoseconds> timeout) override {
    api::AwaitRequest in;
    in.set_job_id(id.value);
    in.set_timeout_ms(ms_of(timeout));
    return call<api::Result>([&](auto& context, auto& out) { return stub_->Await(&context, in, &out); }, result_of);
  }

  answered<remote_result> prove(const request& r, std::optional<nanoseconds> timeout,
                                bool cancel_on_disconnect) override {
    api::ProveRequest in;
    rpc::fill(r, *in.mutable_submit());
    in.set_timeout_ms(ms_of(timeout));
    in.set_cancel_on_disconnect(cancel_on_disconnect);
    return call<api::Result>([&](auto& context, auto& out) { return stub_->Prove(&context, in, &out); }, result_of);
  }

  void await(const job_id& id, std::optional<nanoseconds> timeout, on_result f) override {
    auto call = std::make_shared<pending<api::AwaitRequest>>(calls_);
    call->in.set_job_id(id.value);
    call->in.set_timeout_ms(ms_of(timeout));
    call->f = std::move(f);
    prepare(call->context);
    stub_->async()->Await(&call->context, &call->in, &call->out, [this, call](const grpc::Status& s) {
      call->f(s.ok() ? answered<remote_result>(result_of(call->out)) : failure(s, call->context));
    });
  }

  void prove(const request& r, std::optional<nanoseconds> timeout, on_result f) override {
    auto call = std::make_shared<pending<api::ProveRequest>>(calls_);
    rpc::fill(r, *call->in.mutable_submit());
    call->in.set_timeout_ms(ms_of(timeout));
    call->f = std::move(f);
    prepare(call->context);
    stub_->async()->Prove(&call->context, &call->in, &call->out, [this, call](const grpc::Status& s) {
      call->f(s.ok() ? answered<remote_result>(result_of(call->out)) : failure(s, call->context));
    });
  }

  std::optional<call_failure> watch(const job_id& id, const std::function<bool(const step&)>& f) override {
    grpc::ClientContext context;
    prepare(context);
    api::WatchRequest in;
    in.set_job_id(id.value);
    const auto reader = stub_->Watch(&context, in);
    api::Progress p;
    bool enough = false;
    while (!enough && reader->Read(&p)) enough = !f({rpc::from(p.job()), p.last()});
    if (enough) {
      context.TryCancel();
      (void)reader->Finish();
      return std::nullopt;
    }
    const grpc::Status s = reader->Finish();
    if (s.ok()) return std::nullopt;
    return failure(s, context);
  }

  answered<std::string> cancel(const job_id& id) override {
    api::CancelRequest in;
    in.set_job_id(id.value);
    return call<api::CancelResponse>([&](auto& context, auto& out) { return stub_->Cancel(&context, in, &out); },
                                     [](const api::CancelResponse& out) { return out.answer(); });
  }

  answered<std::vector<job_view>> list(const std::string& kind, bool finished, unsigned at_most) override {
    api::ListRequest in;
    in.set_kind(kind);
    in.set_finished(finished);
    in.set_at_most(at_most);
    return call<api::ListResponse>([&](auto& context, auto& out) { return stub_->List(&context, in, &out); },
                                   [](const api::ListResponse& out) {
                                     std::vector<job_view> jobs;
                                     for (const api::Job& j : out.jobs()) jobs.push_back(rpc::from(j));
                                     return jobs;
                                   });
  }

  answered<std::string> status() override {
    return call<api::StatusResponse>([&](auto& context, auto& out) { return stub_->Status(&context, {}, &out); },
                                     [](const api::StatusResponse& out) { return out.json(); });
  }

  answered<bool> preload(const std::string& kind) override {
    api::PreloadParametersRequest in;
    in.set_kind(kind);
    return call<api::PreloadParametersResponse>(
        [&](auto& context, auto& out) { return stub_->PreloadParameters(&context, in, &out); },
        [](const api::PreloadParametersResponse& out) { return out.already_loaded(); });
  }

  answered<std::uint64_t> evict(const std::string& kind) override {
    api::EvictParametersRequest in;
    in.set_kind(kind);
    return call<api::EvictParametersResponse>(
        [&](auto& context, auto& out) { return stub_->EvictParameters(&context, in, &out); },
        [](const api::EvictParametersResponse& out) { return std::uint64_t{out.freed_bytes()}; });
  }

 private:
  void prepare(grpc::ClientContext& context) const {
    telltale::inject(context);
    if (!token_.empty()) context.AddMetadata("authorization", "Bearer " + token_);
  }

  call_failure failure(const grpc::Status& s, const grpc::ClientContext& context) const {
    call_failure f{name_of(s.error_code()), s.error_message(), {}, {}};
    if (s.error_code() == grpc::StatusCode::UNAVAILABLE && context.GetServerTrailingMetadata().empty()) {
      f.message = "no answer from \"" + server_ + "\": " + f.message;
    }
    for (const auto& [name, value] : context.GetServerTrailingMetadata()) {
      const std::string text(value.data(), value.size());
      if (name == "refusal") f.refusal = text;
      if (name == "retry-after-ms") f.retry_after = rpc::from_ms(std::atoll(text.c_str()));
    }
    return f;
  }

  // One call: `ask` makes it, `take` takes the answer apart.
  template <class Response, class Ask, class Take>
  auto call(Ask ask, Take take) const -> answered<std::decay_t<decltype(take(std::declval<Response&>()))>> {
    grpc::ClientContext context;
    prepare(context);
    Response response;
    const grpc::Status s = ask(context, response);
    if (!s.ok()) return failure(s, context);
    return take(response);
  }

  static remote_result result_of(const api::Result& r) { return {{r.job_id()}, rpc::from(r)}; }

  const std::string server_;
  const std::string token_;
  const std::unique_ptr<api::Prover::Stub> stub_;
  calls_under_way calls_;
};

}  // namespace

static telltale::result<std::unique_ptr<client>> open_client(const client_settings& settings) {
  std::string token;
  if (!settings.token_file.empty()) {
    auto text = content_of(settings.token_file);
    if (!text) return text.error();
    token = text->substr(0, text->find_last_not_of("\r\n ") + 1);
  }
  auto credentials = grpc::InsecureChannelCredentials();
  if (!settings.tls_ca.empty()) {
    grpc::SslCredentialsOptions o;
    for (const auto& [path, into] :
         {std::pair{&settings.tls_ca, &o.pem_root_certs}, std::pair{&settings.tls_certificate, &o.pem_cert_chain},
          std::pair{&settings.tls_key, &o.pem_private_key}}) {
      if (path->empty()) continue;
      auto text = content_of(*path);
      if (!text) return text.error();
      *into = *text;
    }
    credentials = grpc::SslCredentials(o);
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(settings.max_message));
  // A connection of its own: one client's token and limits are not another's.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  auto stub = api::Prover::NewStub(grpc::CreateCustomChannel(settings.server, credentials, arguments));
  return std::unique_ptr<client>(new grpc_client(settings.server, std::move(token), std::move(stub)));
}

}  // namespace prover::daemon

extern "C" [[gnu::visibility("default")]] void telltale_prover_open_client(
    const prover::daemon::client_settings& settings, telltale::result<std::unique_ptr<prover::daemon::client>>& out) {
  out = prover::daemon::open_client(settings);
}
