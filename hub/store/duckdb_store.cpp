#include "hub/store/duckdb_store.hpp"

#include <algorithm>
#include <utility>

#include "hub/otlp/decode.hpp"
#include "hub/store/priority.hpp"
#include "hub/store/schema.hpp"

namespace telltale::hub {

duckdb_store::~duckdb_store() {
  {
    const std::lock_guard lock(queue_mutex_);
    stopping_ = true;
  }
  queue_changed_.notify_all();
  stopped_.notify_all();
  if (keeper_.joinable()) keeper_.join();
  if (inserter_.joinable()) inserter_.join();
}

result<void> duckdb_store::start() {
  if (!options_.directory.empty()) {
    auto d = options_.read_only ? directory::open_to_read(options_.directory) : directory::open(options_.directory);
    if (!d) return d.error();
    directory_ = std::move(*d);
    manifest_ = directory_->found();
  }
  result<database> db = database{};
  std::thread([&] {  // DuckDB's threads take after the one that starts them
    yield_to_questions(nice_ingest);
    db = open_database({.directory = directory_ ? directory_->path() : std::string{},
                        .spill = !options_.read_only,
                        .memory_bytes = options_.memory_bytes,
                        .threads = options_.threads});
  })
      .join();
  if (!db) return db.error();
  db_ = std::move(*db);
  if (directory_) {
    auto reader =
        open_database({.directory = directory_->path(), .spill = false, .memory_bytes = 64u << 20, .threads = 1});
    if (!reader) return reader.error();
    reader_ = std::move(*reader);
  }
  writer_ = std::make_unique<duck::connection>(db_.get());
  layout files;
  for (const file_entry& e : manifest_.files) {
    auto f = data_file::open(*writer_, directory_->path(), e);
    if (!f) return f.error();
    files.files.push_back(std::move(*f));
  }
  recent_spans before = newest_spans(files);
  if (const auto made = new_generation(std::move(files), std::move(before)); !made) return made;
  if (const auto opened = open_journal(); !opened) return opened;
  if (const auto flushed = flush(); !flushed) return flushed;
  if (journal_ && tables_->rows() >= options_.rows_per_file) {
    if (const auto ended = journal_->end_segment(); !ended) block(ended.error().message);
  }
  if (!options_.read_only) inserter_ = std::thread([this] { insert_loop(); });
  if (journal_) keeper_ = std::thread([this] { keep_loop(); });
  return {};
}

result<void> duckdb_store::open_journal() {
  if (!directory_) return {};
  const std::string path = directory_->path() + "/journal";
  result<void> replayed;
  const journal::reader read = [&](otlp::signal_kind signal, std::string request) {
    const auto b = decode(signal, std::move(request));
    if (b && replayed) replayed = insert(*b);  // it was decoded before it was written
  };
  if (options_.read_only) {
    const auto done = journal::replay(path, manifest_.journal_through, read);
    return done ? replayed : done;
  }
  auto j =
      journal::open(path, options_.sync == store_options::fsync::batch, {options_.rows_per_file, bytes_at_once()},
                    manifest_.journal_through, read,
                    [this](std::shared_ptr<const batch> b, std::uint64_t segment) { enqueue(std::move(b), segment); });
  if (!j) return j.error();
  journal_ = std::move(*j);
  return replayed;
}

result<void> duckdb_store::append(std::shared_ptr<const batch> b) {
  if (options_.read_only) {
    return error{"the store in " + directory_->path() +
                 " is open for questions only: run `telltale serve --store DIR` to add to it"};
  }
  if (overloaded()) {
    return error{"the store is behind by " + std::to_string(waiting_bytes_ >> 20) + " MiB; send again a little later"};
  }
  {
    const std::lock_guard lock(queue_mutex_);
    if (!broken_.empty()) return error{broken_};
    if (!blocked_.empty()) return error{blocked_};
  }
  if (b->records() == 0) return {};
  if (journal_) return journal_->append(std::move(b));
  enqueue(std::move(b), 0);
  return {};
}

void duckdb_store::settle() {
  std::unique_lock lock(queue_mutex_);
  const std::uint64_t wanted = enqueued_;
  flush_wanted_ = true;
  queue_changed_.notify_all();
  visible_changed_.wait(lock, [&] { return visible_ >= wanted || stopping_ || !broken_.empty(); });
}

namespace {

void count(store_stats& s, const file_entry& e) {
  if (e.rows == 0) return;
  if (e.kind == file_kind::logs) s.logs += e.rows;
  if (e.kind == file_kind::metrics) s.metric_points += e.rows;
  if (e.kind == file_kind::links) s.links += e.rows;
  if (e.kind == file_kind::thinned) s.thinned += e.rows;
  if (e.kind != file_kind::spans) return;
  s.spans += e.rows;
  s.oldest_ns = s.oldest_ns == 0 ? e.min_ns : std::min(s.oldest_ns, e.min_ns);
  s.newest_ns = std::max(s.newest_ns, e.max_ns);
}

}  // namespace

store_stats duckdb_store::stats() const {
  store_stats s;
  {
    const std::lock_guard lock(layout_mutex_);
    for (const auto& f : layout_->files) {
      count(s, f->entry());
      s.bytes += f->entry().bytes;
      if (f->entry().kind == file_kind::spans) ++s.files;
    }
    for (const file_entry& e : in_memory_) count(s, e);
    s.repeated = repeated_;
  }
  if (journal_) s.journal_bytes = journal_->bytes();
  s.bytes += s.journal_bytes;
  s.open_spans = open_.size();
  const std::lock_guard lock(queue_mutex_);
  s.waiting = enqueued_ - visible_;
  return s;
}

void duckdb_store::enqueue(std::shared_ptr<const batch> b, std::uint64_t segment) {
  {
    const std::lock_guard lock(queue_mutex_);
    if (b) {
      waiting_bytes_ += b->bytes();
      enqueued_ += b->records();
    }
    queue_.push_back({std::move(b), segment});
  }
  queue_changed_.notify_all();
}

void duckdb_store::insert_loop() {
  yield_to_questions(nice_ingest);
  auto flushed = clock::now();
  auto looked = clock::now();
  for (;;) {
    std::deque<item> items;
    bool flush_now = false;
    {
      std::unique_lock lock(queue_mutex_);
      queue_changed_.wait_for(lock, std::chrono::milliseconds(100),
                              [&] { return stopping_ || !queue_.empty() || flush_wanted_; });
      if (stopping_ && queue_.empty()) return;
      items.swap(queue_);
      flush_now = flush_wanted_;
      flush_wanted_ = false;
    }
    result<void> good;
    for (item& i : items) {
      if (!good) break;
      good = i.what ? insert(i.what) : seal(i.segment);
      if (i.what) waiting_bytes_ -= i.what->bytes();
    }
    const auto now = clock::now();
    if (good && tables_->has_unseen() && (flush_now || now - flushed > std::chrono::milliseconds(200))) {
      good = flush();
      flushed = now;
    } else if (flush_now) {
      tell_visible(0);
    }
    if (good && is_due(now)) {
      if (const auto ended = journal_->end_segment(); !ended) block(ended.error().message);
    }
    if (now - looked > std::chrono::seconds(1)) {
      looked = now;
      if (journal_ && options_.sync == store_options::fsync::interval) journal_->sync();
      for (auto& b : open_.take_lost(now, std::chrono::seconds(options_.heartbeat_timeout_seconds))) {
        (void)append(std::move(b));
      }
    }
    if (!good) {
      fail(good.error().message);
      return;
    }
  }
}

void duckdb_store::fail(const std::string& why) {
  const std::lock_guard lock(queue_mutex_);
  broken_ = "the store takes nothing more until it is started again: " + why;
  visible_changed_.notify_all();
}

// Whether the tables become files now, though their segment of the journal has room.
bool duckdb_store::is_due(clock::time_point now) const {
  if (!directory_ || tables_->rows() == 0 || now < retry_) return false;
  return patience_ != std::chrono::seconds(0) || now - begun_ > std::chrono::seconds(options_.seconds_per_file);
}

result<void> duckdb_store::insert(const std::shared_ptr<const batch>& b) {
  if (const auto kept = tables_->insert(b); !kept) return kept;
  {
    const std::lock_guard lock(layout_mutex_);
    in_memory_ = tables_->counts();
    repeated_ = repeated_before_ + tables_->repeated();
  }
  open_.follow(*b);
  listeners_.tell(*b);
  return {};
}

result<void> duckdb_store::flush() {
  const auto flushed = tables_->flush();
  if (!flushed) return flushed.error();
  tell_visible(*flushed);
  return {};
}

void duckdb_store::tell_visible(std::uint64_t records) {
  {
    const std::lock_guard lock(queue_mutex_);
    visible_ += records;
    if (inserter_.get_id() == std::thread::id{}) enqueued_ += records;  // replayed from the journal
  }
  visible_changed_.notify_all();
}

// Files can't be written now, for want of room most likely: the tables stay, nothing more is taken, and it is tried
// again after a while.
void duckdb_store::block(const std::string& why) {
  patience_ = std::clamp(patience_ * 2, std::chrono::seconds(1), std::chrono::seconds(8));
  retry_ = clock::now() + patience_;
  const std::lock_guard lock(queue_mutex_);
  blocked_ = "the store takes nothing for now: " + why + ". It goes on by itself once that can be written";
}

std::uint64_t duckdb_store::next_number() {
  const std::lock_guard lock(files_mutex_);
  return manifest_.next++;
}

// What is sorted at once has room beside the tables it comes from.
std::uint64_t duckdb_store::bytes_at_once() const noexcept {
  return options_.memory_bytes / 4;
}

// Traces whose detail isn't kept. Later parts of a trace that was kept stay with it.
result<thinned_counts> duckdb_store::choose_thinned() const {
  if (options_.sampling.keep >= 1) return thinned_counts{};
  const auto l = current();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return hub::choose_thinned(*writer_, tables_->generation(), options_.sampling,
                             std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(), [&](trace_id id) {
                               return !open_.of(id).empty() ||
                                      std::any_of(l->files.begin(), l->files.end(), [&](const auto& f) {
                                        return f->entry().kind == file_kind::spans && f->may_hold(id);
                                      });
                             });
}

result<void> duckdb_store::write_files(std::vector<std::shared_ptr<data_file>>& made) {
  const durations_by_name durations = tables_->known()->durations();
  const auto thinned = choose_thinned();
  if (!thinned) return thinned.error();
  const bool all = thinned->spans == 0;
  // More than can be sorted at once, as after a while without room, becomes several files, each trace in one of them.
  const std::uint64_t parts = 1 + tables_->bytes() / (bytes_at_once() + bytes_at_once() / 4);
  const auto write = [&](const std::string& select, file_entry e) -> result<void> {
    if (e.rows == 0) return {};
    // The histograms are those of all spans, so they stand beside a file that has them all.
    const auto written = write_file(*writer_, directory_->path(), select, next_number(), e,
                                    all && parts == 1 && e.kind == file_kind::spans ? &durations : nullptr);
    if (!written) return written;
    auto f = data_file::open(*writer_, directory_->path(), e);
    if (!f) {
      remove_file(directory_->path(), e);
      return f.error();
    }
    made.push_back(std::move(*f));
    return {};
  };
  for (const file_kind k : kinds) {
    file_entry e = tables_->counts()[index(k)];
    std::string select = select_memory(k, tables_->generation());
    if (!all && k == file_kind::spans) {
      select = kept_of(select, "trace_hi", "trace_lo");
      e.rows -= thinned->spans;
    } else if (!all && k == file_kind::links) {
      select = kept_of(select, "from_trace_hi", "from_trace_lo");
      e.rows -= thinned->links;
    }
    if (k != file_kind::spans || parts == 1) {
      if (const auto written = write(select, std::move(e)); !written) return written;
      continue;
    }
    for (std::uint64_t part = 0; part < parts; ++part) {
      const std::string of_part =
          "SELECT * FROM (" + select + ") WHERE trace_lo % " + std::to_string(parts) + " = " + std::to_string(part);
      const auto counted = writer_->each("SELECT count(*), min(start_ns), max(start_ns) FROM (" + of_part + ")",
                                         [&](const duck::rows& r) {
                                           e.rows = r.get<std::uint64_t>(0, 0);
                                           e.min_ns = r.get<std::int64_t>(1, 0);
                                           e.max_ns = r.get<std::int64_t>(2, 0);
                                         });
      if (!counted) return counted;
      if (const auto written = write(of_part, e); !written) return written;
    }
  }
  file_entry e;
  e.kind = file_kind::thinned;
  e.rows = thinned->spans;
  e.min_ns = thinned->min_ns;
  e.max_ns = thinned->max_ns;
  return write(thinned_of(tables_->generation()), std::move(e));
}

// The tables become files. Journal segments up to `segment` are in them.
result<void> duckdb_store::seal(std::uint64_t segment) {
  if (const auto flushed = flush(); !flushed) return flushed;
  const std::uint64_t sealed = tables_->generation();
  std::vector<std::shared_ptr<data_file>> made;
  auto written = write_files(made);
  const std::lock_guard lock(files_mutex_);
  auto next = manifest_;
  for (const auto& f : made) next.files.push_back(f->entry());
  next.journal_through = segment;
  if (written) written = write_manifest(directory_->path(), next);
  if (!written) {
    for (const auto& f : made) f->unwant();
    block(written.error().message);
    return {};
  }
  manifest_ = std::move(next);
  patience_ = {};
  {
    const std::lock_guard queue_lock(queue_mutex_);
    blocked_.clear();
  }
  auto l = *current();
  l.files.insert(l.files.end(), made.begin(), made.end());
  repeated_before_ += tables_->repeated();
  recent_spans before = tables_->take_recent();
  tables_.reset();
  if (const auto begun = new_generation(std::move(l), std::move(before)); !begun) return begun;
  if (const auto dropped = writer_->run(drop_tables(sealed)); !dropped) return dropped;
  journal_->remove_through(segment);
  return {};
}

std::shared_ptr<const duckdb_store::layout> duckdb_store::current() const {
  const std::lock_guard lock(layout_mutex_);
  return layout_;
}

// Views over tables and files, in the connection's transaction.
result<void> duckdb_store::make_views(const duck::connection& c, const layout& l) const {
  const auto paths_of = [&](file_kind k) {
    std::vector<std::string> paths;
    for (const auto& f : l.files) {
      if (f->entry().kind == k) paths.push_back(sql_.text(f->path()));
    }
    return paths;
  };
  for (const file_kind k : kinds) {
    if (const auto made = c.run(create_view(k, l.generation, paths_of(k))); !made) return made;
  }
  return c.run(create_counted_view(paths_of(file_kind::thinned)));
}

// Empty tables for what comes next.
result<void> duckdb_store::new_generation(layout l, recent_spans before) {
  l.generation = ++generation_;
  if (const auto made = writer_->run("BEGIN; " + create_tables(generation_)); !made) return made;
  if (const auto made = make_views(*writer_, l); !made) return made;
  if (const auto made = writer_->run("COMMIT"); !made) return made;
  tables_ = std::make_unique<memory_tables>(db_.get(), generation_, std::move(before));
  l.known = tables_->known();
  begun_ = clock::now();
  const std::lock_guard lock(layout_mutex_);
  layout_ = std::make_shared<const layout>(std::move(l));
  in_memory_ = tables_->counts();
  return {};
}

// What a request that is sent again after a restart may hold: the spans of the newest file.
recent_spans duckdb_store::newest_spans(const layout& l) const {
  recent_spans out;
  const auto newest =
      std::find_if(l.files.rbegin(), l.files.rend(), [](const auto& f) { return f->entry().kind == file_kind::spans; });
  if (newest == l.files.rend() || options_.read_only) return out;
  // Where it can't be read, what comes again is kept twice.
  (void)duck::connection(reader_.get())
      .each("SELECT trace_hi, trace_lo, span, state FROM read_parquet(" + sql_.text((*newest)->path()) + ")",
            [&](const duck::rows& r) {
              for (std::size_t i = 0; i < r.size(); ++i) {
                out.add({r.get<std::uint64_t>(0, i), r.get<std::uint64_t>(1, i)}, {r.get<std::uint64_t>(2, i)},
                        static_cast<span_state>(r.get<std::uint8_t>(3, i)));
              }
            });
  return out;
}

result<std::unique_ptr<store>> open_store(store_options options) {
  auto s = std::make_unique<duckdb_store>(std::move(options));
  if (const auto started = s->start(); !started) return started.error();
  return std::unique_ptr<store>(std::move(s));
}

}  // namespace telltale::hub
