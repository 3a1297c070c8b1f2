// Where the protobuf library isn't there to compare with.
#include "core/bench/figures.hpp"

void telltale::bench::add_otlp_figures(report& r) {
  r.absent("OTLP, spans encoded per core", "the protobuf library isn't installed (libprotobuf-dev, protobuf-compiler)");
}
