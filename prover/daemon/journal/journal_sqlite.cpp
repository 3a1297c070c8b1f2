// The journal in SQLite. One thread writes: it takes all that has been asked for, in one transaction. Readers have a
// connection of their own, which WAL lets read meanwhile.
//
// Everything survives the process from its commit on. An acceptance is on the disk as well before it is answered. What
// comes after (starts, results) reaches the disk within a second or with the next acceptance: after a loss of power
// such a job runs again. Its payloads are kept until then.
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
#include <utility>
#include <vector>

#include "prover/daemon/journal/payload_files.hpp"
#include "prover/daemon/journal/tables.hpp"

TELLTALE_MODULE("prover::daemon::journal");

namespace prover::daemon {

using namespace telltale::literals;

namespace {

namespace fs = std::filesystem;
using sqlite::reader;
using sqlite::writer;

// Pages that a connection keeps: filled soon, so that the daemon doesn't grow with its journal. The system's cache has
// the file anyway.
constexpr const char* small_cache = "PRAGMA cache_size = -256";

constexpr auto never = std::chrono::steady_clock::time_point::max();

}  // namespace

struct journal_sqlite::state {
  // Something to write, and what became of it.
  struct task {
    std::function<void()> work;  // in the writer's transaction; may run twice
    bool durable = false;        // it counts only once it is on the disk
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
    // Readers go on while there is a writer.
    database.run(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
        "PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864;");
    database.run(small_cache);
    sqlite::prepare_tables(database);
    to_write.emplace(database);
    reading.emplace(settings.directory + "/journal.db", true);
    reading->run(small_cache);
    to_read.emplace(*reading);
    stored = static_cast<std::uint64_t>(database.number("SELECT coalesce(sum(bytes), 0) FROM job"));
  }

  // --- the writer's thread

  void write_all() {
    telltale::name_thread("journal");
    std::unique_lock lock(mutex);
    auto next_prune = std::chrono::steady_clock::now();
    auto sync_by = never;
    for (;;) {
      asked.wait_until(lock, std::min(next_prune, sync_by), [&] { return stopping || !queue.empty(); });
      if (queue.empty() && stopping) break;
      std::deque<std::shared_ptr<task>> group;
      group.swap(queue);
      const std::vector<digest> ended = std::exchange(unneeded, {});
      lock.unlock();
      bool synced = !group.empty() && commit(group);
      const auto now = std::chrono::steady_clock::now();
      if (!synced && now >= sync_by) synced = sync_log();
      if (synced) {
        for (const digest& d : ended) payloads.drop(d, [&](const digest& x) { return to_write->is_wanted(x); });
        sync_by = never;
      } else if (sync_by <= now || (sync_by == never && (!group.empty() || !ended.empty()))) {
        sync_by = now + std::chrono::seconds{1};
      }
      if (now >= next_prune || stored > settings.keep_bytes) {
        forget_old();
        next_prune = now + std::chrono::minutes{1};
      }
      lock.lock();
      if (!synced) unneeded.insert(unneeded.end(), ended.begin(), ended.end());
      for (const auto& t : group) t->done = true;
      if (!group.empty()) written.notify_all();
      if (!queue.empty() || !checkpoint_due()) continue;
      lock.unlock();  // nobody waits: bring what was written from the log into the file
      sqlite3_wal_checkpoint_v2(database.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
      lock.lock();
    }
    if (sync_by != never) sync_log();
  }

  // What was committed is on the disk.
  bool sync_log() {
    const int fd = ::open((settings.directory + "/journal.db-wal").c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) return false;
    const bool good = ::fdatasync(fd) == 0;
    ::close(fd);
    return good;
  }

  bool checkpoint_due() const {
    std::error_code failed;
    const std::uintmax_t size = fs::file_size(settings.directory + "/journal.db-wal", failed);
    return !failed && size > (std::uintmax_t{4} << 20);
  }

  // All in one transaction; where that fails, each in one of its own, so that only what fails is refused. Whether all
  // that was ever committed is on the disk now.
  bool commit(const std::deque<std::shared_ptr<task>>& group) {
    const bool durable = std::ranges::any_of(group, [](const auto& t) { return t->durable; });
    database.run(durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
    if (const auto failed = in_transaction([&] {
          for (const auto& t : group) t->work();
        })) {
      for (const auto& t : group) t->failed = group.size() == 1 ? failed : in_transaction(t->work);
    }
    return std::ranges::any_of(group, [](const auto& t) { return t->durable && !t->failed; });
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
        sqlite::since_epoch(std::chrono::system_clock::now()) - std::chrono::nanoseconds(settings.keep).count();
    bool more = true;
    while (more) {  // by the hundred, so that nobody waits long
      std::uint64_t gone = 0;
      const auto failed = in_transaction([&] {
        for (int i = 0; i < 100 && more; ++i) {
          const auto bytes = to_write->forget_oldest(
              [&](std::int64_t finished) { return finished < oldest_kept || stored - gone > settings.keep_bytes; });
          gone += bytes.value_or(0);
          more = bytes.has_value();
        }
      });
      if (failed) {
        TELLTALE_WARN("old results are still kept: {why}", "why"_a = telltale::text{failed->message});
        return;
      }
      stored -= gone;
    }
  }

  // --- anybody's

  telltale::result<void> write(std::function<void()> work, bool durable = false) {
    const auto t = std::make_shared<task>();
    t->work = std::move(work);
    t->durable = durable;
    std::unique_lock lock(mutex);
    queue.push_back(t);
    asked.notify_one();
    written.wait(lock, [&] { return t->done; });
    if (t->failed) return *t->failed;
    return {};
  }

  // Removes the payloads that no job needs any more, once that is on the disk. What a crash leaves is removed at the
  // next start.
  void drop(const std::vector<digest>& contents) {
    const std::lock_guard lock(mutex);
    unneeded.insert(unneeded.end(), contents.begin(), contents.end());
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
  std::vector<digest> unneeded;  // payloads of jobs whose end is committed
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
    if (auto opened = s->payloads.open([&](const digest& d) { return s->to_write->is_wanted(d); }); !opened) {
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
    done = state_->write([&] { state_->to_write->add(entry); }, true);
  }
  pins.clear();
  if (!done) {  // what was written for nothing goes again
    std::vector<digest> contents;
    for (const journal_entry::part& p : entry.parts) contents.push_back(p.content);
    state_->drop(contents);
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
  return state_->write([&] { state_->to_write->started(id); });
}

telltale::result<void> journal_sqlite::put_back(const job_id& id) {
  return state_->write([&] { state_->to_write->put_back(id); });
}

telltale::result<void> journal_sqlite::finish(const job_id& id, const job_result& result) {
  const std::size_t size = sqlite::bytes_of(result);
  std::vector<digest> contents;
  auto done = state_->write([&] { contents = state_->to_write->finish(id, result, size); });
  if (!done || contents.empty()) return done;
  state_->stored += size;
  state_->drop(contents);
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
