// Exporting what dead processes left.
#include "export.hpp"

#include <unistd.h>

#include <cstddef>
#include <string>

#include "../descriptors.hpp"
#include "replay.hpp"

namespace telltale::detail {

namespace {

// A line in band that says where the records after it come from. Its numbers are behind those of the image, whose
// records it stands among.
void announce(flight_image& image, const std::string& path, const replay& r, const sink_list& sinks) {
  const memory_header& h = *image.map().header;
  site_info site;
  site.id = h.sites.load(std::memory_order_relaxed);
  site.name =
      "process {process.pid} of this service died: recovered {recovered.records} records and {recovered.open_spans} "
      "open spans from {file.path}";
  site.module = "telltale";
  site.level = level::warn;
  site.kind = site_kind::log;
  std::uint32_t key = h.keys.load(std::memory_order_relaxed);
  const auto number = [&](std::string_view name, std::uint64_t value) {
    return attribute_view{name, attribute_type::uint64, false, value, {}, ++key};
  };
  const attribute_view attributes[] = {
      number("process.pid", h.process),
      number("recovered.records", r.what().pending + r.what().handed),
      number("recovered.open_spans", r.what().open),
      {"file.path", attribute_type::string, false, 0, path, ++key},
  };
  const thread_info thread{0, static_cast<std::int64_t>(::getpid()), "telltale"};
  const log_view line{site, nullptr, thread, {}, {}, {}, r.last_sign_of_life_ns(), attributes, record_origin::live};
  for (const auto& s : sinks) s->on_log(line);
}

void export_one(flight_file& file, const sink_list& sinks) {
  auto image = flight_image::read(file.fd(), file.path(), false);
  if (!image) {
    complain("cannot export what a process of this service left: " + image.error().message);
    return file.keep_as_done();
  }
  for (const std::string& what : image->damage()) {
    complain("\"" + file.path() + "\" is damaged: " + what);
  }
  replay r(*image);
  if (r.what().pending + r.what().handed + r.what().open != 0) {
    for (const auto& s : sinks) s->on_other_process(static_cast<std::int64_t>(image->map().header->process));
    announce(*image, file.path(), r, sinks);
    r.records({.drained = false, .undrained = true}, sinks);
    r.losses(sinks);
    r.open_spans(sinks);
    for (const auto& s : sinks) s->on_other_process(::getpid());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    for (const auto& s : sinks) s->flush(deadline);
  }
  file.keep_as_done();
}

}  // namespace

void export_dead_flights(const flight_options& o, const sink_list& sinks) {
  try {
    for (flight_file& file : claim_dead_files(o)) export_one(file, sinks);
    remove_old_files(o);
  } catch (const std::exception& e) {  // a sink's, or no memory: the files stay for the next start
    complain("cannot export what a process of this service left: " + std::string(e.what()));
  }
}

}  // namespace telltale::detail
