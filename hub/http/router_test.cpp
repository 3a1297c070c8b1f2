#include "hub/http/router.hpp"

#include <gtest/gtest.h>

namespace telltale::hub {
namespace {

http_response ask(const router& r, std::string method, std::string target) {
  http_request q;
  q.method = std::move(method);
  q.target = std::move(target);
  return r.answer(q);
}

router example() {
  router r;
  r.add("GET", "/api/v1/traces/{id}", [](const http_request& q) {
    http_response a;
    a.body = "trace " + q.path.at(0);
    return a;
  });
  r.add("POST", "/api/v1/sql", [](const http_request&) { return http_response{}; });
  r.add("GET", "/ui/{file*}", [](const http_request& q) {
    http_response a;
    a.body = "file " + q.path.at(0);
    return a;
  });
  return r;
}

TEST(Router, GivesWhatStoodForTheBraces) {
  EXPECT_EQ(ask(example(), "GET", "/api/v1/traces/abc").body, "trace abc");
  EXPECT_EQ(ask(example(), "GET", "/ui/a/b.js").body, "file a/b.js");
  EXPECT_EQ(ask(example(), "GET", "/ui").body, "file ");
}

TEST(Router, AnswersHeadWhereThereIsGet) {
  EXPECT_EQ(ask(example(), "HEAD", "/api/v1/traces/abc").status, 200);
}

TEST(Router, KnowsNoOtherPaths) {
  for (const char* path : {"/", "/api/v1/traces", "/api/v1/traces/", "/api/v1/traces/a/b", "/api/v1/sqls"}) {
    EXPECT_EQ(ask(example(), "GET", path).status, 404) << path;
  }
}

TEST(Router, SaysWhichMethodsAPathTakes) {
  const http_response a = ask(example(), "GET", "/api/v1/sql");
  EXPECT_EQ(a.status, 405);
  ASSERT_EQ(a.headers.size(), 1u);
  EXPECT_EQ(a.headers[0].second, "POST");
}

}  // namespace
}  // namespace telltale::hub
