// The bell of a PosixStore: two counters in a mapped file, and the kernel's futex on each, so that one process can wake
// another, sleeping one at the cost of one system call.
//
// If somebody removes the store while a job runs, processes that opened the bell earlier have another file than those
// that open it later. So each process checks, whenever it rings or waits, whether its file is still the one in the
// store's directory. If it is not, the process switches to that one, and counts this as a ring, because it may have
// missed one.
#pragma once

#include <memory>
#include <string>

#include "store/posix/posix_file.hpp"
#include "store/store.hpp"

namespace cairn::posix {

// Where a job's directory is: <root>/<job>.
struct JobPlace {
  std::string root;
  std::string job;
};

// In the job's directory `directory`, which is at `place`. Only processes of one host hear each other.
[[nodiscard]] Result<std::unique_ptr<Bell>> open_bell(int directory, const JobPlace& place);

}  // namespace cairn::posix
