// The tables, and what goes in and out of them.
#include "prover/daemon/journal/tables.hpp"

#include <algorithm>

namespace prover::daemon::sqlite {

namespace {

// What "PRAGMA user_version" says. A change that older programs can't live with gets the next number.
constexpr std::int64_t schema_version = 1;
constexpr std::int64_t application = 0x54505632;  // PRAGMA application_id

// Names rather than numbers for what is an enum in the program, so that sqlite3 shows them and a new one in between
// changes nothing. Times are nanoseconds, of the wall clock since 1970.
constexpr const char* schema = R"(
CREATE TABLE job(
  number INTEGER PRIMARY KEY,  -- the order of acceptance
  id TEXT NOT NULL UNIQUE,
  idempotency_key TEXT UNIQUE,
  request BLOB NOT NULL,       -- SHA-256 over kind, forms and contents
  kind TEXT NOT NULL,
  priority TEXT NOT NULL,
  deadline INTEGER,
  accepted INTEGER NOT NULL,
  starts INTEGER NOT NULL DEFAULT 0,
  finished INTEGER,            -- from here on: NULL until it has ended
  outcome TEXT,
  failure TEXT,
  message TEXT,
  device TEXT,
  attempts INTEGER,
  cold INTEGER,
  total INTEGER,
  bytes INTEGER                -- of the result, for keep_bytes
) STRICT;
CREATE INDEX unfinished ON job(number) WHERE finished IS NULL;
CREATE INDEX finished ON job(finished) WHERE finished IS NOT NULL;
CREATE TABLE part(
  job INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  position INTEGER NOT NULL,
  form TEXT NOT NULL,
  size INTEGER NOT NULL,
  content BLOB NOT NULL,       -- SHA-256; the name of its file while the job hasn't ended
  PRIMARY KEY(job, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX content ON part(content);
CREATE TABLE proof(
  job INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  position INTEGER NOT NULL,
  proof TEXT NOT NULL,
  signals TEXT NOT NULL,
  PRIMARY KEY(job, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE phase(
  job INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  count INTEGER NOT NULL,
  wall INTEGER NOT NULL,
  busy INTEGER NOT NULL,
  PRIMARY KEY(job, position)
) STRICT, WITHOUT ROWID;
)";

constexpr const char* columns =
    "number, id, idempotency_key, request, kind, priority, deadline, accepted, starts, finished, outcome, failure, "
    "message, device, attempts, cold, total";

std::string select_jobs(const std::string& rest) {
  return "SELECT " + std::string(columns) + " FROM job " + rest;
}

std::string_view name_of(payload_form f) {
  return f == payload_form::wtns ? "wtns" : "inputs";
}

// The enum whose name this is; an error for one that this program doesn't know.
template <class E>
E value_of(std::string_view name, E last) {
  for (unsigned i = 0; i <= static_cast<unsigned>(last); ++i) {
    if (telltale_name(static_cast<E>(i)) == name) return static_cast<E>(i);
  }
  throw failure(SQLITE_CORRUPT, "there is no \"" + std::string(name) + "\"");
}

wall_time at(std::int64_t ns) {
  return wall_time(std::chrono::duration_cast<wall_time::duration>(nanoseconds(ns)));
}

std::optional<std::int64_t> count(const std::optional<nanoseconds>& d) {
  return d ? std::optional(std::int64_t{d->count()}) : std::nullopt;
}

digest digest_of(std::span<const std::byte> blob) {
  digest d{};
  if (blob.size() != d.size()) throw failure(SQLITE_CORRUPT, "a digest hasn't 32 bytes");
  std::ranges::copy(blob, d.begin());
  return d;
}

}  // namespace

void prepare_tables(connection& c) {
  const std::int64_t tables = c.number("SELECT count(*) FROM sqlite_schema");
  const std::int64_t version = c.number("PRAGMA user_version");
  if (tables == 0) {
    c.run("BEGIN IMMEDIATE");
    c.run(schema);
    c.run(("PRAGMA application_id = " + std::to_string(application)).c_str());
    c.run(("PRAGMA user_version = " + std::to_string(schema_version)).c_str());
    c.run("COMMIT");
  } else if (c.number("PRAGMA application_id") != application) {
    throw failure(SQLITE_NOTADB, "it is another program's database; name another directory");
  } else if (version != schema_version) {
    throw failure(SQLITE_NOTADB, "it has schema " + std::to_string(version) + ", this program knows " +
                                     std::to_string(schema_version) +
                                     "; run the program that wrote it, or name another directory");
  }
}

std::int64_t since_epoch(wall_time t) {
  return std::chrono::duration_cast<nanoseconds>(t.time_since_epoch()).count();
}

std::size_t bytes_of(const job_result& r) {
  std::size_t sum = 512 + r.why.message.size() + 64 * r.times.phases.size();
  for (const proof_text& p : r.proofs) sum += p.proof.size() + p.signals.size();
  return sum;
}

reader::reader(const connection& c)
    : by_id_(c, select_jobs("WHERE id = ?").c_str()),
      by_key_(c, select_jobs("WHERE idempotency_key = ?").c_str()),
      unfinished_(c, select_jobs("WHERE finished IS NULL ORDER BY number").c_str()),
      finished_(c, select_jobs("WHERE finished IS NOT NULL ORDER BY finished DESC LIMIT ?").c_str()),
      parts_(c, "SELECT form, size, content FROM part WHERE job = ? ORDER BY position"),
      proofs_(c, "SELECT proof, signals FROM proof WHERE job = ? ORDER BY position"),
      phases_(c, "SELECT name, count, wall, busy FROM phase WHERE job = ? ORDER BY position") {}

std::optional<journalled_job> reader::one(statement& s) {
  if (!s.next()) return std::nullopt;
  journalled_job j = read(s);
  s.reset();
  return j;
}

std::vector<journalled_job> reader::all(statement& s) {
  std::vector<journalled_job> jobs;
  while (s.next()) jobs.push_back(read(s));
  return jobs;
}

journalled_job reader::read(const statement& s) {
  journalled_job j;
  const std::int64_t number = s.integer(0);
  journal_entry& e = j.entry;
  e.id = {std::string(s.text(1))};
  e.idempotency_key = s.text(2);
  e.request = digest_of(s.blob(3));
  e.kind = s.text(4);
  e.priority = value_of(s.text(5), priority::urgent);
  if (!s.null(6)) e.deadline = nanoseconds(s.integer(6));
  e.when = at(s.integer(7));
  e.starts = static_cast<unsigned>(s.integer(8));
  parts_.use(number);
  while (parts_.next()) {
    const payload_form form = parts_.text(0) == "wtns" ? payload_form::wtns : payload_form::inputs;
    e.parts.push_back({form, static_cast<std::uint64_t>(parts_.integer(1)), digest_of(parts_.blob(2))});
  }
  if (s.null(9)) return j;
  job_result& r = j.result.emplace();
  r.how = value_of(s.text(10), outcome::expired);
  r.why = {value_of(s.text(11), failure_class::internal), std::string(s.text(12))};
  r.device = s.text(13);
  r.attempts = static_cast<unsigned>(s.integer(14));
  r.cold = s.integer(15) != 0;
  r.times.total = nanoseconds(s.integer(16));
  proofs_.use(number);
  while (proofs_.next()) r.proofs.push_back({std::string(proofs_.text(0)), std::string(proofs_.text(1))});
  phases_.use(number);
  while (phases_.next()) {
    r.times.phases.push_back({std::string(phases_.text(0)), static_cast<std::uint64_t>(phases_.integer(1)),
                              nanoseconds(phases_.integer(2)), nanoseconds(phases_.integer(3))});
  }
  return j;
}

writer::writer(const connection& c)
    : connection_(c),
      add_job_(c,
               "INSERT INTO job(id, idempotency_key, request, kind, priority, deadline, accepted) "
               "VALUES(?, ?, ?, ?, ?, ?, ?)"),
      add_part_(c, "INSERT INTO part VALUES(?, ?, ?, ?, ?)"),
      count_start_(c, "UPDATE job SET starts = starts + 1 WHERE id = ? AND finished IS NULL"),
      take_back_(c, "UPDATE job SET starts = starts - 1 WHERE id = ? AND finished IS NULL AND starts > 0"),
      number_of_(c, "SELECT number FROM job WHERE id = ? AND finished IS NULL"),
      end_(c,
           "UPDATE job SET finished = ?, outcome = ?, failure = ?, message = ?, device = ?, attempts = ?, cold = ?, "
           "total = ?, bytes = ? WHERE number = ?"),
      add_proof_(c, "INSERT INTO proof VALUES(?, ?, ?, ?)"),
      add_phase_(c, "INSERT INTO phase VALUES(?, ?, ?, ?, ?, ?)"),
      contents_(c, "SELECT content FROM part WHERE job = ?"),
      wanted_(c,
              "SELECT 1 FROM part JOIN job ON job.number = part.job WHERE part.content = ? AND job.finished IS NULL "
              "LIMIT 1"),
      oldest_(c, "SELECT number, bytes, finished FROM job WHERE finished IS NOT NULL ORDER BY finished LIMIT 1"),
      forget_(c, "DELETE FROM job WHERE number = ?") {}

void writer::add(const journal_entry& entry) {
  const auto key =
      entry.idempotency_key.empty() ? std::nullopt : std::optional(std::string_view(entry.idempotency_key));
  add_job_
      .use(entry.id.value, key, entry.request, entry.kind, telltale_name(entry.priority), count(entry.deadline),
           since_epoch(entry.when))
      .run();
  const std::int64_t number = sqlite3_last_insert_rowid(connection_.handle());
  for (std::size_t i = 0; i < entry.parts.size(); ++i) {
    const journal_entry::part& p = entry.parts[i];
    add_part_.use(number, i, name_of(p.form), p.size, p.content).run();
  }
}

std::vector<digest> writer::finish(const job_id& id, const job_result& result, std::size_t bytes) {
  std::vector<digest> contents;
  if (!number_of_.use(id.value).next()) return contents;
  const std::int64_t number = number_of_.integer(0);
  number_of_.reset();
  end_.use(since_epoch(std::chrono::system_clock::now()), telltale_name(result.how), telltale_name(result.why.what),
           result.why.message, result.device, result.attempts, result.cold, result.times.total.count(), bytes, number)
      .run();
  for (std::size_t i = 0; i < result.proofs.size(); ++i) {
    add_proof_.use(number, i, result.proofs[i].proof, result.proofs[i].signals).run();
  }
  for (std::size_t i = 0; i < result.times.phases.size(); ++i) {
    const phase_time& p = result.times.phases[i];
    add_phase_.use(number, i, p.name, p.count, p.wall.count(), p.busy.count()).run();
  }
  contents_.use(number);
  while (contents_.next()) contents.push_back(digest_of(contents_.blob(0)));
  return contents;
}

bool writer::is_wanted(const digest& content) {
  const bool found = wanted_.use(content).next();
  wanted_.reset();
  return found;
}

}  // namespace prover::daemon::sqlite
