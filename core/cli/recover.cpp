// Shows a flight record as text or as JSON lines.
#include "recover.hpp"

#include <charconv>
#include <chrono>
#include <ctime>
#include <iostream>
#include <string>
#include <telltale/core/flight.hpp>

namespace telltale::cli {

namespace {

constexpr std::string_view usage =
    R"(telltale recover FILE [--format text|json] [--last N] [--open]

Shows the last records and the open spans of a process whose flight recorder was on (TELLTALE_FLIGHT), from the file
it left: after SIGKILL, abort, or while it hangs. Neither the file nor the process is changed.

  --format text   sections for a person (the default)
  --format json   JSON lines as the sink `json` writes them; "recovered" says of each record whether the process's own
                  sinks had it: "pending" (never), "handed" (perhaps not written), "drained" (written)
  --last N        how many records, the newest (50; 0: all that are there)
  --open          only the open spans
)";

struct request {
  std::string file;
  bool json = false;
  bool only_open = false;
  std::size_t last = 50;
};

int complain(const std::string& what) {
  std::cerr << "telltale recover: " << what << "\n";
  return 2;
}

std::string utc(std::int64_t ns) {
  const std::time_t seconds = ns / 1'000'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, size};
}

// Out before what stands behind it: the sink writes to the same descriptor from a thread of its own.
void heading(const std::string& text, const flight_reader::sinks& sinks) {
  for (const auto& s : sinks) s->flush(std::chrono::steady_clock::now() + std::chrono::hours(1));
  std::cout << text << std::flush;
}

void show_text(flight_reader& record, const request& r, const flight_reader::sinks& sinks) {
  const flight_reader::summary about = record.about();
  std::string head = about.service + ", process " + std::to_string(about.process) +
                     (about.alive ? ", is alive" : ", is dead") + "\nstarted " + utc(about.started_ns) +
                     ", last sign of life " + utc(about.last_seen_ns) + "\nrecords: " + std::to_string(about.pending) +
                     " never handed to a sink, " + std::to_string(about.handed) + " handed but perhaps not written, " +
                     std::to_string(about.drained) + " older ones that were written\n";
  for (const std::string& what : about.damage) head += "damaged: " + what + "\n";
  heading(head, sinks);
  if (!r.only_open) {
    const std::uint64_t undrained = about.pending + about.handed;
    const std::size_t most = r.last == 0 ? SIZE_MAX : r.last;
    const std::size_t older = most > undrained ? most - static_cast<std::size_t>(undrained) : 0;
    if (about.drained != 0 && older != 0) {
      heading("\nThe last records that its sinks had written:\n", sinks);
      record.records(flight_reader::which::drained, older, sinks);
    }
    if (undrained != 0) {
      heading("\nRecords that its sinks had not written:\n", sinks);
      record.records(flight_reader::which::undrained, most, sinks);
    }
  }
  heading("\n" +
              (about.open_spans == 0 ? std::string("No span was open.")
                                     : std::to_string(about.open_spans) + " open spans:") +
              "\n",
          sinks);
  record.open_spans(sinks);
  heading("", sinks);
}

void show_json(flight_reader& record, const request& r, const flight_reader::sinks& sinks) {
  if (!r.only_open) record.records(flight_reader::which::all, r.last == 0 ? SIZE_MAX : r.last, sinks);
  record.open_spans(sinks);
  for (const std::string& what : record.about().damage) std::cerr << "telltale recover: damaged: " << what << "\n";
  heading("", sinks);
}

}  // namespace

int recover(const std::vector<std::string_view>& words) {
  request r;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const auto value = [&]() -> std::string_view { return i + 1 < words.size() ? words[++i] : std::string_view{}; };
    if (word == "--help" || word == "-h") {
      std::cout << usage;
      return 0;
    }
    if (word == "--open") {
      r.only_open = true;
    } else if (word == "--format") {
      const std::string_view format = value();
      if (format != "text" && format != "json") return complain("--format is text or json, see --help");
      r.json = format == "json";
    } else if (word == "--last") {
      const std::string_view n = value();
      const auto [end, failed] = std::from_chars(n.data(), n.data() + n.size(), r.last);
      if (failed != std::errc{} || end != n.data() + n.size()) return complain("--last is a whole number, see --help");
    } else if (word.starts_with("-")) {
      return complain("there is no option \"" + std::string(word) + "\", see --help");
    } else if (!r.file.empty()) {
      return complain("one file at a time, see --help");
    } else {
      r.file = std::string(word);
    }
  }
  if (r.file.empty()) return complain("which file? See --help");

  auto record = flight_reader::open(r.file);
  if (!record) {
    std::cerr << "telltale recover: " << record.error().message << "\n";
    return 1;
  }
  const auto sinks = make_sinks(r.json ? "json:stdout?overflow=block" : "text:stdout?overflow=block");
  if (!sinks) {
    std::cerr << "telltale recover: " << sinks.error().message << "\n";
    return 1;
  }
  if (r.json) {
    show_json(*record, r, *sinks);
  } else {
    show_text(*record, r, *sinks);
  }
  return 0;
}

}  // namespace telltale::cli
