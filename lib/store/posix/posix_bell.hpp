// The bell of a PosixStore: two counters in a mapped file, and the kernel's futex on each, so that a waiting
// process sleeps and is woken across process borders at the price of one system call.
//
// When somebody removes the store under a running job, those who opened the bell before have another file than those
// who open it later. So each looks, whenever it rings or waits, whether its file is still the one in the
// store's directory, and goes over to that one if it is not; which counts as a ring, as one may have been missed.
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
