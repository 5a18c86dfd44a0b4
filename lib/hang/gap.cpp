#include "hang/gap.hpp"

#include "format/call_record.hpp"

namespace cairn::hang {

std::uint64_t entries_of(Gap::Cause cause) {
  switch (cause) {
    case Gap::Cause::message_counters: return CallFile::kMessages;
    case Gap::Cause::pending_requests: return CallFile::kPending;
    case Gap::Cause::communicators: return CallFile::kComms;
    case Gap::Cause::threads: return CallFile::kThreads;
    case Gap::Cause::older_format:
    case Gap::Cause::no_communicator:
    case Gap::Cause::other_requests:
    case Gap::Cause::opaque_call:
    case Gap::Cause::wildcards: return 0;
  }
  return 0;
}

}  // namespace cairn::hang
