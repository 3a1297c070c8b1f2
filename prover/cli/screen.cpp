// The status document as text.
#include "prover/cli/screen.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

namespace prover::cli {

namespace {

using nlohmann::json;

std::string number(double value, const char* unit) {
  char text[32];
  std::snprintf(text, sizeof text, value < 9.95 ? "%.1f %s" : "%.0f %s", value, unit);
  return text;
}

// Control characters of what a daemon sends move nobody's cursor.
std::string plain(std::string text) {
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return text;
}

std::string text_of(const json& j, const char* key) {
  const auto found = j.find(key);
  return found != j.end() && found->is_string() ? plain(found->get<std::string>()) : std::string();
}
double number_of(const json& j, const char* key) {
  const auto found = j.find(key);
  return found != j.end() && found->is_number() ? found->get<double>() : 0;
}
std::string size_in(const json& j, const char* key) {
  return size_text(static_cast<std::size_t>(number_of(j, key)));
}
std::string time_in(const json& j, const char* key) {
  return duration_text(daemon::nanoseconds(static_cast<std::int64_t>(number_of(j, key) * 1e9)));
}
std::string count_in(const json& j, const char* key) {
  return std::to_string(static_cast<std::uint64_t>(number_of(j, key)));
}

// Columns as wide as their widest cell; the last one takes what is left.
class table {
 public:
  explicit table(std::vector<std::string> heads) { rows_.push_back(std::move(heads)); }
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::vector<std::string> lines() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto& r : rows_) {
      for (std::size_t i = 0; i < r.size(); ++i) widths[i] = std::max(widths[i], r[i].size());
    }
    std::vector<std::string> out;
    for (const auto& r : rows_) {
      std::string line;
      for (std::size_t i = 0; i < r.size(); ++i) {
        line += r[i];
        if (i + 1 < r.size()) line.append(widths[i] - r[i].size() + 2, ' ');
      }
      out.push_back(std::move(line));
    }
    return out;
  }
  std::size_t size() const { return rows_.size() - 1; }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string bar(double share, std::size_t width) {
  const auto full = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(width) + 0.5);
  return "[" + std::string(full, '#') + std::string(width - full, '.') + "]";
}

// What a job does, or why it waits.
std::string doing(std::string phase, const std::string& lasts, const std::string& device, bool slow,
                  const std::string& explanation) {
  if (phase.empty()) return explanation;
  if (!device.empty()) phase += " on " + device;
  return phase + " for " + lasts + (slow ? ", SLOW" : "");
}

std::vector<std::string> jobs_of(const json& status) {
  table t({"JOB", "KIND", "STATE", "PRIORITY", "AGE", "DOES, OR WAITS FOR"});
  // Those that run before those that wait, which may be a thousand.
  for (const bool waiting : {false, true}) {
    for (const json& j : status.value("jobs", json::array())) {
      if ((text_of(j, "state") == "queued") != waiting) continue;
      t.row({text_of(j, "id"), text_of(j, "kind"), text_of(j, "state"), text_of(j, "priority"), time_in(j, "age"),
             doing(text_of(j, "phase"), time_in(j, "phase_age"), text_of(j, "device"), j.value("slow", false),
                   text_of(j, "explanation"))});
    }
  }
  return t.size() == 0 ? std::vector<std::string>{"no jobs"} : t.lines();
}

std::vector<std::string> keys_of(const json& status) {
  table t({"KEY", "DEVICE", "TIER", "SIZE", "LOADS", "LAST LOAD", "IDLE"});
  for (const json& k : status.value("keys", json::array())) {
    const std::string tier = text_of(k, "tier");
    std::string note = text_of(k, "problem");
    if (note.empty() && tier == "loading") note = "for " + time_in(k, "loading_for");
    if (note.empty() && k.contains("users") && !k["users"].empty()) note = "in use";
    if (note.empty() && (tier == "warm" || tier == "hot")) note = time_in(k, "idle");
    const bool loaded = number_of(k, "loads") > 0;
    t.row({text_of(k, "kind"), text_of(k, "device"), tier, number_of(k, "bytes") > 0 ? size_in(k, "bytes") : "-",
           count_in(k, "loads"), loaded ? time_in(k, "last_load") : "-", note});
  }
  return t.lines();
}

std::vector<std::string> devices_of(const json& status) {
  const double uptime = std::max(number_of(status, "uptime"), 1e-9);
  table t({"DEVICE", "BUSY", "PROOFS", "FAULTS", ""});
  for (const json& d : status.value("devices", json::array())) {
    std::string note = text_of(d, "description");
    if (d.contains("back_in")) note = "quarantined for " + time_in(d, "back_in") + ": " + text_of(d, "last_fault");
    t.row({text_of(d, "name"), number(100 * number_of(d, "busy") / uptime, "%"), count_in(d, "proofs"),
           count_in(d, "faults"), note});
  }
  return t.lines();
}

}  // namespace

std::string size_text(std::size_t bytes) {
  constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return number(value, units[unit]);
}

std::string duration_text(daemon::nanoseconds d) {
  const double s = std::chrono::duration<double>(d).count();
  if (s < 1e-3) return number(s * 1e6, "us");
  if (s < 1) return number(s * 1e3, "ms");
  if (s < 120) return number(s, "s");
  const auto minutes = static_cast<std::int64_t>(s / 60);
  if (minutes < 120) return std::to_string(minutes) + " min";
  return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
}

std::string render_timing(const daemon::timing& t) {
  table rows({"PHASE", "WALL", "SHARE", "BUSY"});
  const double total = std::max(1.0, static_cast<double>(t.total.count()));
  for (const daemon::phase_time& p : t.phases) {
    rows.row({plain(p.name), duration_text(p.wall), number(100 * static_cast<double>(p.wall.count()) / total, "%"),
              duration_text(p.busy)});
  }
  rows.row({"total", duration_text(t.total), "", ""});
  std::string out;
  for (const std::string& line : rows.lines()) out += line + '\n';
  return out;
}

std::string render_jobs(const std::vector<daemon::job_view>& jobs) {
  table t({"JOB", "KIND", "STATE", "AGE", "DOES, OR WAITS FOR"});
  for (const daemon::job_view& v : jobs) {
    const bool ended = v.state == daemon::job_state::finished;
    t.row({v.id.value, v.kind, std::string(ended ? telltale_name(v.how) : telltale_name(v.state)),
           ended ? "-" : duration_text(v.age),
           ended ? "took " + duration_text(v.age)
                 : plain(doing(v.phase, duration_text(v.phase_age), v.device, v.slow, v.explanation))});
  }
  if (t.size() == 0) return "no jobs\n";
  std::string out;
  for (std::string& line : t.lines()) {
    while (line.ends_with(' ')) line.pop_back();
    out += line + '\n';
  }
  return out;
}

telltale::result<std::string> render_status(std::string_view text, std::size_t width, std::size_t rows) {
  const json s = json::parse(text, nullptr, false);
  if (!s.is_object()) return telltale::error{"the daemon's status can't be read: is it a prover-daemon?"};
  const json memory = s.value("memory", json::object());
  const json queue = s.value("queue", json::object());
  const json total = s.value("total", json::object());
  const json ended = total.value("ended", json::object());

  std::vector<std::string> lines;
  lines.push_back("prover-daemon " + text_of(s, "version") + ", up " + time_in(s, "uptime") +
                  (s.value("draining", false) ? ", DRAINING" : ""));
  const double budget = std::max(number_of(memory, "budget"), 1.0);
  lines.push_back("memory " + bar(number_of(memory, "reserved") / budget, 20) + " " + size_in(memory, "reserved") +
                  " of " + size_in(memory, "budget") + " reserved, at most " + size_in(memory, "high_water") + "; " +
                  size_in(memory, "measured") + " measured");
  // On a screen the keys leave half of the room to the jobs.
  const auto some = [&](std::vector<std::string> all) {
    const std::size_t room = rows < 16 ? 4 : (rows - 8) / 2;
    if (rows != 0 && all.size() > room) {
      const std::string more = "… " + std::to_string(all.size() - room + 1) + " more keys";
      all.resize(room - 1);
      all.push_back(more);
    }
    return all;
  };
  lines.push_back("queue  " + count_in(queue, "jobs") + " jobs, " + size_in(queue, "bytes") + ", oldest waits " +
                  time_in(queue, "oldest_wait"));
  lines.push_back("jobs   " + count_in(total, "accepted") + " accepted, " + count_in(ended, "completed") +
                  " completed, " + count_in(ended, "failed") + " failed, " + count_in(ended, "cancelled") +
                  " cancelled, " + count_in(ended, "expired") + " expired");
  lines.push_back("witness generators: " + text_of(s, "sandbox"));
  const auto append = [&](std::vector<std::string> more) {
    lines.emplace_back();
    lines.insert(lines.end(), more.begin(), more.end());
  };
  append(devices_of(s));
  append(some(keys_of(s)));
  append(jobs_of(s));

  std::string out;
  const std::size_t shown = rows != 0 && lines.size() > rows ? rows - 1 : lines.size();
  for (std::size_t i = 0; i < shown; ++i) {
    std::string& line = lines[i];
    if (width != 0 && line.size() > width) line.resize(width);
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + '\n';
  }
  if (shown < lines.size()) out += "… " + std::to_string(lines.size() - shown) + " more lines\n";
  return out;
}

}  // namespace prover::cli
