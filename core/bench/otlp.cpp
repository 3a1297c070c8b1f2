// Spans to OTLP bytes: our encoder beside the protobuf library filling messages of the same fields from the same views
// and serialising them. One thread, the wall of alternating batches.
#include <thread>

#include "core/bench/figures.hpp"
#include "core/bench/paired.hpp"
#include "otlp/encode.hpp"
#include "reference.pb.h"

namespace telltale::bench {

namespace {

constexpr int spans_per_batch = 800;  // a chunk of the sink's: 256 KiB
constexpr int batches = 201;

// Spans of one call site, as the drain hands them out.
struct views {
  views() {
    site.id = 1;
    site.name = "msm.window";
    site.module = "prover::msm";
    site.file = "prover/src/msm.cpp";
    site.line = 128;
    site.attributes = {
        {"n", attribute_type::uint64, 1}, {"share", attribute_type::float64, 2}, {"device", attribute_type::string, 3}};
    scope_site = site;
    scope_site.id = 2;
    scope = std::make_shared<scope_info>();
    scope->id = 1;
    scope->site = &scope_site;
    scope->attributes = {text("job_id", "c1a0d8a5-0f62-4b1e-9d1b-0f7f9f0a3c55", 4)};
    thread = {1, 4711, "worker-3"};
  }
  static attribute_view text(std::string_view key, std::string_view value, std::uint32_t number) {
    attribute_view a;
    a.key = key;
    a.type = attribute_type::string;
    a.text = value;
    a.key_number = number;
    return a;
  }
  template <class F>
  void each(F f) {
    for (int i = 0; i < spans_per_batch; ++i) {
      const auto n = static_cast<std::uint64_t>(i);
      attributes[0] = {"n", attribute_type::uint64, false, n << 12, {}, 1};
      attributes[1] = {"share", attribute_type::float64, false, 0x3fe0000000000000, {}, 2};
      attributes[2] = text("device", "cuda:0 stream 42", 3);
      f(span_view{site,
                  scope.get(),
                  thread,
                  {0x0123456789abcdef, n * 0x9e3779b97f4a7c15},
                  {n + 1},
                  {n + 2},
                  1'780'000'000'000'000'000 + i,
                  1'780'000'000'000'002'000 + i,
                  false,
                  false,
                  span_kind::internal,
                  attributes,
                  {},
                  {}});
    }
  }
  site_info site;
  site_info scope_site;
  std::shared_ptr<scope_info> scope;
  thread_info thread;
  attribute_view attributes[3];
};

std::string bytes_of(std::uint64_t v) {
  std::string out(8, '\0');
  v = __builtin_bswap64(v);
  std::memcpy(out.data(), &v, 8);
  return out;
}

void set_value(reference::AnyValue& to, const attribute_view& a) {
  switch (a.type) {
    case attribute_type::boolean:
      to.set_bool_value(a.bits != 0);
      break;
    case attribute_type::int64:
    case attribute_type::uint64:
      to.set_int_value(static_cast<std::int64_t>(a.bits));
      break;
    case attribute_type::float64:
      to.set_double_value(std::bit_cast<double>(a.bits));
      break;
    case attribute_type::string:
      to.set_string_value(a.text.data(), a.text.size());
      break;
  }
}

// As an exporter over the protobuf library does it; the message is used again, which spares it most allocations.
class peer {
 public:
  peer() {
    scope_ = request_.add_resource_spans()->add_scope_spans();
    auto* name = request_.mutable_resource_spans(0)->mutable_resource()->add_attributes();
    name->set_key("service.name");
    name->mutable_value()->set_string_value("bench");
    scope_->mutable_scope()->set_name("prover::msm");
  }
  void add(const span_view& s) {
    reference::Span& to = *scope_->add_spans();
    to.set_trace_id(bytes_of(s.trace.high) + bytes_of(s.trace.low));
    to.set_span_id(bytes_of(s.span.value));
    to.set_parent_span_id(bytes_of(s.parent.value));
    to.set_flags(1);
    to.set_name(s.site.name);
    to.set_kind(reference::Span::INTERNAL);
    to.set_start_time_unix_nano(static_cast<std::uint64_t>(s.begin_ns));
    to.set_end_time_unix_nano(static_cast<std::uint64_t>(s.end_ns));
    const auto put = [&](const attribute_view& a) {
      auto* kv = to.add_attributes();
      kv->set_key(a.key.data(), a.key.size());
      set_value(*kv->mutable_value(), a);
    };
    for (const attribute_view& a : s.attributes) put(a);
    for (const attribute_view& a : s.scope->attributes) put(a);
    attribute_view number;
    number.key = "code.line.number";
    number.bits = s.site.line;
    put(views::text("telltale.level", "info", 0));
    put(views::text("code.file.path", s.site.file, 0));
    put(number);
    number.key = "thread.id";
    number.bits = static_cast<std::uint64_t>(s.thread.os_id);
    put(number);
    put(views::text("thread.name", s.thread.name, 0));
  }
  const std::string& take() {
    request_.SerializeToString(&bytes_);
    scope_->clear_spans();
    return bytes_;
  }

 private:
  reference::TracesRequest request_;
  reference::ScopeSpans* scope_;
  std::string bytes_;
};

}  // namespace

void add_otlp_figures(report& r) {
  views source;
  const auto ours = otlp::make_encoder(otlp::encoding::protobuf);
  const auto json = otlp::make_encoder(otlp::encoding::json);
  const std::string resource =
      otlp::encode_resource(otlp::encoding::protobuf, {{"service.name", std::string("bench")}});
  peer theirs;
  paired p;
  std::vector<double> as_json;
  std::size_t bytes = 0;  // nothing must be optimised away
  const auto per_span = [](auto f) { return timed([&](std::uint64_t) { f(); }, 1) / spans_per_batch; };
  for (int k = 0; k < batches; ++k) {
    // On a thread, which has a heap of its own: what it frees would else be tidied up by our next large allocation.
    std::thread([&] {
      p.floor.push_back(per_span([&] {
        source.each([&](const span_view& s) { theirs.add(s); });
        bytes += theirs.take().size();
      }));
    }).join();
    p.ours.push_back(per_span([&] {
      source.each([&](const span_view& s) { ours->add(s); });
      const otlp::chunk c = ours->take(otlp::signal_kind::traces);
      bytes += otlp::make_request(otlp::encoding::protobuf, otlp::signal_kind::traces, resource, {&c, 1}).size();
    }));
    as_json.push_back(per_span([&] {
      source.each([&](const span_view& s) { json->add(s); });
      bytes += json->take(otlp::signal_kind::traces).bytes.size();
    }));
  }
  const double nanoseconds = spread_of(p.ours).median;
  r.add({.name = "OTLP, spans encoded per core",
         .value = 1e9 / nanoseconds,
         .unit = "/s",
         .reference = "protobuf library",
         .reference_value = 1e9 / spread_of(p.floor).median,
         .bar = value_at_least(1e6)});
  r.add({.name = "OTLP/JSON, spans encoded per core",
         .value = 1e9 / spread_of(as_json).median,
         .unit = "/s",
         .bar = value_at_least(0.5e6)});
  asm volatile("" : : "r"(bytes));
}

}  // namespace telltale::bench
