// The hub over its sockets: what exporters send, what strangers send, and core's own sink over gRPC.
#include "hub/server.hpp"

#include <curl/curl.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <telltale/core/telltale.hpp>

#include "hub/store/testing.hpp"

namespace telltale::hub {
namespace {

using testing::request_json;
using testing::temporary_directory;

struct answer {
  long status = 0;
  std::string body;
};

struct request {
  std::string path = "/v1/traces";
  std::string body = {};
  std::vector<std::string> headers = {"Content-Type: application/json"};
  bool get = false;
};

answer ask(std::uint16_t port, const request& r) {
  answer out;
  CURL* c = ::curl_easy_init();
  curl_slist* headers = ::curl_slist_append(nullptr, "Expect:");
  for (const std::string& h : r.headers) headers = ::curl_slist_append(headers, h.c_str());
  ::curl_easy_setopt(c, CURLOPT_URL, ("http://127.0.0.1:" + std::to_string(port) + r.path).c_str());
  ::curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
  if (!r.get) {
    ::curl_easy_setopt(c, CURLOPT_POSTFIELDS, r.body.data());
    ::curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(r.body.size()));
  }
  ::curl_easy_setopt(c, CURLOPT_WRITEDATA, &out.body);
  ::curl_easy_setopt(
      c, CURLOPT_WRITEFUNCTION, +[](char* p, std::size_t size, std::size_t n, void* to) {
        static_cast<std::string*>(to)->append(p, size * n);
        return size * n;
      });
  ::curl_easy_perform(c);
  ::curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &out.status);
  ::curl_slist_free_all(headers);
  ::curl_easy_cleanup(c);
  return out;
}

// One call of gRPC's, by hand: its status, as the trailer says it.
std::string call(int port, const std::string& message, bool is_packed) {
  std::string frame(1, is_packed ? '\1' : '\0');
  for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(message.size() >> shift & 255);
  frame += message;
  CURL* c = ::curl_easy_init();
  curl_slist* headers = nullptr;
  for (const char* h : {"Content-Type: application/grpc", "TE: trailers", "grpc-encoding: gzip", "Expect:"}) {
    headers = ::curl_slist_append(headers, h);
  }
  const std::string url =
      "http://127.0.0.1:" + std::to_string(port) + "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
  std::string head;
  const auto take = +[](char* p, std::size_t size, std::size_t n, void* to) {
    if (to != nullptr) static_cast<std::string*>(to)->append(p, size * n);
    return size * n;
  };
  ::curl_easy_setopt(c, CURLOPT_URL, url.c_str());
  ::curl_easy_setopt(c, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
  ::curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
  ::curl_easy_setopt(c, CURLOPT_POSTFIELDS, frame.data());
  ::curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(frame.size()));
  ::curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take);
  ::curl_easy_setopt(c, CURLOPT_HEADERDATA, &head);
  ::curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take);
  ::curl_easy_setopt(c, CURLOPT_WRITEDATA, nullptr);
  ::curl_easy_perform(c);
  ::curl_slist_free_all(headers);
  ::curl_easy_cleanup(c);
  const std::size_t at = head.find("grpc-status: ");
  return at == std::string::npos ? head : head.substr(at + 13, head.find('\r', at) - at - 13);
}

std::string packed(std::string_view s) {
  z_stream z{};
  ::deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(::deflateBound(&z, s.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(s.data()));
  z.avail_in = static_cast<uInt>(s.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  ::deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  ::deflateEnd(&z);
  return out;
}

class Hub : public ::testing::Test {
 protected:
  void start(configuration c = {}) {
    c.store.directory = directory_.path();
    c.http.listen = {"127.0.0.1:0"};
    c.grpc.listen = {"127.0.0.1:0"};
    auto s = server::start(std::move(c));
    ASSERT_TRUE(s) << s.error().message;
    hub_ = std::move(*s);
    port_ = hub_->http().ports().at(0);
  }
  std::size_t spans() {
    hub_->kept()->settle();
    return hub_->kept()->stats().spans;
  }

  temporary_directory directory_;
  std::unique_ptr<server> hub_;
  std::uint16_t port_ = 0;
};

TEST_F(Hub, TakesWhatExportersSend) {
  start();
  const std::string json = request_json({{1, 10}});
  const auto wire = protobuf_of_json(otlp::signal_kind::traces, request_json({{1, 11}}));
  EXPECT_EQ(ask(port_, {.body = json}).body, "{}");
  EXPECT_EQ(ask(port_, {.body = request_json({{1, 12}}),
                        .headers = {"Content-Type: application/json; charset=utf-8", "Transfer-Encoding: chunked"}})
                .status,
            200);
  EXPECT_EQ(ask(port_, {.body = *wire, .headers = {"Content-Type: application/x-protobuf"}}).status, 200);
  const auto other = protobuf_of_json(otlp::signal_kind::traces, request_json({{1, 13}}));
  EXPECT_EQ(ask(port_,
                {.body = packed(*other), .headers = {"Content-Type: application/x-protobuf", "Content-Encoding: gzip"}})
                .status,
            200);
  EXPECT_EQ(spans(), 4u);
}

TEST_F(Hub, SaysWhatItLeftOut) {
  start();
  const answer a = ask(port_, {.body = request_json({{1, 10}, {1, 0}})});
  EXPECT_EQ(a.status, 200);
  EXPECT_EQ(a.body, R"({"partialSuccess":{"rejectedSpans":"1","errorMessage":"span \"Prove\" has an id of zeros"}})");
  EXPECT_EQ(spans(), 1u);
}

TEST_F(Hub, RefusesWhatItCannotTake) {
  configuration c;
  c.http.max_body = c.grpc.max_body = 100'000;
  start(std::move(c));
  const std::vector<std::string> proto = {"Content-Type: application/x-protobuf"};
  EXPECT_EQ(ask(port_, {.body = "x", .headers = {"Content-Type: text/plain"}}).status, 415);
  EXPECT_EQ(ask(port_, {.body = "{"}).status, 400);
  EXPECT_EQ(ask(port_, {.body = "\x0a\xff", .headers = proto}).status, 400);
  EXPECT_EQ(ask(port_, {.body = std::string(200'000, 'x'), .headers = proto}).status, 413);
  EXPECT_EQ(ask(port_, {.body = std::string(150'000, 'x'),
                        .headers = {"Content-Type: application/x-protobuf", "Transfer-Encoding: chunked"}})
                .status,
            413);
  const answer bomb = ask(port_, {.body = packed(std::string(20'000'000, '\0')),
                                  .headers = {"Content-Type: application/x-protobuf", "Content-Encoding: gzip"}});
  EXPECT_EQ(bomb.status, 413);
  EXPECT_NE(bomb.body.find("unpacks to more than 100000 bytes"), std::string::npos) << bomb.body;
  EXPECT_EQ(ask(port_, {.body = "no gzip", .headers = {"Content-Encoding: gzip"}}).status, 400);
  EXPECT_EQ(ask(port_, {.body = "x", .headers = {"Content-Encoding: br"}}).status, 415);
  const int grpc = hub_->grpc_ports().at(0);
  const std::string resource_exhausted = "8";
  const std::string invalid_argument = "3";
  EXPECT_EQ(call(grpc, packed(std::string(20'000'000, '\0')), true), resource_exhausted);
  EXPECT_EQ(call(grpc, std::string(200'000, 'x'), false), resource_exhausted);
  EXPECT_EQ(call(grpc, "\x0a\xff", false), invalid_argument);
  EXPECT_EQ(ask(port_, {.path = "/v1/traces", .get = true}).status, 405);
  EXPECT_EQ(ask(port_, {.path = "/nothing", .get = true}).status, 404);
  EXPECT_EQ(spans(), 0u);
  const auto good = protobuf_of_json(otlp::signal_kind::traces, request_json({{1, 10}}));
  EXPECT_EQ(call(grpc, packed(*good), true), "0");
  EXPECT_EQ(spans(), 1u);
}

TEST_F(Hub, WantsItsToken) {
  configuration c;
  c.http.token = c.grpc.token = "secret";
  start(std::move(c));
  EXPECT_EQ(ask(port_, {.body = request_json({{1, 10}})}).status, 401);
  EXPECT_EQ(ask(port_, {.path = "/metrics", .headers = {"Authorization: Bearer secreT"}, .get = true}).status, 401);
  EXPECT_EQ(ask(port_, {.body = request_json({{1, 10}}),
                        .headers = {"Content-Type: application/json", "Authorization: Bearer secret"}})
                .status,
            200);
  EXPECT_EQ(ask(port_, {.path = "/healthz", .get = true}).body, "ok\n");
}

TEST_F(Hub, CountsItself) {
  start();
  ask(port_, {.body = request_json({{1, 10}, {1, 0}})});
  spans();
  const std::string m = ask(port_, {.path = "/metrics", .get = true}).body;
  for (const char* line :
       {"telltale_hub_records_total{signal=\"traces\"} 1\n", "telltale_hub_rejected_total{signal=\"traces\"} 1\n",
        "telltale_hub_store_records{kind=\"spans\"} 1\n", "telltale_hub_open_spans 0\n"}) {
    EXPECT_NE(m.find(line), std::string::npos) << line << m;
  }
}

TEST_F(Hub, SendsOnWhatItGets) {
  start();
  const temporary_directory second;
  configuration c;
  c.store.directory = second.path();
  c.http.listen = {"127.0.0.1:0"};
  c.grpc.listen = {};
  c.forward.url = "http://127.0.0.1:" + std::to_string(port_);
  {
    const auto first = server::start(c);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(ask((*first)->http().ports().at(0), {.body = request_json({{1, 10}})}).status, 200);
    (*first)->kept()->settle();
    EXPECT_EQ((*first)->kept()->stats().spans, 1u);
  }  // its end delivers what waits
  EXPECT_EQ(spans(), 1u);
}

class CoreSink : public Hub, public ::testing::WithParamInterface<const char*> {};

// Core's exporter, which knows nothing of the hub: names, attributes and relations arrive as they were.
TEST_P(CoreSink, IsUnderstood) {
  start();
  const bool grpc = std::string_view(GetParam()) == "grpc";
  const std::string port = std::to_string(grpc ? hub_->grpc_ports().at(0) : port_);
  options o;
  o.sinks = "otlp:http://127.0.0.1:" + port + "?protocol=" + GetParam();
  const auto recording = telltale::start(o);
  ASSERT_TRUE(recording) << recording.error().message;
  {
    TELLTALE_SPAN("outer", "job_id"_a = "j7", "n"_a = 5);
    TELLTALE_SPAN_AS(inner, info, "inner");
    inner.fail("broken");
    TELLTALE_INFO("a line");
  }
  ASSERT_TRUE(flush(std::chrono::seconds(20)));
  o.sinks = "none";
  ASSERT_TRUE(telltale::start(o));
  EXPECT_EQ(spans(), 2u);
  const auto found = hub_->kept()->spans("job_id = 'j7' AND name = 'outer'", "", 10);
  ASSERT_TRUE(found && found->size() == 1u);
  const auto t = hub_->kept()->trace(found->at(0).trace);
  ASSERT_TRUE(t && t->size() == 2u);
  EXPECT_EQ((*t)[1].parent, (*t)[0].id);
  EXPECT_EQ((*t)[1].status, status_code::error);
  const auto lines = hub_->kept()->logs("body = 'a line'", "", 10);
  ASSERT_TRUE(lines && lines->size() == 1u);
  EXPECT_EQ(lines->at(0).span, (*t)[1].id);
}

INSTANTIATE_TEST_SUITE_P(Protocols, CoreSink, ::testing::Values("grpc", "http/protobuf", "http/json"),
                         [](const auto& p) {
                           std::string name = p.param;
                           for (char& c : name) c = c == '/' ? '_' : c;
                           return name;
                         });

TEST(Configuration, ReadsBackWhatItPrints) {
  const auto c = read_configuration(R"(
[store]
directory = "/x"
fsync = "interval"
max_bytes = "2GiB"
max_age = "48h"
[http]
listen = ["127.0.0.1:1"]
[limits]
attributes = 7
)",
                                    "hub.toml");
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->store.max_bytes, 2u << 30);
  EXPECT_EQ(c->store.max_age_seconds, 48 * 3600);
  EXPECT_EQ(c->limits.attributes, 7u);
  const auto again = read_configuration(print_configuration(*c), "printed");
  ASSERT_TRUE(again) << again.error().message << print_configuration(*c);
  EXPECT_EQ(print_configuration(*again), print_configuration(*c));
}

TEST(Configuration, SaysAllThatIsWrong) {
  const auto c =
      read_configuration("[store]\ndirectroy = \"x\"\nrows_per_file = \"many\"\n[http]\nmax_body = 3\n", "h");
  ASSERT_FALSE(c);
  EXPECT_EQ(c.error().message,
            "h:5:12: http.max_body wants a size, like \"64MiB\"\nh:2:13: there is no store.directroy\n"
            "h:3:17: store.rows_per_file wants a whole number, 1 at least");
  const auto open = read_configuration("[http]\nlisten = [\"0.0.0.0:4318\"]\n", "h");
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().message.find("token_file"), std::string::npos);
  EXPECT_FALSE(read_configuration("[forward]\nkeep = false\n", "h"));
  EXPECT_FALSE(read_configuration("[store", "h"));
}

}  // namespace
}  // namespace telltale::hub
