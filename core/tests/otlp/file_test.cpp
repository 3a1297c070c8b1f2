// TELLTALE_SINKS=otlp_file:PATH: every line is a request that the protobuf library reads.
#include <cstdlib>
#include <fstream>

#include "recorded.hpp"
#include "reference.hpp"
#include "support/process.hpp"

TELLTALE_MODULE("out::file");
using namespace telltale::literals;
using namespace telltale::testing;

namespace {

class variables {
 public:
  explicit variables(const std::map<std::string, std::string>& all) : all_(all) {
    for (const auto& [name, value] : all_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~variables() {
    for (const auto& [name, value] : all_) ::unsetenv(name.c_str());
  }
  variables(const variables&) = delete;
  variables& operator=(const variables&) = delete;

 private:
  std::map<std::string, std::string> all_;
};

telltale::result<void> start_with(const std::string& sinks) {
  telltale::options o;
  o.sinks = sinks;
  o.overhead = 0;  // each record
  return telltale::start(o);
}

TEST(OtlpFile, EveryLineIsARequest) {
  const variables set({{"OTEL_SERVICE_NAME", "prover"},
                       {"OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test, service.name=other,a=b%2Cc"}});
  const temporary_directory dir;
  ASSERT_TRUE(start_with("otlp_file:" + (dir / "out.jsonl")));
  {
    TELLTALE_SPAN("msm");
    TELLTALE_INFO("line");
  }
  ASSERT_TRUE(telltale::flush());
  ASSERT_TRUE(start_with("none"));

  std::ifstream file(dir / "out.jsonl");
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(R"({"resourceSpans")")) {
      const auto request = from_json<reference::TracesRequest>(line);
      auto resource = attributes_of(request.resource_spans(0).resource().attributes());
      EXPECT_EQ(resource["service.name"], "prover");
      EXPECT_EQ(resource["deployment.environment.name"], "test");
      EXPECT_EQ(resource["a"], "b,c");
      EXPECT_EQ(resource["process.pid"], std::to_string(::getpid()));
      EXPECT_EQ(resource["telemetry.sdk.name"], "telltale");
      for (const auto& s : request.resource_spans(0).scope_spans(0).spans()) names.push_back(s.name());
    } else {
      const auto request = from_json<reference::LogsRequest>(line);
      for (const auto& l : request.resource_logs(0).scope_logs(0).log_records()) {
        names.push_back(l.body().string_value());
      }
    }
  }
  EXPECT_EQ(std::multiset<std::string>(names.begin(), names.end()), (std::multiset<std::string>{"line", "msm"}));
}

TEST(OtlpFile, ResourceAttributesThatAreNoneAreAnErrorThatNamesThem) {
  for (const char* bad : {"novalue", "a=b,=c", "a=%zz", "a=%4", "a=%"}) {
    const variables set(std::map<std::string, std::string>{{"OTEL_RESOURCE_ATTRIBUTES", bad}});
    const auto started = start_with("otlp_file:/dev/null");
    ASSERT_FALSE(started) << bad;
    EXPECT_NE(started.error().message.find("OTEL_RESOURCE_ATTRIBUTES"), std::string::npos) << started.error().message;
  }
}

TEST(OtlpFile, TheServiceIsTheProgramWhereNobodyNamesIt) {
  const temporary_directory dir;
  ASSERT_TRUE(start_with("otlp_file:" + (dir / "out.jsonl")));
  TELLTALE_INFO("line");
  ASSERT_TRUE(telltale::flush());
  ASSERT_TRUE(start_with("none"));
  EXPECT_NE(contents(dir / "out.jsonl").find("unknown_service:core_otlp_file_"), std::string::npos);
}

}  // namespace
