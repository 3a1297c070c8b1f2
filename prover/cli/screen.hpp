// How a daemon stands, for a person: the status document as text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <telltale/core/result.hpp>
#include <vector>

#include "prover/daemon/job.hpp"

namespace prover::cli {

// At most `width` columns and `rows` rows (0: as many as it takes); what is left out is counted. An error where the
// text is no status document.
telltale::result<std::string> render_status(std::string_view json, std::size_t width, std::size_t rows);

// One line per job, below a line of heads.
std::string render_jobs(const std::vector<daemon::job_view>& jobs);

// "512 B", "1.5 MiB"; "950 ms", "12.3 s", "2 h 5 min".
std::string size_text(std::size_t bytes);
std::string duration_text(daemon::nanoseconds d);

// Where a job's time went, one line per phase.
std::string render_timing(const daemon::timing& t);

}  // namespace prover::cli
