// Telltale's instrumentation in one include.
//
//   #include <telltale/core/telltale.hpp>
//   TELLTALE_MODULE("shop");                                   // once per file: who is speaking
//   using namespace telltale::literals;
//
//   void serve(std::string_view order, int items) {
//     TELLTALE_SCOPE("serve", "order_id"_a = telltale::text{order});   // inherited by everything below
//     TELLTALE_SPAN("pack", "items"_a = items);                        // until the end of the block
//     TELLTALE_INFO("packed {items} items", "items"_a = items);
//   }
//
// span.hpp, log.hpp, instrument.hpp and context.hpp have the details; runtime.hpp starts, steers and ends it (nothing
// of it is needed: it starts by itself and flushes at exit).
#pragma once

#include <telltale/core/context.hpp>
#include <telltale/core/counter.hpp>
#include <telltale/core/gauge.hpp>
#include <telltale/core/histogram.hpp>
#include <telltale/core/level.hpp>
#include <telltale/core/log.hpp>
#include <telltale/core/runtime.hpp>
#include <telltale/core/sampling.hpp>
#include <telltale/core/span.hpp>
