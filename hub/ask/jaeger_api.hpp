// Jaeger's query API, so that what reads Jaeger reads the hub: Grafana's data source for Jaeger, Jaeger's own UI.
//
//   hub::add_jaeger_api(router, store);   // the store must outlive the router
//
//   GET /api/services                     the services that sent spans
//   GET /api/services/{name}/operations   the names of a service's spans
//   GET /api/operations?service=          the same with their kinds; spanKind= narrows down
//   GET /api/traces?service=              operation, tags (JSON), tag (key:value), minDuration, maxDuration (Go's
//                                         durations), start, end (microseconds), limit; or traceID, any number of them
//   GET /api/traces/{id}
//
// Answers are {"data": […], "total", "limit", "offset", "errors": null}; a failure has no data and one error
// {"code", "msg"}. What Jaeger has beyond it (dependencies, metrics, archive) isn't here.
#pragma once

#include "hub/http/router.hpp"
#include "hub/store/store.hpp"

namespace telltale::hub {

void add_jaeger_api(router& to, store& from);

}  // namespace telltale::hub
