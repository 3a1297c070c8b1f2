// What answers mean: the specification's lists, and bytes that mean nothing.
#include "answer.hpp"

#include <gtest/gtest.h>

#include <random>

using namespace telltale::otlp;
using kind = answer::kind;

namespace {

kind of_http(long status) {
  reply r;
  r.http_status = status;
  return judge(r, signal_kind::traces, protocol::http_protobuf).what;
}
answer of_grpc(int status, const std::string& details = {}) {
  reply r;
  r.http_status = 200;
  r.grpc_status = status;
  r.grpc_details = details;
  return judge(r, signal_kind::traces, protocol::grpc);
}

TEST(OtlpAnswer, StatusesAreThoseOfTheSpecification) {
  for (const long s : {200, 202, 204}) EXPECT_EQ(of_http(s), kind::delivered) << s;
  for (const long s : {429, 502, 503, 504}) EXPECT_EQ(of_http(s), kind::retry) << s;
  for (const long s : {301, 400, 401, 403, 404, 413, 415, 500, 501}) EXPECT_EQ(of_http(s), kind::refused) << s;
  EXPECT_EQ(of_grpc(0).what, kind::delivered);
  for (const int s : {1, 4, 10, 11, 14, 15}) EXPECT_EQ(of_grpc(s).what, kind::retry) << s;
  for (const int s : {2, 3, 5, 6, 7, 8, 9, 12, 13, 16, 99}) EXPECT_EQ(of_grpc(s).what, kind::refused) << s;
}

TEST(OtlpAnswer, AnExhaustedResourceIsTriedAgainWhereTheAnswerSaysWhen) {
  // google.rpc.Status{code: 8, details: [Any{type.googleapis.com/google.rpc.RetryInfo, RetryInfo{2.5 s}}]}
  const std::string details = "CAgaNgoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIKCggIAhCAyrXuAQ==";
  EXPECT_FALSE(read_retry_info("CAg="));
  EXPECT_FALSE(read_retry_info("not base64!"));
  const auto info = read_retry_info(details);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->count(), 2500);
  EXPECT_EQ(of_grpc(8, details).what, kind::retry);
  EXPECT_EQ(of_grpc(8, details).wait.count(), 2500);
}

TEST(OtlpAnswer, AnHttpServerThatSpeaksNoGrpcIsRefused) {
  reply r;
  r.http_status = 200;
  EXPECT_EQ(judge(r, signal_kind::traces, protocol::grpc).what, kind::refused);
  r.speaks_grpc = true;  // its trailers are missing: it went away amid the answer
  EXPECT_EQ(judge(r, signal_kind::traces, protocol::grpc).what, kind::retry);
}

TEST(OtlpAnswer, PartialSuccessIsReadInEveryProtocol) {
  const std::string message("\x0a\x07\x08\x03\x12\x03old", 9);
  EXPECT_EQ(read_partial_success(message, signal_kind::logs, protocol::http_protobuf).rejected, 3u);
  EXPECT_EQ(read_partial_success(message, signal_kind::logs, protocol::http_protobuf).message, "old");
  EXPECT_EQ(read_partial_success(std::string("\0\0\0\0\x09", 5) + message, signal_kind::logs, protocol::grpc).rejected,
            3u);
  for (const char* json : {R"({"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"old"}})",
                           R"({"partialSuccess":{"rejectedLogRecords":3,"errorMessage":"old"}})"}) {
    EXPECT_EQ(read_partial_success(json, signal_kind::logs, protocol::http_json).rejected, 3u);
    EXPECT_EQ(read_partial_success(json, signal_kind::logs, protocol::http_json).message, "old");
  }
  for (const char* json :
       {"", "{", "[]", "3", R"({"partialSuccess":3})", R"({"partialSuccess":{"rejectedLogRecords":"x"}})",
        R"({"partialSuccess":{"rejectedLogRecords":-4}})"}) {
    EXPECT_EQ(read_partial_success(json, signal_kind::logs, protocol::http_json).rejected, 0u) << json;
  }
}

TEST(OtlpAnswer, RandomBytesMeanNothingAndBreakNothing) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 64, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    for (const protocol p : {protocol::grpc, protocol::http_protobuf, protocol::http_json}) {
      EXPECT_LE(read_partial_success(bytes, signal_kind::traces, p).rejected,
                static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    }
    if (const auto wait = read_retry_info(bytes)) {
      EXPECT_LE(wait->count(), 3'601'000);
    }
  }
}

}  // namespace
