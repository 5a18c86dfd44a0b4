// Communicators that the application makes of session.comm(). A rank that others have left behind, such as a
// replacement, gets those of which it is a member: the repair has made them again.
#include <algorithm>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/mix.hpp"
#include "mpi/collectives/collectives.hpp"
#include "mpi/failure_handler.hpp"
#include "mpi/message_carrier.hpp"
#include "mpi/place_in.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

using replay::ChannelBook;

// Whether MPI knows a shape of it, and not only its members.
bool has_shape(std::string_view call) {
  return call.starts_with("MPI_Cart_") || call == "MPI_Graph_create" || call == "MPI_Dist_graph_create_adjacent";
}

// What a repair can make again.
bool can_be_made_again(std::string_view call) {
  return call.starts_with("MPI_Comm_dup") || call.starts_with("MPI_Comm_split") || call == "MPI_Comm_create" ||
         call == "MPI_Comm_create_group" || has_shape(call);
}

// Not 0.
std::uint64_t number_of(std::span<const std::uint32_t> members) {
  std::uint64_t number = 1;
  for (const std::uint32_t member : members) number = mix(number ^ member);
  return number | 1U;
}

std::uint64_t number_of(std::string_view call) {
  std::uint64_t number = 0;
  for (const char letter : call) number = mix(number ^ static_cast<unsigned char>(letter));
  return number;
}

std::optional<replay::Neighbourhood> copy_of(const std::optional<tap::Neighbours>& neighbours) {
  if (!neighbours) return {};
  const auto copy = [](std::span<const int> list) { return std::vector<int>(list.begin(), list.end()); };
  return replay::Neighbourhood{copy(neighbours->sources), copy(neighbours->targets), neighbours->has_weights,
                               copy(neighbours->source_weights), copy(neighbours->target_weights)};
}

}  // namespace

// A call of the application.
struct MessageCarrier::Making {
  const Channel& parent;
  std::span<const int> callers;  // by rank in the parent
  replay::Birthplace birth;
  std::uint64_t alike;  // with the call
  MPI_Comm* made;
  const std::function<int(MPI_Comm, MPI_Group)>& make;
  MPI_Group group;                // that the call names
  replay::Neighbourhoods& graph;  // that this rank keeps
  bool gives_neighbours;          // each rank its own
};

// Messages of Cairn's own, which are not logged. A wait for one ends when a process has died.
class MessageCarrier::PatientMessages final : public collectives::Messages {
 public:
  // `ranks`: of the channel, this one among them.
  PatientMessages(MessageCarrier& of, const Channel& channel, std::span<const int> ranks)
      : of_(of), comm_(channel.own), ranks_(ranks) {}

  [[nodiscard]] int rank() const override {
    return static_cast<int>(std::ranges::find(ranks_, rank_in(comm_)) - ranks_.begin());
  }
  [[nodiscard]] int size() const override { return static_cast<int>(ranks_.size()); }
  void send(const collectives::Source& what, int to) override {
    const collectives::Sent sent{what, to};
    exchange_all({&sent, 1}, {});
  }
  void receive(const collectives::Target& into, int from) override {
    const collectives::Received received{into, from};
    exchange_all({}, {&received, 1});
  }
  void exchange_all(std::span<const collectives::Sent> sent, std::span<const collectives::Received> received) override {
    auto [requests, code] = collectives::begin_all(
        sent, received,
        [&](const auto& one, MPI_Request* begun) {
          const auto& [at, count, type] = one.into;
          return MPI_Irecv(at, static_cast<int>(count), type, rank_of(one.from), kTag, comm_, begun);
        },
        [&](const auto& one, MPI_Request* begun) {
          const auto& [at, count, type] = one.what;
          return MPI_Isend(at, static_cast<int>(count), type, rank_of(one.to), kTag, comm_, begun);
        });
    // Each is over then, and uses no memory of the caller's.
    for (const MPI_Request request : requests)
      if (const int over = of_.wait_patiently(request, MPI_STATUS_IGNORE); over != MPI_SUCCESS) code = over;
    collectives::check(code);
  }

 private:
  static constexpr int kTag = 903;  // no other message of Cairn's communicator has it

  [[nodiscard]] int rank_of(int caller) const { return ranks_[static_cast<std::size_t>(caller)]; }

  MessageCarrier& of_;
  MPI_Comm comm_;
  std::span<const int> ranks_;
};

std::optional<int> MessageCarrier::makes_communicator(const tap::NewCommunicator& one, MPI_Comm* made,
                                                      const std::function<int(MPI_Comm, MPI_Group)>& make) {
  if (!can_be_made_again(one.call) || !is_of_session_thread()) return {};
  replay::Journal& journal = setting_.journal;
  ChannelBook& book = journal.channels();
  const Channel& parent = channel_of(one.parent);
  if (one.is_of_group && !one.is_in) {
    *made = MPI_COMM_NULL;
    return MPI_SUCCESS;
  }
  std::vector<int> callers(parent.facts.members.size());
  std::iota(callers.begin(), callers.end(), 0);
  if (one.is_of_group) callers = channels_.ranks_of(one.group, parent);
  // An error that MPI finds.
  if (std::ranges::any_of(callers, [](int caller) { return caller == MPI_UNDEFINED; })) return {};
  std::vector<std::uint32_t> members;
  for (const int caller : callers) members.push_back(parent.member(caller));
  const ChannelBook::Request request{parent.facts.number, one.is_in, one.alike ^ number_of(one.call),
                                     one.is_of_group ? number_of(members) : 0, copy_of(one.neighbours)};
  const auto birth = journal.makes_channel(request);
  if (!birth) return rolls_back(birth.error());
  // A duplicate has the graph of its parent.
  replay::Neighbourhoods graph;
  if (std::string_view(one.call).starts_with("MPI_Comm_dup")) graph = parent.facts.graph;
  if (request.neighbours) graph[rank_in(parent.handle)] = *request.neighbours;
  const Making making{
      parent, callers, *birth, request.alike, made, make, one.group, graph, request.neighbours.has_value()};
  while (true) {
    const auto known = book.look_up(making.birth, request, members);
    if (!known) return rolls_back(known.error());
    switch (*known) {
      case ChannelBook::Known::as_member: {
        const std::uint64_t number = book.mine(making.birth)->number;
        if (channels_.find_number(number) == nullptr)
          return rolls_back(fmt::format("{}: a graph of which no rank knows all neighbours", my_name()));
        Channel& taken = channels_.take(number);
        book.made(taken.facts);
        *made = taken.handle;
        return MPI_SUCCESS;
      }
      case ChannelBook::Known::as_other:
        book.made({.birth = making.birth});
        *made = MPI_COMM_NULL;
        return MPI_SUCCESS;
      case ChannelBook::Known::as_only_member: {
        if (has_shape(one.call)) return rolls_back(fmt::format("{}: a grid or graph of it alone", my_name()));
        const int code = MPI_Comm_dup(MPI_COMM_SELF, made);
        return code == MPI_SUCCESS ? add_communicator(making) : code;
      }
      case ChannelBook::Known::nothing: break;
    }
    if (setting_.replaces && !journal.is_started() && callers.size() > 1)
      return rolls_back(
          fmt::format("{}: no survivor knows the communicator of its {} before restore()", my_name(), one.call));
    if (const auto code = make_communicator(making)) return code;
  }
}

// All callers take part. Nothing: the job was repaired, and the others may have it.
std::optional<int> MessageCarrier::make_communicator(const Making& making) {
  const int code = FailureHandler::quietly([&] {
    // Open MPI does not end MPI_Comm_create_group if a member dies before it begins the call.
    if (is_patient() || making.birth.group != 0)
      if (const int met = meet_patiently(making); met != MPI_SUCCESS) return met;
    if (making.gives_neighbours)
      if (const int told = tell_keepers(making); told != MPI_SUCCESS) return told;
    const int made = make_of_twin(making);
    return made == MPI_SUCCESS ? add_communicator(making) : made;
  });
  return after(code, making.parent.handle);
}

// After a repair, the application's groups may have processes that are not in the twin.
int MessageCarrier::make_of_twin(const Making& making) {
  const Channel& parent = making.parent;
  if (making.group == MPI_GROUP_NULL || parent.twin == parent.handle) return making.make(parent.twin, MPI_GROUP_NULL);
  const std::vector<int> ranks = channels_.ranks_of(making.group, parent);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(parent.twin, &all);
  int code = MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &group);
  MPI_Group_free(&all);
  if (code != MPI_SUCCESS) return code;
  code = making.make(parent.twin, group);
  if (group != MPI_GROUP_EMPTY) MPI_Group_free(&group);
  return code;
}

int MessageCarrier::add_communicator(const Making& making) {
  ChannelBook& book = setting_.journal.channels();
  if (*making.made == MPI_COMM_NULL) {
    book.made({.birth = making.birth});
    return MPI_SUCCESS;
  }
  const Channel& parent = making.parent;
  if (parent.twin != parent.handle && &parent != &channels_.session()) {
    // MPI has taken the error handler of the twin.
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(parent.handle, &handler);
    MPI_Comm_set_errhandler(*making.made, handler);
    MPI_Errhandler_free(&handler);
  }
  int code = MPI_SUCCESS;
  Channel* const added = channels_.add(making.birth, making.alike, making.graph, *making.made, code);
  if (added == nullptr) return code;
  book.made(added->facts);
  setting_.adopts(added->own);
  if (making.gives_neighbours && added->facts.members != parent.facts.members)
    obstructs(fmt::format("{} makes a graph in which MPI has given ranks other numbers", my_name()),
              replay::Journal::Until::end);
  return MPI_SUCCESS;
}

// Before MPI makes it, which cannot be interrupted: a replacement may come to its call late, or, if it exchanges other
// messages than the dead rank, never.
int MessageCarrier::meet_patiently(const Making& making) {
  const tap::Unheard unheard;
  PatientMessages messages(*this, making.parent, making.callers);
  try {
    collectives::make(tap::collectives::Barrier{making.parent.own}, messages);
    return MPI_SUCCESS;
  } catch (const collectives::Failed& failed) {
    return failed.code;
  }
}

int MessageCarrier::tell_keepers(const Making& making) {
  const tap::Unheard unheard;
  PatientMessages messages(*this, making.parent, making.callers);
  const int size = messages.size();
  const int me = messages.rank();
  ByteWriter out;
  encode(making.graph.at(me), out);
  try {
    for (const int distance : replay::distances_to_keepers(size)) {
      const int to = (me + distance) % size;
      const int from = (me - distance + size) % size;
      const std::uint64_t length = out.size();
      std::uint64_t their_length = 0;
      messages.exchange({&length, 1, MPI_UINT64_T}, to, {&their_length, 1, MPI_UINT64_T}, from);
      Buffer theirs(their_length);
      messages.exchange(collectives::bytes_source(out.bytes()), to, collectives::bytes_target(theirs), from);
      ByteReader in(theirs);
      making.graph[from] = replay::decode_neighbourhood(in);
    }
    return MPI_SUCCESS;
  } catch (const collectives::Failed& failed) {
    return failed.code;
  }
}

void MessageCarrier::freed(MPI_Comm comm) {
  if (const auto number = channels_.freed(comm)) setting_.journal.frees_channel(*number);
}

void MessageCarrier::drop_communicators() {
  for (const std::uint64_t number : setting_.journal.channels().take_dropped()) dropped_.insert(number);
  // Requests may still be of one.
  std::erase_if(dropped_, [&](std::uint64_t number) {
    const auto is_of = [&](const auto& one) { return one.second->channel->facts.number == number; };
    if (std::ranges::any_of(pending_, is_of)) return false;
    channels_.drop(number);
    return true;
  });
}

Status MessageCarrier::makes_communicators_again(Comm& ranks, MPI_Comm twin) {
  return channels_.remake(ranks, twin, setting_.journal.channels(), setting_.adopts);
}

}  // namespace cairn
