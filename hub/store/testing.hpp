// Batches for tests, and a directory that goes with the test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "hub/otlp/decode.hpp"
#include "hub/otlp/text.hpp"

namespace telltale::hub::testing {

class temporary_directory {
 public:
  temporary_directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "telltale-hub-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::filesystem::filesystem_error("mkdtemp", {});
    path_ = pattern;
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

struct span_spec {
  std::uint64_t trace = 1;
  std::uint64_t id = 1;
  std::uint64_t parent = 0;
  std::string name = "Prove";
  std::int64_t start_ns = 1'000'000;
  std::int64_t duration_ns = 1000;
  std::string more = {};  // further members of the JSON, each with a comma before it
};

inline std::string json_of(const span_spec& s) {
  std::string out = R"({"traceId":")" + to_hex(trace_id{1, s.trace}) + R"(","spanId":")" + to_hex(span_id{s.id}) + "\"";
  if (s.parent != 0) out += R"(,"parentSpanId":")" + to_hex(span_id{s.parent}) + "\"";
  return out + R"(,"name":")" + s.name + R"(","startTimeUnixNano":")" + std::to_string(s.start_ns) +
         R"(","endTimeUnixNano":")" + std::to_string(s.start_ns + s.duration_ns) + "\"" + s.more + "}";
}

inline std::string request_json(const std::vector<span_spec>& spans) {
  std::string list;
  for (const span_spec& s : spans) list += (list.empty() ? "" : ",") + json_of(s);
  return R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"prover"}}]},)"
         R"("scopeSpans":[{"scope":{"name":"msm"},"spans":[)" +
         list + "]}]}]}";
}

inline std::shared_ptr<const batch> batch_of(otlp::signal_kind signal, const std::string& json) {
  auto wire = protobuf_of_json(signal, json);
  if (!wire) throw std::runtime_error(wire.error().message);
  auto b = decode(signal, std::move(*wire));
  if (!b) throw std::runtime_error(b.error().message);
  return *b;
}
inline std::shared_ptr<const batch> batch_of(const std::vector<span_spec>& spans) {
  return batch_of(otlp::signal_kind::traces, request_json(spans));
}

}  // namespace telltale::hub::testing
