// The OTLP/JSON file: a request a line, one signal each, in the order of the passes.
#include "file.hpp"

#include <unistd.h>

namespace telltale::otlp {

namespace {

constexpr std::size_t chunk_bytes = 256 * 1024;

class file_sink final : public telltale::sink {
 public:
  file_sink(std::unique_ptr<detail::output> out, named_values resource)
      : out_(std::move(out)), values_(std::move(resource)), resource_(encode_resource(encoding::json, values_)) {}

  void on_span(const span_view& s) override {
    last_ns_ = s.end_ns;
    encoder_->add(s);
    if (encoder_->bytes(signal_kind::traces) >= chunk_bytes) submit(signal_kind::traces);
  }
  void on_open_span(const span_view& s) override { encoder_->add_open(s, event_open); }
  void on_log(const log_view& l) override {
    last_ns_ = l.time_ns;
    encoder_->add(l);
    if (encoder_->bytes(signal_kind::logs) >= chunk_bytes) submit(signal_kind::logs);
  }
  void on_loss(const loss_view& l) override {
    encoder_->add_loss(to_string(l.reason), l.count, l.since_ns != 0 ? l.since_ns : last_ns_, l.thread);
  }
  void on_batch_end() override {
    submit(signal_kind::traces);
    submit(signal_kind::logs);
    if (const std::uint64_t untold = out_->take_untold_drops(); untold != 0) {
      encoder_->add_loss("sink_full", untold, last_ns_, nullptr);
      submit(signal_kind::logs);
    }
  }
  bool flush(std::chrono::steady_clock::time_point deadline) override {
    on_batch_end();
    return out_->flush(deadline);
  }
  std::shared_ptr<telltale::sink> for_child() override {
    named_values of_child = values_;
    set_process(of_child, ::getpid());
    return make_file_sink(
        std::make_unique<detail::output>(out_->target()->for_child(), out_->policy(), out_->max_pending()), of_child);
  }
  void on_other_process(std::int64_t pid) override {
    on_batch_end();
    encoder_ = make_encoder(encoding::json);  // it remembers call sites, keys and scopes by their numbers
    set_process(values_, pid);
    resource_ = encode_resource(encoding::json, values_);
  }
  delivery delivered() const override { return out_->delivered(); }
  std::uint64_t dropped() const override { return out_->dropped(); }
  std::uint64_t errors() const override { return out_->errors(); }

 private:
  void submit(signal_kind s) {
    if (encoder_->records(s) == 0) return;
    const chunk c = encoder_->take(s);
    buffer line = make_request(encoding::json, s, resource_, {&c, 1});
    line.append("\n");
    out_->submit(line, c.records);
  }

  std::unique_ptr<detail::output> out_;
  named_values values_;
  std::string resource_;
  std::unique_ptr<encoder> encoder_ = make_encoder(encoding::json);
  std::int64_t last_ns_ = 0;
};

}  // namespace

std::shared_ptr<telltale::sink> make_file_sink(std::unique_ptr<detail::output> out, const named_values& resource) {
  return std::make_shared<file_sink>(std::move(out), resource);
}

}  // namespace telltale::otlp
