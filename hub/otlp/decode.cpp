// The request, its resources and scopes; and the answer to it.
#include "hub/otlp/decode.hpp"

#include <algorithm>

#include "hub/otlp/decoder.hpp"
#include "hub/otlp/text.hpp"

namespace telltale::hub {

bool decoder::request() {
  const auto s = static_cast<std::size_t>(batch_.signal);
  wire_reader r(batch_.body);
  while (r.next()) {
    if (!r.is(otlp::export_request::resources[s].number, wire_type::length)) continue;
    if (!resource(r.bytes())) return false;
  }
  return !r.malformed();
}

bool decoder::resource(std::string_view bytes) {
  const auto s = static_cast<std::size_t>(batch_.signal);
  resource_record record;
  // The resource may stand behind its records.
  for (wire_reader r(bytes); r.next();) {
    if (r.is(otlp::resource_records::resource.number, wire_type::length) && !resource_attributes(record, r.bytes())) {
      return false;
    }
  }
  batch_.resources.push_back(record);
  wire_reader r(bytes);
  while (r.next()) {
    if (r.is(otlp::resource_records::scopes[s].number, wire_type::length) && !scope(r.bytes())) return false;
  }
  return !r.malformed();
}

bool decoder::resource_attributes(resource_record& record, std::string_view bytes) {
  open_object();
  std::uint32_t count = 0;
  std::string_view host;
  std::string_view k8s_node;
  std::string_view pid;
  wire_reader r(bytes);
  while (r.next()) {
    if (!r.is(otlp::resource::attributes.number, wire_type::length)) continue;
    std::string_view key;
    raw_value value;
    if (!key_value(r.bytes(), key, value)) return false;
    const auto as_text = [&] { return scalar_text(value); };
    if (key == "service.name") record.service = as_text();
    if (key == "host.name") host = as_text();
    if (key == "k8s.node.name") k8s_node = as_text();
    if (key == "process.pid") pid = as_text();
    std::string_view* const fields[] = {&record.job_id, &record.module_id, &record.task_id, &record.phase};
    if (const std::size_t p = promoted(key); p < promoted_count) *fields[p] = as_text();
    append_attribute(key, value, count);
  }
  json_ += '}';
  record.json = batch_.text.copy(json_);
  record.node = k8s_node.empty() ? host : k8s_node;
  if (!pid.empty()) {
    scratch_.assign(host);
    scratch_ += '\n';
    scratch_ += pid;
    scratch_ += '\n';
    scratch_ += record.service;
    record.instance = batch_.text.copy(scratch_);
  }
  return !r.malformed();
}

bool decoder::scope(std::string_view bytes) {
  const auto s = static_cast<std::size_t>(batch_.signal);
  std::string_view name;
  for (wire_reader r(bytes); r.next();) {
    if (!r.is(otlp::scope_records::scope.number, wire_type::length)) continue;
    for (wire_reader of_scope(r.bytes()); of_scope.next();) {
      if (of_scope.is(otlp::instrumentation_scope::name.number, wire_type::length)) name = text(of_scope.bytes());
    }
  }
  batch_.scopes.push_back(name);
  wire_reader r(bytes);
  while (r.next()) {
    if (!r.is(otlp::scope_records::records[s].number, wire_type::length)) continue;
    const bool read = batch_.signal == otlp::signal_kind::traces ? span(r.bytes())
                      : batch_.signal == otlp::signal_kind::logs ? log(r.bytes())
                                                                 : metric(r.bytes());
    if (!read) return false;
  }
  return !r.malformed();
}

void decoder::reject(std::string_view what, std::string_view name, std::string_view why) {
  if (batch_.rejected++ != 0) return;
  batch_.why.assign(what);
  if (!name.empty()) {
    batch_.why += " \"";
    batch_.why += cut_to(text(name), 80);
    batch_.why += '"';
  }
  batch_.why += ' ';
  batch_.why += why;
}

void decoder::place(span_record& s, const found& f) const {
  s.resource = resource_index();
  s.scope = scope_index();
  const auto one = [](std::string_view own, std::string_view inherited) { return own.empty() ? inherited : own; };
  s.job_id = one(f.promoted[0], of().job_id);
  s.module_id = one(f.promoted[1], of().module_id);
  s.task_id = one(f.promoted[2], of().task_id);
  s.phase = one(f.promoted[3], of().phase);
}

namespace {

constexpr std::string_view names[otlp::signals] = {"spans", "log records", "metrics"};

void put_varint(std::string& out, std::uint64_t v) {
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  out += static_cast<char>(v);
}

}  // namespace

result<std::shared_ptr<batch>> decode(otlp::signal_kind signal, std::string request, const decode_limits& limits) {
  auto b = std::make_shared<batch>(signal, std::move(request));
  if (!decoder(*b, limits).request()) {
    return error{"the request is no OTLP request with " + std::string(names[static_cast<std::size_t>(signal)]) + ": " +
                 std::to_string(b->body.size()) +
                 " bytes that are no protobuf of that kind. Was it cut, or sent to the wrong path?"};
  }
  return b;
}

std::string answer_protobuf(otlp::signal_kind signal, std::uint64_t rejected, std::string_view why) {
  if (rejected == 0 && why.empty()) return {};
  std::string inner;
  if (rejected != 0) {
    put_varint(inner, otlp::partial_success::rejected[static_cast<std::size_t>(signal)].number << 3);
    put_varint(inner, rejected);
  }
  put_varint(inner, otlp::partial_success::error_message.number << 3 | 2);
  put_varint(inner, why.size());
  inner += why;
  std::string out;
  put_varint(out, otlp::export_response::partial_success.number << 3 | 2);
  put_varint(out, inner.size());
  return out + inner;
}

std::string answer_json(otlp::signal_kind signal, std::uint64_t rejected, std::string_view why) {
  if (rejected == 0 && why.empty()) return "{}";
  std::string out = R"({"partialSuccess":{")";
  out += otlp::partial_success::rejected[static_cast<std::size_t>(signal)].json;
  out += R"(":")" + std::to_string(rejected) + R"(","errorMessage":)";
  append_json(out, why);
  return out + "}}";
}

}  // namespace telltale::hub
