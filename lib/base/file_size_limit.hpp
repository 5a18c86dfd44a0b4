// The limit on file sizes (`ulimit -f`) as an error of the write. Beyond the limit the kernel raises SIGXFSZ, which
// ends the process unless the application has another handler. While an object of this class lives, a write of its
// thread beyond the limit only fails, with EFBIG.
//
// The application's handler and the masks of other threads stay as they are: the signal is blocked in this thread, and
// taken back before the mask is restored. One that was pending before stays pending. Keeps errno. Local.
#pragma once

#include <csignal>

namespace cairn {

class FileSizeLimit {
 public:
  FileSizeLimit();
  ~FileSizeLimit();
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  sigset_t before_{};         // of this thread
  bool was_pending_ = false;  // the application has blocked the signal, and one came
};

}  // namespace cairn
