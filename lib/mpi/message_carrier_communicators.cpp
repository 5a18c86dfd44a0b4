// Communicators that the application makes of session.comm() before restore(). A replacement gets those of which it is
// a member, which the repair has made again.
#include <string_view>

#include <fmt/format.h>

#include "mpi/message_carrier.hpp"

namespace cairn {
namespace {

// What a repair can make again.
bool can_be_made_again(std::string_view call) {
  return call.starts_with("MPI_Comm_dup") || call.starts_with("MPI_Comm_split") || call == "MPI_Comm_create" ||
         call.starts_with("MPI_Cart_");
}

}  // namespace

std::optional<int> MessageCarrier::makes_communicator(const char* call, MPI_Comm parent, bool is_in, MPI_Comm* made,
                                                      const std::function<int()>& make) {
  if (setting_.journal.is_started() || !can_be_made_again(call) || !is_of_session_thread()) return {};
  Channel& from = channel_of(parent);
  const std::uint64_t place = from.calls++;
  // A failure makes all ranks roll back: none has left restore().
  if (!setting_.replaces || from.size() == 1) {
    const int code = make();
    return code == MPI_SUCCESS ? add_communicator(from, place, *made) : code;
  }
  if (const Channel* const known = channels_.take({from.facts.number, place})) {
    *made = known->handle;
    return MPI_SUCCESS;
  }
  *made = MPI_COMM_NULL;
  if (!is_in) return MPI_SUCCESS;
  // Its members would know it, so this rank is alone in it.
  if (std::string_view(call).starts_with("MPI_Comm_split") && setting_.journal.prologue().others_survive()) {
    const int code = MPI_Comm_dup(MPI_COMM_SELF, made);
    return code == MPI_SUCCESS ? add_communicator(from, place, *made) : code;
  }
  return rolls_back(fmt::format("{}: no survivor knows the communicator of its {} before restore()", my_name(), call));
}

int MessageCarrier::add_communicator(const Channel& parent, std::uint64_t place, MPI_Comm made) {
  if (made == MPI_COMM_NULL) return MPI_SUCCESS;
  const int added = channels_.add(parent, place, made);
  if (added != MPI_SUCCESS) return after(added, parent.handle).value_or(added);
  setting_.adopts(channels_.find(made)->own);
  return added;
}

Status MessageCarrier::makes_communicators_again(Comm& ranks, MPI_Comm twin) {
  return channels_.remake(ranks, twin, setting_.replaces && !setting_.journal.is_started(), setting_.adopts);
}

}  // namespace cairn
