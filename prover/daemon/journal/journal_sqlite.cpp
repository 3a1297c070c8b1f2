// The journal in SQLite. One thread writes: it takes all that has been asked for, in one transaction. Readers have a
// connection of their own, which WAL lets read meanwhile.
#include "prover/daemon/journal/journal_sqlite.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <system_error>
#include <telltale/core/telltale.hpp>
#include <thread>

#include "prover/daemon/journal/payload_files.hpp"
#include "prover/daemon/journal/sqlite.hpp"

TELLTALE_MODULE("prover::daemon::journal");

namespace prover::daemon {

using namespace telltale::literals;

namespace {

namespace fs = std::filesystem;
using sqlite::statement;

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
  throw sqlite::failure(SQLITE_CORRUPT, "there is no \"" + std::string(name) + "\"");
}

std::int64_t since_epoch(wall_time t) {
  return std::chrono::duration_cast<nanoseconds>(t.time_since_epoch()).count();
}
wall_time at(std::int64_t ns) {
  return wall_time(std::chrono::duration_cast<wall_time::duration>(nanoseconds(ns)));
}

std::optional<std::int64_t> count(const std::optional<nanoseconds>& d) {
  return d ? std::optional(std::int64_t{d->count()}) : std::nullopt;
}

digest digest_of(std::span<const std::byte> blob) {
  digest d{};
  if (blob.size() != d.size()) throw sqlite::failure(SQLITE_CORRUPT, "a digest hasn't 32 bytes");
  std::ranges::copy(blob, d.begin());
  return d;
}

std::size_t bytes_of(const job_result& r) {
  std::size_t sum = 512 + r.why.message.size() + 64 * r.times.phases.size();
  for (const proof_text& p : r.proofs) sum += p.proof.size() + p.signals.size();
  return sum;
}

// The statements of one connection that read.
class reader {
 public:
  reader(const sqlite::connection& c)  // NOLINT(google-explicit-constructor)
      : by_id_(c, select_jobs("WHERE id = ?").c_str()),
        by_key_(c, select_jobs("WHERE idempotency_key = ?").c_str()),
        unfinished_(c, select_jobs("WHERE finished IS NULL ORDER BY number").c_str()),
        finished_(c, select_jobs("WHERE finished IS NOT NULL ORDER BY finished DESC LIMIT ?").c_str()),
        parts_(c, "SELECT form, size, content FROM part WHERE job = ? ORDER BY position"),
        proofs_(c, "SELECT proof, signals FROM proof WHERE job = ? ORDER BY position"),
        phases_(c, "SELECT name, count, wall, busy FROM phase WHERE job = ? ORDER BY position") {}

  std::optional<journalled_job> find(const job_id& id) { return one(by_id_.use(id.value)); }
  std::optional<journalled_job> find_key(const std::string& key) { return one(by_key_.use(key)); }
  std::vector<journalled_job> unfinished() { return all(unfinished_.use()); }
  std::vector<journalled_job> finished(std::size_t at_most) { return all(finished_.use(at_most)); }

 private:
  std::optional<journalled_job> one(statement& s) {
    if (!s.next()) return std::nullopt;
    journalled_job j = read(s);
    s.reset();
    return j;
  }
  std::vector<journalled_job> all(statement& s) {
    std::vector<journalled_job> jobs;
    while (s.next()) jobs.push_back(read(s));
    return jobs;
  }

  journalled_job read(const statement& s) {
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

  statement by_id_;
  statement by_key_;
  statement unfinished_;
  statement finished_;
  statement parts_;
  statement proofs_;
  statement phases_;
};

// The statements of the connection that writes.
struct writer {
  explicit writer(const sqlite::connection& c)
      : add_job(c,
                "INSERT INTO job(id, idempotency_key, request, kind, priority, deadline, accepted) "
                "VALUES(?, ?, ?, ?, ?, ?, ?)"),
        add_part(c, "INSERT INTO part VALUES(?, ?, ?, ?, ?)"),
        count_start(c, "UPDATE job SET starts = starts + 1 WHERE id = ? AND finished IS NULL"),
        take_back(c, "UPDATE job SET starts = starts - 1 WHERE id = ? AND finished IS NULL AND starts > 0"),
        number_of(c, "SELECT number FROM job WHERE id = ? AND finished IS NULL"),
        end(c,
            "UPDATE job SET finished = ?, outcome = ?, failure = ?, message = ?, device = ?, attempts = ?, cold = ?, "
            "total = ?, bytes = ? WHERE number = ?"),
        add_proof(c, "INSERT INTO proof VALUES(?, ?, ?, ?)"),
        add_phase(c, "INSERT INTO phase VALUES(?, ?, ?, ?, ?, ?)"),
        contents(c, "SELECT content FROM part WHERE job = ?"),
        wanted(c,
               "SELECT 1 FROM part JOIN job ON job.number = part.job WHERE part.content = ? AND job.finished IS NULL "
               "LIMIT 1"),
        oldest(c, "SELECT number, bytes, finished FROM job WHERE finished IS NOT NULL ORDER BY finished LIMIT 1"),
        forget(c, "DELETE FROM job WHERE number = ?") {}

  statement add_job, add_part, count_start, take_back, number_of, end, add_proof, add_phase, contents, wanted, oldest,
      forget;
};

}  // namespace

struct journal_sqlite::state {
  // Something to write, and what became of it.
  struct task {
    std::function<void()> work;  // in the writer's transaction; may run twice
    std::optional<telltale::error> failed;
    bool done = false;
  };

  state(journal_settings s, int lock, const std::string& file)
      : settings(std::move(s)), lock_file(lock), database(file, false), payloads(settings.directory + "/payloads") {}

  ~state() {
    {
      const std::lock_guard guard(mutex);
      stopping = true;
    }
    asked.notify_all();
    if (thread.joinable()) thread.join();
    ::close(lock_file);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  telltale::error cannot(const char* what, const std::exception& e) const {
    const auto* f = dynamic_cast<const sqlite::failure*>(&e);
    const int code = f != nullptr ? f->code & 0xff : 0;
    const char* hint = code == SQLITE_FULL || code == SQLITE_IOERR ? " Make room on its disk." : "";
    return {"cannot " + std::string(what) + " the journal in \"" + settings.directory + "\": " + e.what() + "." + hint};
  }

  void prepare() {
    // Readers go on while there is a writer; a commit is on the disk when it returns.
    database.run(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
        "PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864;");
    const std::int64_t tables = database.number("SELECT count(*) FROM sqlite_schema");
    const std::int64_t version = database.number("PRAGMA user_version");
    if (tables == 0) {
      database.run("BEGIN IMMEDIATE");
      database.run(schema);
      database.run(("PRAGMA application_id = " + std::to_string(application)).c_str());
      database.run(("PRAGMA user_version = " + std::to_string(schema_version)).c_str());
      database.run("COMMIT");
    } else if (database.number("PRAGMA application_id") != application) {
      throw sqlite::failure(SQLITE_NOTADB, "it is another program's database; name another directory");
    } else if (version != schema_version) {
      throw sqlite::failure(SQLITE_NOTADB, "it has schema " + std::to_string(version) + ", this program knows " +
                                               std::to_string(schema_version) +
                                               "; run the program that wrote it, or name another directory");
    }
    to_write.emplace(database);
    reading.emplace(settings.directory + "/journal.db", true);
    to_read.emplace(*reading);
    stored = static_cast<std::uint64_t>(database.number("SELECT coalesce(sum(bytes), 0) FROM job"));
  }

  bool is_wanted(const digest& d) {
    const bool found = to_write->wanted.use(d).next();
    to_write->wanted.reset();
    return found;
  }

  // --- the writer's thread

  void write_all() {
    telltale::name_thread("journal");
    std::unique_lock lock(mutex);
    auto next_prune = std::chrono::steady_clock::now();
    for (;;) {
      asked.wait_until(lock, next_prune, [&] { return stopping || !queue.empty(); });
      if (queue.empty() && stopping) return;
      std::deque<std::shared_ptr<task>> group;
      group.swap(queue);
      lock.unlock();
      if (!group.empty()) commit(group);
      const auto now = std::chrono::steady_clock::now();
      if (now >= next_prune || stored > settings.keep_bytes) {
        forget_old();
        next_prune = now + std::chrono::minutes{1};
      }
      lock.lock();
      for (const auto& t : group) t->done = true;
      if (!group.empty()) written.notify_all();
      if (!queue.empty() || !checkpoint_due()) continue;
      lock.unlock();  // nobody waits: bring what was written from the log into the file
      sqlite3_wal_checkpoint_v2(database.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
      lock.lock();
    }
  }

  bool checkpoint_due() const {
    std::error_code failed;
    const std::uintmax_t size = fs::file_size(settings.directory + "/journal.db-wal", failed);
    return !failed && size > (std::uintmax_t{4} << 20);
  }

  // All in one transaction; where that fails, each in one of its own, so that only what fails is refused.
  void commit(const std::deque<std::shared_ptr<task>>& group) {
    if (const auto failed = in_transaction([&] {
          for (const auto& t : group) t->work();
        })) {
      for (const auto& t : group) t->failed = group.size() == 1 ? failed : in_transaction(t->work);
    }
  }

  std::optional<telltale::error> in_transaction(const std::function<void()>& work) {
    try {
      database.run("BEGIN IMMEDIATE");
      work();
      database.run("COMMIT");
      return std::nullopt;
    } catch (const std::exception& e) {
      // SQLite may have rolled back by itself.
      if (sqlite3_get_autocommit(database.handle()) == 0) {
        sqlite3_exec(database.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
      }
      return cannot("write", e);
    }
  }

  void forget_old() {
    const std::int64_t oldest_kept =
        since_epoch(std::chrono::system_clock::now()) - std::chrono::nanoseconds(settings.keep).count();
    bool more = true;
    while (more) {  // by the hundred, so that nobody waits long
      std::uint64_t gone = 0;
      const auto failed = in_transaction([&] {
        for (int i = 0; i < 100 && more; ++i) {
          statement& s = to_write->oldest.use();
          more = s.next() && (s.integer(2) < oldest_kept || stored - gone > settings.keep_bytes);
          if (!more) break;
          const std::int64_t number = s.integer(0);
          gone += static_cast<std::uint64_t>(s.integer(1));
          s.reset();
          to_write->forget.use(number).run();
        }
        to_write->oldest.reset();
      });
      if (failed) {
        TELLTALE_WARN("old results are still kept: {why}", "why"_a = telltale::text{failed->message});
        return;
      }
      stored -= gone;
    }
  }

  // --- anybody's

  telltale::result<void> write(std::function<void()> work) {
    const auto t = ask(std::move(work));
    std::unique_lock lock(mutex);
    written.wait(lock, [&] { return t->done; });
    if (t->failed) return *t->failed;
    return {};
  }

  // Removes the payloads that no job needs any more, soon. What a crash leaves is removed at the next start.
  void drop(std::vector<digest> contents) {
    ask([this, contents = std::move(contents)] {
      for (const digest& d : contents) {
        payloads.drop(d, [&](const digest& x) { return is_wanted(x); });
      }
    });
  }

  std::shared_ptr<task> ask(std::function<void()> work) {
    auto t = std::make_shared<task>();
    t->work = std::move(work);
    const std::lock_guard lock(mutex);
    queue.push_back(t);
    asked.notify_one();
    return t;
  }

  template <class F>
  auto read(F f) -> telltale::result<decltype(f(std::declval<reader&>()))> {
    const std::lock_guard lock(read_mutex);
    try {
      return f(*to_read);
    } catch (const std::exception& e) {
      return cannot("read", e);
    }
  }

  journal_settings settings;
  int lock_file;
  sqlite::connection database;  // the writer thread's, once it runs
  std::optional<writer> to_write;
  std::atomic<std::uint64_t> stored{0};  // bytes of results
  payload_files payloads;

  std::mutex read_mutex;
  std::optional<sqlite::connection> reading;
  std::optional<reader> to_read;

  std::mutex mutex;
  std::condition_variable asked;
  std::condition_variable written;
  std::deque<std::shared_ptr<task>> queue;
  bool stopping = false;
  std::thread thread;
};

journal_sqlite::journal_sqlite(std::unique_ptr<state> s) : state_(std::move(s)) {}
journal_sqlite::~journal_sqlite() = default;

telltale::result<std::unique_ptr<journal_sqlite>> journal_sqlite::open(const journal_settings& settings) {
  const std::string where = "the journal in \"" + settings.directory + "\"";
  std::error_code failed;
  fs::create_directories(settings.directory, failed);
  const std::string lock_path = settings.directory + "/lock";
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) {
    return telltale::error{"cannot open " + where + ": " + std::error_code(errno, std::generic_category()).message() +
                           ". Make the directory, writable for this user, or name another one (journal.directory)."};
  }
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return telltale::error{where +
                           " is in use: another prover-daemon runs on it. Stop that one, or name another directory "
                           "(journal.directory)."};
  }
  std::unique_ptr<state> s;
  try {
    s = std::make_unique<state>(settings, lock, settings.directory + "/journal.db");
  } catch (const std::exception& e) {
    ::close(lock);
    return telltale::error{"cannot open " + where + ": " + e.what()};
  }
  try {
    s->prepare();
    if (auto opened = s->payloads.open([&](const digest& d) { return s->is_wanted(d); }); !opened) {
      return opened.error();
    }
  } catch (const std::exception& e) {
    return telltale::error{"cannot open " + where + ": " + e.what()};
  }
  s->thread = std::thread([state = s.get()] { state->write_all(); });
  return std::unique_ptr<journal_sqlite>(new journal_sqlite(std::move(s)));
}

telltale::result<void> journal_sqlite::accept(const journal_entry& entry, std::span<const payload> payloads) {
  std::vector<payload_files::pin> pins;
  telltale::result<void> done;
  for (std::size_t i = 0; i < payloads.size() && done; ++i) {
    pins.emplace_back(state_->payloads, entry.parts[i].content);
    done = state_->payloads.write(entry.parts[i].content, payloads[i].content);
  }
  if (done) {
    done = state_->write([&] {
      writer& w = *state_->to_write;
      const auto key =
          entry.idempotency_key.empty() ? std::nullopt : std::optional(std::string_view(entry.idempotency_key));
      w.add_job
          .use(entry.id.value, key, entry.request, entry.kind, telltale_name(entry.priority), count(entry.deadline),
               since_epoch(entry.when))
          .run();
      const std::int64_t number = sqlite3_last_insert_rowid(state_->database.handle());
      for (std::size_t i = 0; i < entry.parts.size(); ++i) {
        const journal_entry::part& p = entry.parts[i];
        w.add_part.use(number, i, name_of(p.form), p.size, p.content).run();
      }
    });
  }
  pins.clear();
  if (!done) {  // what was written for nothing goes again
    std::vector<digest> contents;
    for (const journal_entry::part& p : entry.parts) contents.push_back(p.content);
    state_->drop(std::move(contents));
  }
  return done;
}

telltale::result<std::vector<std::byte>> journal_sqlite::load_payload(const job_id& id, std::size_t index) {
  const auto job = find(id);
  if (!job) return job.error();
  if (!*job || index >= (*job)->entry.parts.size()) {
    return telltale::error{"the journal has no payload " + std::to_string(index) + " of job " + id.value};
  }
  return state_->payloads.read((*job)->entry.parts[index].content);
}

telltale::result<void> journal_sqlite::started(const job_id& id) {
  return state_->write([&] { state_->to_write->count_start.use(id.value).run(); });
}

telltale::result<void> journal_sqlite::put_back(const job_id& id) {
  return state_->write([&] { state_->to_write->take_back.use(id.value).run(); });
}

telltale::result<void> journal_sqlite::finish(const job_id& id, const job_result& result) {
  const std::size_t size = bytes_of(result);
  std::vector<digest> contents;
  auto done = state_->write([&] {
    writer& w = *state_->to_write;
    contents.clear();
    if (!w.number_of.use(id.value).next()) return;  // it has ended already: the first answer stands
    const std::int64_t number = w.number_of.integer(0);
    w.number_of.reset();
    w.end
        .use(since_epoch(std::chrono::system_clock::now()), telltale_name(result.how), telltale_name(result.why.what),
             result.why.message, result.device, result.attempts, result.cold, result.times.total.count(), size, number)
        .run();
    for (std::size_t i = 0; i < result.proofs.size(); ++i) {
      w.add_proof.use(number, i, result.proofs[i].proof, result.proofs[i].signals).run();
    }
    for (std::size_t i = 0; i < result.times.phases.size(); ++i) {
      const phase_time& p = result.times.phases[i];
      w.add_phase.use(number, i, p.name, p.count, p.wall.count(), p.busy.count()).run();
    }
    w.contents.use(number);
    while (w.contents.next()) contents.push_back(digest_of(w.contents.blob(0)));
  });
  if (!done || contents.empty()) return done;
  state_->stored += size;
  state_->drop(std::move(contents));  // once the end is on the disk
  return {};
}

telltale::result<std::optional<journalled_job>> journal_sqlite::find(const job_id& id) {
  return state_->read([&](reader& r) { return r.find(id); });
}

telltale::result<std::optional<journalled_job>> journal_sqlite::find_key(const std::string& idempotency_key) {
  return state_->read([&](reader& r) { return r.find_key(idempotency_key); });
}

telltale::result<std::vector<journal_entry>> journal_sqlite::unfinished() {
  return state_->read([&](reader& r) {
    std::vector<journal_entry> entries;
    for (journalled_job& j : r.unfinished()) entries.push_back(std::move(j.entry));
    return entries;
  });
}

telltale::result<std::vector<journalled_job>> journal_sqlite::finished(std::size_t at_most) {
  return state_->read([&](reader& r) { return r.finished(at_most); });
}

}  // namespace prover::daemon
