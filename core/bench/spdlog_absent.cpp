#include "core/bench/figures.hpp"

void telltale::bench::add_spdlog_figures(report& r) {
  r.absent("lines beside spdlog's", "spdlog was not there when this was built: apt-get install libspdlog-dev");
}
