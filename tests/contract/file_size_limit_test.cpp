// The limit on file sizes (`ulimit -f`): what is beyond it fails by name, and no signal reaches the application, which
// keeps its own handler. Each test writes in a process of its own, since the signal would end it.
#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "base/file_size_limit.hpp"
#include "base/trace.hpp"
#include "session/handover.hpp"
#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"
#include "support/temp_directory.hpp"

namespace cairn {
namespace {

using test::Names;

constexpr std::uint64_t kLimit = 64 * 1024;
constexpr std::uint64_t kLarge = 1024 * 1024;

void limit_files(rlim_t bytes) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  setrlimit(RLIMIT_FSIZE, &limit);
}

sigset_t the_signal() {
  sigset_t set{};
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

bool is_pending() {
  sigset_t pending{};
  sigpending(&pending);
  return sigismember(&pending, SIGXFSZ) == 1;
}

bool is_blocked() {
  sigset_t blocked{};
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return sigismember(&blocked, SIGXFSZ) == 1;
}

[[noreturn]] void end_with(const std::string& told) {
  limit_files(RLIM_INFINITY);  // stderr may be a file
  std::fprintf(stderr, "%s\n", told.c_str());
  std::_Exit(is_blocked() || is_pending() ? 1 : 0);
}

std::string text_of(const Status& status) { return status ? "no error" : status.error().text(); }

// A store on disk or on tmpfs, where files are mapped.
class FileSize : public testing::TestWithParam<const char*> {
 protected:
  // What becomes of `use` where files may have 64 KiB: it ends with the error's text.
  void expect_named_error(const std::function<Status(Store&)>& use) {
    const auto in_child = [&] {
      auto store = PosixStore::open(directory_.path(), "heat");
      if (!store) end_with(store.error().text());
      limit_files(kLimit);
      end_with(text_of(use(**store)));
    };
    EXPECT_EXIT(in_child(), testing::ExitedWithCode(0), Names({std::generic_category().message(EFBIG), "ulimit -f"}));
  }

  test::TempDirectory directory_{GetParam()};
  const Buffer bytes_ = Buffer(kLarge, std::byte{7});
};

INSTANTIATE_TEST_SUITE_P(stores, FileSize, testing::Values("/tmp", "/dev/shm"),
                         [](const auto& info) { return std::string(info.index == 0 ? "disk" : "tmpfs"); });

TEST_P(FileSize, limits_a_file_whose_room_is_reserved) {
  expect_named_error([](Store& store) -> Status {
    const auto writer = store.create({"large"}, kLarge, "test");
    return writer ? Status{} : fail(writer.error());
  });
}

TEST_P(FileSize, limits_a_file_that_grows) {
  expect_named_error([this](Store& store) -> Status {
    const auto writer = store.create({"large"}, 1, "test");
    return writer ? (*writer)->write(0, bytes_) : fail(writer.error());
  });
}

TEST_P(FileSize, limits_a_file_that_processes_share) {
  expect_named_error([](Store& store) -> Status {
    const auto shared = store.share({"shared"}, kLarge);
    return shared ? Status{} : fail(shared.error());
  });
}

TEST(FileSizeLimit, fails_a_write_and_does_not_call_the_handler_of_the_application) {
  const test::TempDirectory directory("/tmp");
  const auto in_child = [&] {
    std::signal(SIGXFSZ, [](int) { std::_Exit(3); });
    limit_files(0);
    const auto written = write_mark(directory.path() + "/mark", {CompletionMark::Kind::finished, {}});
    if (std::signal(SIGXFSZ, SIG_DFL) == SIG_DFL) end_with("the handler is gone");
    end_with(text_of(written));
  };
  EXPECT_EXIT(in_child(), testing::ExitedWithCode(0),
              Names({directory.path() + "/mark", std::generic_category().message(EFBIG)}));
}

TEST(FileSizeLimit, leaves_a_signal_that_was_pending_before) {
  const auto in_child = [&] {
    const sigset_t set = the_signal();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    { const FileSizeLimit nothing_pending; }
    if (is_pending()) end_with("pending too early");
    pthread_kill(pthread_self(), SIGXFSZ);
    { const FileSizeLimit pending_before; }
    std::fprintf(stderr, "%s, %s\n", is_pending() ? "pending" : "lost", is_blocked() ? "blocked" : "not blocked");
    std::_Exit(0);
  };
  EXPECT_EXIT(in_child(), testing::ExitedWithCode(0), "pending, blocked");
}

TEST(FileSizeLimit, ends_a_trace_with_a_warning) {
  const test::TempDirectory directory("/tmp");
  const auto in_child = [&] {
    limit_files(kLimit);
    {
      const Trace trace(directory.path() + "/t.json", TraceProcess::of_rank(Rank{0}, "a"), Log(LogLevel::info));
      trace.begin(Incarnation{1});
      for (int i = 0; i < 10000; ++i) trace.span("work").end();
    }
    end_with("kept-going");
  };
  EXPECT_EXIT(in_child(), testing::ExitedWithCode(0),
              testing::AllOf(Names({"t.i0001.rank000000.json", std::generic_category().message(EFBIG)}),
                             Names({"kept-going"})));
}

}  // namespace
}  // namespace cairn
