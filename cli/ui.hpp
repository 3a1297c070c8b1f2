// `telltale ui`: traces, their waterfall, a span's detail and the breakdown, on a terminal, by keyboard.
#pragma once

#include "access.hpp"

namespace telltale::cli {

// `list` is the request for the traces. Returns when the user quits; fails where there is no terminal, or no hub.
result<void> run_ui(access& hub, const request& list);

}  // namespace telltale::cli
