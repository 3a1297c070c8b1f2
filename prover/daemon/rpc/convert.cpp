// Between the API's messages and our own types.
#include "prover/daemon/rpc/convert.hpp"

namespace prover::daemon::rpc {

std::optional<request> from(const api::SubmitRequest& r) {
  request out;
  out.kind = r.kind();
  out.idempotency_key = r.idempotency_key();
  for (const api::Payload& p : r.payloads()) {
    switch (p.form_case()) {
      case api::Payload::kWtns:
        out.payloads.push_back({payload_form::wtns, bytes_of(p.wtns())});
        break;
      case api::Payload::kInputs:
        out.payloads.push_back({payload_form::inputs, bytes_of(p.inputs())});
        break;
      case api::Payload::FORM_NOT_SET:
        return std::nullopt;
    }
  }
  if (!api::Priority_IsValid(r.priority()) || r.deadline_ms() < 0) return std::nullopt;
  if (r.priority() != api::PRIORITY_UNSPECIFIED) out.priority = static_cast<priority>(r.priority() - 1);
  if (r.deadline_ms() != 0) out.deadline = from_ms(r.deadline_ms());
  return out;
}

void fill(const request& r, api::SubmitRequest& out) {
  out.set_kind(r.kind);
  out.set_idempotency_key(r.idempotency_key);
  for (const payload& p : r.payloads) {
    const auto* content = reinterpret_cast<const char*>(p.content.data());
    if (p.form == payload_form::wtns) {
      out.add_payloads()->set_wtns(content, p.content.size());
    } else {
      out.add_payloads()->set_inputs(content, p.content.size());
    }
  }
  if (r.priority) out.set_priority(static_cast<api::Priority>(static_cast<int>(*r.priority) + 1));
  if (r.deadline) {
    // At least one: 0 would be the kind's.
    out.set_deadline_ms(
        std::max<std::int64_t>(1, std::chrono::duration_cast<std::chrono::milliseconds>(*r.deadline).count()));
  }
}

void fill(const job_id& id, const job_result& r, api::Result& out) {
  out.set_job_id(id.value);
  out.set_outcome(static_cast<api::Result::Outcome>(static_cast<int>(r.how) + 1));
  if (r.why.what != failure_class::none) out.set_failure(std::string(telltale_name(r.why.what)));
  out.set_message(r.why.message);
  for (const proof_text& p : r.proofs) {
    api::Proof* proof = out.add_proofs();
    proof->set_proof(p.proof);
    proof->set_signals(p.signals);
  }
  out.set_total_ns(r.times.total.count());
  for (const phase_time& p : r.times.phases) {
    api::Phase* phase = out.add_phases();
    phase->set_name(p.name);
    phase->set_count(p.count);
    phase->set_wall_ns(p.wall.count());
    phase->set_busy_ns(p.busy.count());
  }
  out.set_device(r.device);
  out.set_attempts(r.attempts);
  out.set_cold(r.cold);
}

job_result from(const api::Result& r) {
  job_result out;
  const int how = r.outcome() - 1;
  out.how = how >= 0 && how <= static_cast<int>(outcome::expired) ? static_cast<outcome>(how) : outcome::failed;
  out.why.what =
      r.failure().empty() ? failure_class::none : named(r.failure(), failure_class::internal, failure_class::internal);
  out.why.message = r.message();
  for (const api::Proof& p : r.proofs()) out.proofs.push_back({p.proof(), p.signals()});
  out.times.total = nanoseconds(r.total_ns());
  for (const api::Phase& p : r.phases()) {
    out.times.phases.push_back({p.name(), p.count(), nanoseconds(p.wall_ns()), nanoseconds(p.busy_ns())});
  }
  out.device = r.device();
  out.attempts = r.attempts();
  out.cold = r.cold();
  return out;
}

void fill(const job_view& v, api::Job& out) {
  out.set_job_id(v.id.value);
  out.set_kind(v.kind);
  out.set_state(std::string(telltale_name(v.state)));
  out.set_priority(std::string(telltale_name(v.priority)));
  out.set_waits_for(std::string(telltale_name(v.waits_for)));
  out.set_explanation(v.explanation);
  out.set_phase(v.phase);
  out.set_phase_ns(v.phase_age.count());
  out.set_slow(v.slow);
  out.set_device(v.device);
  out.set_payloads(v.payloads);
  out.set_done(v.done);
  out.set_attempts(v.attempts);
  out.set_cancelling(v.cancelling);
  out.set_accepted_unix_ns(std::chrono::duration_cast<nanoseconds>(v.accepted.time_since_epoch()).count());
  out.set_age_ns(v.age.count());
  if (v.left) out.set_left_ns(v.left->count());
  if (v.state == job_state::finished) out.set_outcome(std::string(telltale_name(v.how)));
}

job_view from(const api::Job& j) {
  job_view out;
  out.id = {j.job_id()};
  out.kind = j.kind();
  out.state = named(j.state(), job_state::finished, job_state::queued);
  out.priority = named(j.priority(), priority::urgent, priority::normal);
  out.waits_for = named(j.waits_for(), wait_reason::journal, wait_reason::none);
  out.explanation = j.explanation();
  out.phase = j.phase();
  out.phase_age = nanoseconds(j.phase_ns());
  out.slow = j.slow();
  out.device = j.device();
  out.payloads = j.payloads();
  out.done = j.done();
  out.attempts = j.attempts();
  out.cancelling = j.cancelling();
  out.accepted = wall_time(std::chrono::duration_cast<wall_time::duration>(nanoseconds(j.accepted_unix_ns())));
  out.age = nanoseconds(j.age_ns());
  if (j.left_ns() != 0) out.left = nanoseconds(j.left_ns());
  out.how = named(j.outcome(), outcome::expired, outcome::failed);
  return out;
}

}  // namespace prover::daemon::rpc
