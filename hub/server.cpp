#include "hub/server.hpp"

#include <cstdio>
#include <fstream>

namespace telltale::hub {

struct server::state {
  configuration config;
  std::unique_ptr<hub::store> store;
  std::unique_ptr<forwarder> forward;
  std::unique_ptr<hub::receiver> receiver;
  router routes;
  // What calls into the above ends first.
  std::unique_ptr<http_server> http;
  std::unique_ptr<grpc_server> grpc;
};

server::server(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
server::~server() {
  state_->grpc.reset();
  state_->http.reset();
}
store* server::kept() {
  return state_->store.get();
}
const http_server& server::http() const {
  return *state_->http;
}
std::vector<int> server::grpc_ports() const {
  return state_->grpc ? state_->grpc->ports() : std::vector<int>{};
}

namespace {

std::uint64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  in >> all >> resident;
  return resident * 4096;
}

class exposition_text {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += "# HELP " + name_ + " " + std::string(help) + "\n# TYPE " + name_ + " " + std::string(type) + "\n";
  }
  void sample(std::uint64_t value, std::string_view labels = "") {
    text_ += name_ + std::string(labels) + " " + std::to_string(value) + "\n";
  }
  std::string take() { return std::move(text_); }

 private:
  std::string name_;
  std::string text_;
};

}  // namespace

std::string server::metrics() const {
  constexpr std::string_view signal_labels[otlp::signals] = {"{signal=\"traces\"}", "{signal=\"logs\"}",
                                                             "{signal=\"metrics\"}"};
  exposition_text out;
  const auto each = [&](std::string_view name, std::string_view help, auto count) {
    out.family(name, "counter", help);
    for (std::size_t i = 0; i < otlp::signals; ++i) {
      out.sample((state_->receiver->counted(static_cast<otlp::signal_kind>(i)).*count).load(), signal_labels[i]);
    }
  };
  using counts = hub::receiver::counts;
  each("telltale_hub_requests_total", "OTLP requests received.", &counts::requests);
  each("telltale_hub_records_total", "Spans, log records and points kept; requests where all is only forwarded.",
       &counts::records);
  each("telltale_hub_rejected_total",
       "Records that could not be kept: ids of the wrong length, an end before the start.", &counts::rejected);
  each("telltale_hub_shortened_total", "Strings cut, and attributes, events and links left out, by the limits.",
       &counts::shortened);
  each("telltale_hub_malformed_requests_total", "Requests that are no OTLP.", &counts::malformed);
  each("telltale_hub_unavailable_requests_total", "Requests answered: try again later.", &counts::unavailable);
  out.family("telltale_hub_http_requests_total", "counter", "HTTP requests, OTLP and questions.");
  out.sample(state_->http->requests());
  out.family("telltale_hub_http_refused_total", "counter",
             "HTTP requests refused unread: too large, no token, too many.");
  out.sample(state_->http->refused());
  if (state_->store) {
    const store_stats s = state_->store->stats();
    out.family("telltale_hub_store_records", "gauge", "What the store holds.");
    out.sample(s.spans, "{kind=\"spans\"}");
    out.sample(s.thinned, "{kind=\"thinned_spans\"}");
    out.sample(s.logs, "{kind=\"logs\"}");
    out.sample(s.metric_points, "{kind=\"metric_points\"}");
    out.sample(s.links, "{kind=\"links\"}");
    out.family("telltale_hub_store_bytes", "gauge", "What it occupies on disk.");
    out.sample(s.bytes - s.journal_bytes, "{in=\"files\"}");
    out.sample(s.journal_bytes, "{in=\"journal\"}");
    out.family("telltale_hub_store_waiting_records", "gauge", "Records that are durable and not visible yet.");
    out.sample(s.waiting);
    out.family("telltale_hub_open_spans", "gauge", "Spans that run now.");
    out.sample(s.open_spans);
  }
  if (state_->forward) {
    out.family("telltale_hub_forwarded_requests_total", "counter", "Requests that the next receiver took.");
    out.sample(state_->forward->sent());
    out.family("telltale_hub_forward_lost_requests_total", "counter", "Requests that it refused, or for too long.");
    out.sample(state_->forward->lost());
  }
  out.family("process_resident_memory_bytes", "gauge", "Resident memory.");
  out.sample(resident_bytes());
  return out.take();
}

result<std::unique_ptr<server>> server::start(configuration c, const add_routes& more) {
  if (const auto fits = check_configuration(c); !fits) return fits.error();
  auto s = std::make_unique<state>();
  s->config = std::move(c);
  if (s->config.keep) {
    auto store = s->config.clickhouse.url.empty() ? open_store(s->config.store) : open_clickhouse(s->config.clickhouse);
    if (!store) return store.error();
    s->store = std::move(*store);
  }
  if (!s->config.forward.url.empty()) s->forward = std::make_unique<forwarder>(s->config.forward);
  s->receiver = std::make_unique<hub::receiver>(s->store.get(), s->forward.get(), s->config.limits);
  std::unique_ptr<server> self(new server(std::move(s)));
  state& of = *self->state_;
  of.receiver->add_routes(of.routes);
  of.routes.add("GET", "/healthz",
                [](const http_request&) { return http_response{200, "text/plain; charset=utf-8", "ok\n", {}, {}}; });
  of.routes.add("GET", "/metrics", [raw = self.get()](const http_request&) {
    return http_response{200, "text/plain; version=0.0.4; charset=utf-8", raw->metrics(), {}, {}};
  });
  if (more) more(of.routes, of.store.get());
  auto http = http_server::start(of.config.http, of.routes);
  if (!http) return http.error();
  of.http = std::move(*http);
  if (!of.config.grpc.listen.empty()) {
    auto grpc = grpc_server::start(of.config.grpc, *of.receiver);
    if (!grpc) return grpc.error();
    of.grpc = std::move(*grpc);
  }
  return self;
}

}  // namespace telltale::hub
