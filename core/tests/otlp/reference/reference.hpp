// OTLP read by the protobuf library: binary, and JSON in OTLP's dialect of it.
#pragma once

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "reference.pb.h"

namespace telltale::testing {

namespace reference = ::telltale::reference;

template <class Request>
Request from_protobuf(std::string_view bytes) {
  Request r;
  EXPECT_TRUE(r.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  return r;
}

inline std::string base64(std::string_view bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t v = 0;
    for (std::size_t k = 0; k < 3; ++k)
      v = v << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += i + k > bytes.size() ? '=' : digits[v >> (18 - 6 * k) & 63];
  }
  return out;
}
inline std::string hex(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}
inline std::string unhex(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    out += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  }
  return out;
}

// OTLP writes ids in hexadecimal where protobuf's own JSON has base64.
inline void make_ids_base64(nlohmann::json& j) {
  if (j.is_array()) {
    for (auto& e : j) make_ids_base64(e);
  } else if (j.is_object()) {
    for (auto& [key, value] : j.items()) {
      if (key == "traceId" || key == "spanId" || key == "parentSpanId") {
        value = base64(unhex(value.get<std::string>()));
      } else {
        make_ids_base64(value);
      }
    }
  }
}

// An unknown field or a value of the wrong type is an error.
template <class Request>
Request from_json(std::string_view text) {
  Request r;
  nlohmann::json j = nlohmann::json::parse(text);
  make_ids_base64(j);
  const auto status = google::protobuf::util::JsonStringToMessage(j.dump(), &r);
  EXPECT_TRUE(status.ok()) << status.ToString() << "\nin " << text.substr(0, 2000);
  return r;
}

inline std::string value_text(const reference::AnyValue& v) {
  switch (v.value_case()) {
    case reference::AnyValue::kStringValue:
      return v.string_value();
    case reference::AnyValue::kBoolValue:
      return v.bool_value() ? "true" : "false";
    case reference::AnyValue::kIntValue:
      return std::to_string(v.int_value());
    case reference::AnyValue::kDoubleValue:
      return "double " + std::to_string(v.double_value());
    case reference::AnyValue::VALUE_NOT_SET:
      break;
  }
  return "(not set)";
}

// Attributes by key; a key that stands twice fails the test.
template <class List>
std::map<std::string, std::string> attributes_of(const List& list) {
  std::map<std::string, std::string> out;
  for (const reference::KeyValue& kv : list) {
    EXPECT_TRUE(out.emplace(kv.key(), value_text(kv.value())).second) << kv.key() << " stands twice";
  }
  return out;
}

}  // namespace telltale::testing
