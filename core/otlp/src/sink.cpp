// The sink: encodes on the drain's thread, hands chunks to the sending thread. And the library's one exported function.
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <telltale/core/runtime.hpp>

#include "engine.hpp"
#include "exporter.hpp"
#include "otlp/file.hpp"
#include "sinks/elsewhere.hpp"

namespace telltale::otlp {

namespace {

constexpr std::size_t chunk_bytes = 256 * 1024;

class otlp_sink final : public telltale::sink {
 public:
  otlp_sink(settings s, named_values resource) : resource_(std::move(resource)), out_(std::move(s), resource_) {
    make_encoders();
  }

  void on_span(const span_view& s) override {
    last_ns_ = s.end_ns;
    if (!on(signal_kind::traces)) return;
    encoders_[0]->add(s);
    submit_full(signal_kind::traces);
  }
  void on_open_span(const span_view& s) override {
    if (on(signal_kind::logs)) encoders_[1]->add_open(s, event_open);
  }
  void on_heartbeat(const span_view& s) override {
    if (on(signal_kind::logs)) encoders_[1]->add_open(s, event_heartbeat);
  }
  void on_log(const log_view& l) override {
    last_ns_ = l.time_ns;
    if (!on(signal_kind::logs)) return;
    encoders_[1]->add(l);
    submit_full(signal_kind::logs);
  }
  void on_loss(const loss_view& l) override {
    if (!on(signal_kind::logs)) return;
    encoders_[1]->add_loss(to_string(l.reason), l.count, l.since_ns != 0 ? l.since_ns : last_ns_, l.thread);
  }
  void on_batch_end() override {
    if (const std::uint64_t untold = out_.take_untold_drops(); untold != 0 && on(signal_kind::logs)) {
      encoders_[1]->add_loss("not_delivered", untold, last_ns_, nullptr);
    }
    submit(signal_kind::traces);
    submit(signal_kind::logs);
  }
  bool flush(std::chrono::steady_clock::time_point deadline) override {
    on_batch_end();
    return out_.flush(deadline);
  }
  std::shared_ptr<telltale::sink> for_child() override {
    named_values of_child = resource_;
    set_process(of_child, ::getpid());
    return std::make_shared<otlp_sink>(out_.configuration(), std::move(of_child));
  }
  void on_other_process(std::int64_t pid) override {
    on_batch_end();
    make_encoders();  // they remember call sites, keys and scopes by their numbers
    set_process(resource_, pid);
    out_.set_resource(resource_);
  }
  delivery delivered() const override { return out_.delivered(); }
  std::uint64_t dropped() const override { return out_.dropped(); }
  std::uint64_t errors() const override { return out_.errors(); }
  std::uint64_t retries() const override { return out_.retries(); }
  std::uint64_t spooled_bytes() const override { return out_.spooled_bytes(); }

 private:
  void make_encoders() {
    for (std::size_t i = 0; i < 2; ++i) {
      encoders_[i] = make_encoder(exporter::encoding_of(out_.configuration().targets[i]));
    }
  }
  bool on(signal_kind k) const noexcept { return out_.configuration().targets[static_cast<std::size_t>(k)].on; }
  encoder& of(signal_kind k) noexcept { return *encoders_[static_cast<std::size_t>(k)]; }
  void submit_full(signal_kind k) {
    const encoder& e = of(k);
    if (e.bytes(k) >= chunk_bytes || e.records(k) >= out_.configuration().batch_records) submit(k);
  }
  void submit(signal_kind k) {
    if (of(k).records(k) != 0) out_.submit(k, of(k).take(k));
  }

  named_values resource_;
  exporter out_;
  std::unique_ptr<encoder> encoders_[2];  // spans, lines: each in its receiver's encoding
  std::int64_t last_ns_ = 0;
};

// OpenSSL takes itself down in exit(), before this library's own end: what goes out encrypted must be gone by then, and
// nothing may use it afterwards.
void end_before_openssl() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::atexit([] {
      telltale::flush(detail::engine::exit_timeout());
      exporter::end_encrypted(std::chrono::milliseconds(0));
    });
  });
}

result<std::shared_ptr<telltale::sink>> make(detail::sink_words words) {
  const auto off = switched_off();
  if (!off) return words.bad(off.error().message);
  auto s = read_settings(words);
  if (!s) return s.error();
  auto resource = resource_from_environment();
  if (!resource) return words.bad(resource.error().message);
  if (*off) return std::shared_ptr<telltale::sink>();
  transport first;  // libcurl and what it needs are set up here, on a thread that may wait
  if (s->encrypts()) end_before_openssl();
  return std::shared_ptr<telltale::sink>(std::make_shared<otlp_sink>(std::move(*s), std::move(*resource)));
}

}  // namespace

}  // namespace telltale::otlp

// detail::otlp_maker
extern "C" TELLTALE_EXPORT void telltale_make_otlp_sink_1(telltale::detail::sink_words& words,
                                                          telltale::result<std::shared_ptr<telltale::sink>>& made);
void telltale_make_otlp_sink_1(telltale::detail::sink_words& words,
                               telltale::result<std::shared_ptr<telltale::sink>>& made) {
  made = telltale::otlp::make(std::move(words));
}
