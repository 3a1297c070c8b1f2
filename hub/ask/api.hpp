// The questions over HTTP: /api/v1/…, described by openapi.json (served at /api/v1/openapi.json).
//
//   hub::add_api(router, store);        // the store must outlive the router
//
// Every answer is JSON unless said otherwise; a failure is {"error": "what happened, and what to do"} with status 400
// (the question makes no sense), 404 (what it is about isn't there) or 500 (the store failed).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hub/http/router.hpp"
#include "hub/store/store.hpp"

namespace telltale::hub {

void add_api(router& to, store& from);

// Method and pattern of every route, for the test that holds the description against them.
std::vector<std::pair<std::string, std::string>> api_routes();

extern const char* const openapi_document;

}  // namespace telltale::hub
