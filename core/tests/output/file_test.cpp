// Files: rolling by size and age, failures that are counted and said once, and the queue in front of them.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include <csignal>
#include <ctime>
#include <mutex>

#include "recorded.hpp"
#include "sinks/output.hpp"
#include "support/json_lines.hpp"
#include "support/process.hpp"

TELLTALE_MODULE("out::file");
using namespace telltale::literals;
using namespace telltale::testing;
using namespace telltale::detail;

namespace {

constexpr std::string_view ten = "123456789\n";

TEST(RollingFile, NeverGrowsBeyondItsSizeAndKeepsTheNumberAskedFor) {
  const temporary_directory dir;
  const auto target = rolling_target(dir / "app.log", {.max_bytes = 25, .keep = 2});
  ASSERT_TRUE(target);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE((*target)->write(ten));
  std::string three;
  for (int i = 0; i < 3; ++i) three += ten;
  ASSERT_TRUE((*target)->write(three));
  // 7 lines, two to a file: 1 in the newest, 2 in each older one, the oldest pair gone.
  EXPECT_EQ(contents(dir / "app.log"), ten);
  EXPECT_EQ(contents(dir / "app.log.1").size(), 20u);
  EXPECT_EQ(contents(dir / "app.log.2").size(), 20u);
  EXPECT_FALSE(std::filesystem::exists(dir / "app.log.3"));
}

TEST(NamedPipe, WithoutAReaderIsAnErrorAndNoWait) {
  const temporary_directory dir;
  const std::string path = dir / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto refused = file_target(path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "cannot open \"" + path + "\" for writing: nobody reads that pipe. Start its reader first.");

  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  const auto target = file_target(path);
  ASSERT_TRUE(target) << target.error().message;
  ASSERT_TRUE((*target)->write(ten));
  char got[32] = "";
  EXPECT_EQ(::read(reader, got, sizeof got), 10);
  EXPECT_EQ(std::string_view(got), ten);
  ::close(reader);
}

TEST(RollingFile, UsesItsSizeExactly) {
  const temporary_directory dir;
  const auto target = rolling_target(dir / "app.log", {.max_bytes = 20, .keep = 5});
  ASSERT_TRUE(target);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE((*target)->write(ten));
  EXPECT_EQ(contents(dir / "app.log").size(), 20u);
  EXPECT_EQ(contents(dir / "app.log.1").size(), 20u);
}

TEST(RollingFile, GivesALineThatIsLargerThanAFileOneOfItsOwn) {
  const temporary_directory dir;
  const auto target = rolling_target(dir / "app.log", {.max_bytes = 15, .keep = 5});
  ASSERT_TRUE(target);
  const std::string large = std::string(40, 'x') + "\n";
  ASSERT_TRUE((*target)->write(std::string(ten) + large + std::string(ten)));
  EXPECT_EQ(contents(dir / "app.log.2"), ten);
  EXPECT_EQ(contents(dir / "app.log.1"), large);
  EXPECT_EQ(contents(dir / "app.log"), ten);
}

TEST(RollingFile, GoesOnWithAFileThatIsThereAndRollsOneThatIsOld) {
  const temporary_directory dir;
  const std::string path = dir / "app.log";
  {
    const auto target = rolling_target(path, {.max_bytes = 1000, .max_age = std::chrono::hours(1)});
    ASSERT_TRUE((*target)->write("first\n"));
  }
  {
    const auto target = rolling_target(path, {.max_bytes = 1000, .max_age = std::chrono::hours(1)});
    ASSERT_TRUE((*target)->write("second\n"));
  }
  EXPECT_EQ(contents(path), "first\nsecond\n");
  const std::time_t long_ago = std::time(nullptr) - 7200;
  const utimbuf times{long_ago, long_ago};
  ASSERT_EQ(::utime(path.c_str(), &times), 0);
  const auto target = rolling_target(path, {.max_bytes = 1000, .max_age = std::chrono::hours(1)});
  ASSERT_TRUE((*target)->write("third\n"));
  EXPECT_EQ(contents(path), "third\n");
  EXPECT_EQ(contents(path + ".1"), "first\nsecond\n");
}

TEST(RollingFile, WithoutOldOnesKeepsNone) {
  const temporary_directory dir;
  const auto target = rolling_target(dir / "app.log", {.max_bytes = 10, .keep = 0});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*target)->write(ten));
  EXPECT_EQ(contents(dir / "app.log"), ten);
  EXPECT_FALSE(std::filesystem::exists(dir / "app.log.1"));
}

TEST(RollingFile, SaysWhereItCannotBeOpened) {
  const auto target = rolling_target("/no/such/directory/app.log", {});
  ASSERT_FALSE(target);
  EXPECT_NE(target.error().message.find("/no/such/directory/app.log"), std::string::npos);
  EXPECT_NE(target.error().message.find("No such file or directory"), std::string::npos);
}

TEST(RollingFile, WhoseDirectoryGoesAwaySaysSoAndGoesOn) {
  const temporary_directory dir;
  const std::string inner = dir / "inner";
  std::filesystem::create_directory(inner);
  const auto target = rolling_target(inner + "/app.log", {.max_bytes = 10});
  ASSERT_TRUE((*target)->write(ten));
  std::filesystem::remove_all(inner);
  const auto failed = (*target)->write(ten);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find(inner + "/app.log"), std::string::npos);
  std::filesystem::create_directory(inner);
  EXPECT_TRUE((*target)->write(ten));
  EXPECT_EQ(contents(inner + "/app.log"), ten);
}

// --- through the whole library --------------------------------------------------------------------------------------

class Recording : public ::testing::Test {
 protected:
  static void begin(const std::string& sinks) {
    telltale::options o;
    o.sinks = sinks;
    o.overflow = telltale::overflow_policy::block;
    o.overhead = 0;  // each record
    const auto started = telltale::start(o);
    ASSERT_TRUE(started) << started.error().message;
  }
  void TearDown() override {
    telltale::options o;
    o.sinks = "none";
    EXPECT_TRUE(telltale::start(o));
  }
  temporary_directory dir;
};

TEST_F(Recording, IntoRollingFilesLosesNothing) {
  begin("rolling:" + (dir / "r.jsonl") + "?max_size=4KiB,keep=100,overflow=block");
  for (int i = 0; i < 500; ++i) TELLTALE_INFO("line", "i"_a = i);
  ASSERT_TRUE(telltale::flush(std::chrono::seconds(20)));
  std::set<int> seen;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    EXPECT_LE(entry.file_size(), 4096u);
    for (const json& l : read_lines(entry.path())) seen.insert(l.at("attributes").at("i").get<int>());
  }
  EXPECT_EQ(seen.size(), 500u);
}

TEST_F(Recording, IntoAFullDiskIsCountedAndSaidOnce) {
  begin("json:/dev/full; json:" + (dir / "ok.jsonl") + "?overflow=block");
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 50; ++i) {
    TELLTALE_INFO("line", "i"_a = i);
    if (i % 10 == 9) (void)telltale::flush(std::chrono::seconds(20));
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(count_of(said, "\n"), 1u) << said;
  EXPECT_NE(said.find("/dev/full"), std::string::npos);
  EXPECT_NE(said.find("No space left on device"), std::string::npos);
  EXPECT_EQ(telltale::stats().sink_dropped, 50u);
  EXPECT_GE(telltale::stats().sink_errors, 5u);
  EXPECT_EQ(read_lines(dir / "ok.jsonl").size(), 50u) << "another sink does not notice";
}

// A target that stands still until it is told to go on.
class gate final : public line_target {
 public:
  telltale::result<void> take(std::string_view& lines) override {
    std::unique_lock lock(mutex_);
    entered_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
    written_ += lines;
    return {};
  }
  std::shared_ptr<line_target> for_child() const override { return nullptr; }
  std::string name() const override { return "gate"; }
  void wait_until_entered() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return entered_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  std::string written() const {
    const std::lock_guard lock(mutex_);
    return written_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool entered_ = false;
  bool open_ = false;
  std::string written_;
};

buffer holding(std::string_view s) {
  buffer b;
  b.append(s);
  return b;
}

TEST(Output, DropsWhatExceedsItsLimitAndCountsIt) {
  const auto target = std::make_shared<gate>();
  output out(target, telltale::overflow_policy::drop, 30);
  buffer b = holding(ten);
  out.submit(b, 1);
  target->wait_until_entered();
  for (int i = 0; i < 5; ++i) {
    b = holding(ten);
    out.submit(b, 1);
  }
  EXPECT_EQ(out.dropped(), 3u) << "one being written and two waiting fill 30 bytes";
  EXPECT_FALSE(out.flush(std::chrono::steady_clock::now() + std::chrono::milliseconds(20)));
  EXPECT_EQ(out.take_untold_drops(), 3u);
  EXPECT_EQ(out.take_untold_drops(), 0u);
  target->open();
  EXPECT_TRUE(out.flush(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
  EXPECT_EQ(target->written().size(), 30u);
}

TEST(Output, ThatBlocksLosesNothing) {
  const auto target = std::make_shared<gate>();
  output out(target, telltale::overflow_policy::block, 20);
  std::thread producer([&] {
    for (int i = 0; i < 10; ++i) {
      buffer b = holding(ten);
      out.submit(b, 1);
    }
  });
  target->wait_until_entered();
  target->open();
  producer.join();
  EXPECT_TRUE(out.flush(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
  EXPECT_EQ(target->written().size(), 100u);
  EXPECT_EQ(out.dropped(), 0u);
}

TEST(Output, ThatHangsIsLeftBehindWhenItGoes) {
  const auto target = std::make_shared<gate>();
  {
    output out(target, telltale::overflow_policy::drop, 100);
    buffer b = holding(ten);
    out.submit(b, 1);
    target->wait_until_entered();
  }  // comes back although the write never does
  EXPECT_EQ(target->written(), "");
  target->open();
}

// Files that take so many bytes, as if the disk were full then.
class full_after {
 public:
  explicit full_after(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &former_);
    rlimit tight = former_;
    tight.rlim_cur = bytes;
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  }
  ~full_after() {
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &former_), 0);
    std::signal(SIGXFSZ, handler_);
  }
  full_after(const full_after&) = delete;
  full_after& operator=(const full_after&) = delete;

 private:
  rlimit former_{};
  void (*handler_)(int);
};

// A disk that fills in the middle of a line: the half line must not swallow the next whole one.
TEST(File, ThatFillsInTheMiddleOfALineKeepsTheNextOneReadable) {
  const temporary_directory dir;
  const auto target = file_target(dir / "small");
  ASSERT_TRUE(target);
  {
    const full_after limit(25);
    ASSERT_TRUE((*target)->write(std::string(ten) + std::string(ten)));
    EXPECT_FALSE((*target)->write(ten));
    EXPECT_FALSE((*target)->write(ten)) << "not even the line feed fits";
  }
  ASSERT_TRUE((*target)->write(ten));
  EXPECT_EQ(contents(dir / "small"), std::string(ten) + std::string(ten) + "12345\n" + std::string(ten));
}

// Where a disk fills within what is written at once, what came before is not lost, and isn't counted so.
TEST(File, ThatFillsCountsTheLinesThatAreNotThere) {
  const temporary_directory dir;
  for (const bool rolls : {false, true}) {
    const auto target = rolls ? rolling_target(dir / "rolling", {}) : file_target(dir / "plain");
    ASSERT_TRUE(target);
    output out(*target, telltale::overflow_policy::drop, 1000);
    const full_after limit(25);
    ::testing::internal::CaptureStderr();  // its file takes no more either
    buffer five = holding("123456789\n123456789\n123456789\n123456789\n123456789\n");
    out.submit(five, 5);
    EXPECT_TRUE(out.flush(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
    (void)::testing::internal::GetCapturedStderr();
    EXPECT_EQ(out.errors(), 1u);
    EXPECT_EQ(out.dropped(), 3u) << "two whole lines are there, and half of one";
  }
  EXPECT_EQ(contents(dir / "plain"), "123456789\n123456789\n12345");
  EXPECT_EQ(contents(dir / "rolling"), contents(dir / "plain"));
}

}  // namespace
