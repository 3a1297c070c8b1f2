#include "hub/store/open_spans.hpp"

#include <algorithm>

#include "hub/otlp/decode.hpp"
#include "hub/otlp/text.hpp"
#include "hub/store/records.hpp"

namespace telltale::hub {

namespace {

// A lost span as core's flight recorder tells of one: failed, error.type = lost.
std::string lost_request(const span_row& s) {
  const auto keys = [](const attribute_list& list) {
    std::string out;
    for (const auto& [key, value] : list) {
      out += out.empty() ? "" : ",";
      out += R"({"key":)";
      append_json(out, std::string_view(key));
      out += R"(,"value":{)";
      if (std::holds_alternative<bool>(value)) {
        out += R"("boolValue":)";
      } else if (std::holds_alternative<double>(value)) {
        out += R"("doubleValue":)";
      } else if (std::holds_alternative<std::int64_t>(value)) {
        out += R"("intValue":)";
      } else {
        out += R"("stringValue":)";
      }
      append_json(out, value);
      out += "}}";
    }
    return out;
  };
  attribute_list attributes = s.attributes;
  for (const auto& [key, value] : {std::pair("job_id", &s.job_id), std::pair("module_id", &s.module_id),
                                   std::pair("task_id", &s.task_id), std::pair("phase", &s.phase)}) {
    if (!value->empty()) attributes.emplace_back(key, *value);
  }
  attributes.emplace_back("error.type", std::string("lost"));
  attributes.emplace_back("telltale.recovered", std::string("heartbeats_stopped"));
  std::string json =
      R"({"resourceSpans":[{"resource":{"attributes":[)" + keys(s.resource) + R"(]},"scopeSpans":[{"scope":{"name":)";
  append_json(json, std::string_view(s.scope));
  json += R"(},"spans":[{"traceId":")" + to_hex(s.trace) + R"(","spanId":")" + to_hex(s.id) + R"(",)";
  if (s.parent) json += R"("parentSpanId":")" + to_hex(s.parent) + R"(",)";
  json += R"("startTimeUnixNano":")" + std::to_string(s.start_ns) + R"(","endTimeUnixNano":")" +
          std::to_string(s.end_ns()) + R"(","status":{"code":2},"name":)";
  append_json(json, std::string_view(s.name));
  json += R"(,"attributes":[)" + keys(attributes) + "]}]}]}]}";
  auto wire = protobuf_of_json(otlp::signal_kind::traces, json);
  return wire ? std::move(*wire) : std::string{};
}

}  // namespace

void open_spans::follow(const batch& b) {
  const std::lock_guard lock(mutex_);
  for (const span_record& s : b.open) {
    auto row = row_of(s, b);
    if (!row || open_.size() >= most) continue;
    open_[{s.trace, s.id}] = {std::move(*row), clock::now()};
  }
  if (open_.empty()) return;
  for (const span_record& s : b.spans) open_.erase({s.trace, s.id});
}

std::vector<std::shared_ptr<const batch>> open_spans::take_lost(clock::time_point now, std::chrono::seconds patience) {
  std::vector<span_row> lost;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(open_, [&](auto& one) {
      if (now - one.second.seen < patience) return false;
      lost.push_back(std::move(one.second.row));
      return true;
    });
  }
  std::vector<std::shared_ptr<const batch>> out;
  for (const span_row& s : lost) {
    if (auto b = decode(otlp::signal_kind::traces, lost_request(s))) out.push_back(std::move(*b));
  }
  return out;
}

std::vector<span_row> open_spans::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<span_row> out;
  for (const auto& [key, open] : open_) out.push_back(open.row);
  std::sort(out.begin(), out.end(), [](const span_row& a, const span_row& b) { return a.start_ns < b.start_ns; });
  return out;
}

std::vector<span_row> open_spans::of(trace_id id) const {
  const std::lock_guard lock(mutex_);
  std::vector<span_row> out;
  for (const auto& [key, open] : open_) {
    if (key.trace == id) out.push_back(open.row);
  }
  return out;
}

std::size_t open_spans::size() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

}  // namespace telltale::hub
