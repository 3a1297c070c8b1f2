// Call sites made once, through core's C interface: its spans may begin here and end there.
#include "prover/daemon/job_trace.hpp"

#include <array>
#include <string_view>
#include <telltale/core/context.hpp>

namespace prover::daemon {
namespace {

telltale_str str(std::string_view s) noexcept {
  return {s.data(), s.size()};
}

telltale_site* site(const char* name, int kind, unsigned line) {
  telltale_site_description d{};
  d.kind = kind;
  d.level = TELLTALE_LEVEL_INFO;
  d.name = str(name);
  d.module = TELLTALE_STR("prover::daemon");
  d.file = str(__FILE__);
  d.line = line;
  return telltale_site_new(&d);
}

telltale_attribute attribute(std::string_view key, std::string_view value) noexcept {
  telltale_attribute a{};
  a.key = str(key);
  a.type = TELLTALE_STRING;
  a.value.string = str(value);
  return a;
}

telltale_attribute attribute(std::string_view key, std::size_t value) noexcept {
  telltale_attribute a{};
  a.key = str(key);
  a.type = TELLTALE_UINT64;
  a.value.uint64 = value;
  return a;
}

}  // namespace

job_trace::job_trace(const job_id& id, const std::string& kind) {
  static telltale_site* const where = site("prove_groth16", TELLTALE_SCOPE_SITE, __LINE__);
  const std::array attributes{attribute("job_id", id.value), attribute("kind", kind),
                              attribute("proof.kind", "groth16")};
  root_ = loose_span(telltale_span_begin(where, attributes.data(), attributes.size(), nullptr));
}

loose_span job_trace::begin_wait(wait what) const {
  static const std::array where{site(name_of(wait::queue), TELLTALE_SPAN_SITE, __LINE__),
                                site(name_of(wait::key), TELLTALE_SPAN_SITE, __LINE__),
                                site(name_of(wait::device), TELLTALE_SPAN_SITE, __LINE__)};
  const telltale_context parent = telltale_span_context(root_.get());
  return loose_span(telltale_span_begin(where[static_cast<std::size_t>(what)], nullptr, 0, &parent));
}

void job_trace::end(outcome how) {
  const std::array attributes{attribute("outcome", telltale_name(how))};
  telltale_span_set(root_.get(), attributes.data(), attributes.size());
  if (how != outcome::completed) telltale_span_fail(root_.get(), str(telltale_name(how)));
  root_ = {};
}

submission_trace::submission_trace(std::size_t bytes)
    : below_caller_(static_cast<bool>(telltale::current_context().trace)) {
  static telltale_site* const where = site("submit", TELLTALE_SPAN_SITE, __LINE__);
  const std::array attributes{attribute("bytes", bytes)};
  span_ = loose_span(telltale_span_begin(where, attributes.data(), attributes.size(), nullptr));
  telltale_span_kind(span_.get(), TELLTALE_KIND_SERVER);
}

// Where the caller has no trace this span is one of its own, and the job's begins with prove_groth16.
void submission_trace::accepted(const job_id& id) {
  if (!below_caller_) return;
  const std::array attributes{attribute("job_id", id.value)};
  telltale_span_set(span_.get(), attributes.data(), attributes.size());
}

}  // namespace prover::daemon
