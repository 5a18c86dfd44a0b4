// A cluster of threads, with stores in memory. Everything can fail in it, at any operation. A job that hangs ends the
// process (see support/thread_cluster).
#pragma once

#include <memory>

#include "torture/cluster.hpp"

namespace cairn::torture {

[[nodiscard]] std::unique_ptr<Cluster> make_thread_cluster();

}  // namespace cairn::torture
