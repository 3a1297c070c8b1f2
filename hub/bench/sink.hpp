// An OTLP/HTTP receiver that takes everything and keeps nothing: what the hub forwards to in its benchmark.
#pragma once

namespace telltale::hub::bench {

// A listening socket on a free port of the loopback, whose number is stored in `port`; -1 where there is none.
int listen_anywhere(int& port);
// Answers 200 to each request with a Content-Length, one connection after the other, for ever.
[[noreturn]] void take_all(int listening);

}  // namespace telltale::hub::bench
