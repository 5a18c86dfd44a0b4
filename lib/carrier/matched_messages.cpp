#include "carrier/matched_messages.hpp"

#include <utility>

#include "base/check.hpp"
#include "mpi/payload.hpp"

namespace cairn {

MPI_Message MatchedMessages::add(Matched matched) {
  const auto held = lock_.hold();
  const MPI_Message stand_in = stand_ins_.take();
  if (stand_in != MPI_MESSAGE_NULL) check(messages_.emplace(stand_in, std::move(matched)).second);
  return stand_in;
}

bool MatchedMessages::has(MPI_Message message) const {
  const auto held = lock_.hold();
  return messages_.contains(message);
}

bool MatchedMessages::empty() const {
  const auto held = lock_.hold();
  return messages_.empty();
}

int MatchedMessages::receive(MPI_Message& message, const tap::IncomingMessage& into, MPI_Status* status) {
  const auto held = lock_.hold();
  auto found = messages_.extract(message);
  check(!found.empty());
  stand_ins_.give_back(std::exchange(message, MPI_MESSAGE_NULL));
  const Matched& matched = found.mapped();
  return put_payload(matched.payload, matched.peer, matched.tag, into.buffer, into.count, into.type, MPI_COMM_SELF,
                     status);
}

}  // namespace cairn
