#include "hang/names.hpp"

namespace cairn::hang {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::healthy: return "healthy";
    case Verdict::waits: return "waits";
    case Verdict::suspect: return "suspect";
    case Verdict::hangs: return "hangs";
    case Verdict::over: return "over";
  }
  return "unknown";
}

std::string_view name_of(Cause cause) {
  switch (cause) {
    case Cause::circle: return "circle";
    case Cause::collective_mismatch: return "collective_mismatch";
    case Cause::left_out: return "left_out";
    case Cause::stopped: return "stopped";
    case Cause::dead: return "dead";
    case Cause::left: return "left";
    case Cause::unseen: return "unseen";
    case Cause::computes: return "computes";
    case Cause::idles: return "idles";
    case Cause::in_call: return "in_call";
    case Cause::polls: return "polls";
    case Cause::unrecorded: return "unrecorded";
    case Cause::all_stopped: return "all_stopped";
  }
  return "unknown";
}

std::string_view name_of(Certainty certainty) {
  switch (certainty) {
    case Certainty::certain: return "certain";
    case Certainty::likely: return "likely";
    case Certainty::unknown: return "unknown";
  }
  return "unknown";
}

std::string_view name_of(Reason reason) {
  switch (reason) {
    case Reason::collective_not_begun: return "collective_not_begun";
    case Reason::collective_maybe_not_begun: return "collective_maybe_not_begun";
    case Reason::collective_halted: return "collective_halted";
    case Reason::collective_not_progressed: return "collective_not_progressed";
    case Reason::collective_mismatch: return "collective_mismatch";
    case Reason::head_halted: return "head_halted";
    case Reason::head_works: return "head_works";
    case Reason::head_outside: return "head_outside";
    case Reason::message_not_sent: return "message_not_sent";
    case Reason::message_not_sent_again: return "message_not_sent_again";
    case Reason::message_sent_otherwise: return "message_sent_otherwise";
    case Reason::message_sent_earlier_otherwise: return "message_sent_earlier_otherwise";
    case Reason::message_taken_by_wildcard: return "message_taken_by_wildcard";
    case Reason::message_not_progressed: return "message_not_progressed";
    case Reason::message_maybe_not_sent: return "message_maybe_not_sent";
    case Reason::message_expected: return "message_expected";
    case Reason::message_from_any: return "message_from_any";
    case Reason::receive_not_posted: return "receive_not_posted";
    case Reason::receive_posted_otherwise: return "receive_posted_otherwise";
    case Reason::receive_maybe_not_posted: return "receive_maybe_not_posted";
    case Reason::receive_expected: return "receive_expected";
  }
  return "unknown";
}

std::string_view name_of(Doing doing) {
  switch (doing) {
    case Doing::computes: return "computes";
    case Doing::idles: return "idles";
    case Doing::in_call: return "in_call";
    case Doing::polls: return "polls";
    case Doing::stopped: return "stopped";
    case Doing::dead: return "dead";
    case Doing::left: return "left";
    case Doing::unseen: return "unseen";
  }
  return "unknown";
}

std::string_view name_of(Gap::Cause cause) {
  switch (cause) {
    case Gap::Cause::message_counters: return "message_counters_full";
    case Gap::Cause::pending_requests: return "pending_requests_full";
    case Gap::Cause::communicators: return "communicators_full";
    case Gap::Cause::threads: return "threads_full";
    case Gap::Cause::older_format: return "older_format";
    case Gap::Cause::no_communicator: return "no_communicator";
    case Gap::Cause::other_requests: return "other_requests";
    case Gap::Cause::opaque_call: return "opaque_call";
    case Gap::Cause::wildcards: return "wildcards";
  }
  return "unknown";
}

std::string_view name_of(Note::Cause cause) {
  switch (cause) {
    case Note::Cause::more_circles: return "more_circles";
    case Note::Cause::dead: return "dead";
    case Note::Cause::stopped: return "stopped";
    case Note::Cause::left: return "left";
    case Note::Cause::head_dead: return "head_dead";
    case Note::Cause::head_stopped: return "head_stopped";
    case Note::Cause::unseen: return "unseen";
    case Note::Cause::waits_for_heads: return "waits_for_heads";
    case Note::Cause::waits_for_mpi: return "waits_for_mpi";
  }
  return "unknown";
}

}  // namespace cairn::hang
