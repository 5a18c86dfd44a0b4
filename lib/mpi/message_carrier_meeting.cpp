// What the ranks tell each other while they make a communicator.
#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <tuple>
#include <vector>

#include "mpi/collectives/collectives.hpp"
#include "mpi/failure_handler.hpp"
#include "mpi/made_communicator.hpp"
#include "mpi/patience.hpp"
#include "mpi/place_in.hpp"
#include "mpi/shape.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

constexpr std::size_t kEnd = 3;  // an end of an edge: whether it is the source's, the other end's rank, and the weight

// What each rank is to know of the edges that this one gives.
std::vector<std::vector<int>> ends_by_rank(const tap::Edges& edges, std::size_t ranks) {
  std::vector<std::vector<int>> ends(ranks);
  std::size_t edge = 0;
  for (std::size_t i = 0; i < edges.sources.size(); ++i) {
    for (int of_source = 0; of_source < edges.degrees[i]; ++of_source, ++edge) {
      const int source = edges.sources[i];
      const int target = edges.targets[edge];
      const int weight = edges.have_weights ? edges.weights[edge] : 0;
      for (const auto& [rank, is_source, other] : {std::tuple{source, 1, target}, std::tuple{target, 0, source}}) {
        auto& of_rank = ends[static_cast<std::size_t>(rank)];
        of_rank.insert(of_rank.end(), {is_source, other, weight});
      }
    }
  }
  return ends;
}

// In the order of the ranks that give the edges.
replay::Neighbourhood neighbourhood_of(const std::vector<std::vector<int>>& ends, bool has_weights) {
  replay::Neighbourhood mine;
  mine.has_weights = has_weights;
  for (const auto& of_rank : ends) {
    for (std::size_t at = 0; at + kEnd <= of_rank.size(); at += kEnd) {
      const bool is_source = of_rank[at] != 0;
      (is_source ? mine.targets : mine.sources).push_back(of_rank[at + 1]);
      if (has_weights) (is_source ? mine.target_weights : mine.source_weights).push_back(of_rank[at + 2]);
    }
  }
  return mine;
}

// What `exchange` returns, or MPI's code of a message that has failed.
template <class Exchange>
int code_of(Exchange exchange) {
  try {
    return exchange();
  } catch (const collectives::Failed& failed) {
    return failed.code;
  }
}

}  // namespace

// Messages of Cairn's own, which are not logged. A wait for one ends when a process has died.
class MessageCarrier::PatientMessages final : public collectives::Messages {
 public:
  // `ranks`: of the channel, this one among them. `tag`: no other message of Cairn's communicator has it.
  PatientMessages(MessageCarrier& of, const Channel& channel, std::span<const int> ranks, int tag = 903)
      : of_(of), channel_(channel), comm_(channel.own), ranks_(ranks), tag_(tag) {}

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
          if (is_counted(one.from)) traffic().posted(stream(one.from));
          return MPI_Irecv(at, static_cast<int>(count), type, rank_of(one.from), tag_, comm_, begun);
        },
        [&](const auto& one, MPI_Request* begun) {
          const auto& [at, count, type] = one.what;
          if (is_counted(one.to)) traffic().sent(stream(one.to));
          return MPI_Isend(at, static_cast<int>(count), type, rank_of(one.to), tag_, comm_, begun);
        });
    // Each is over then, and uses no memory of the caller's.
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const bool receives = i < received.size();
      const int peer = receives ? received[i].from : sent[i - received.size()].to;
      const int over = of_.wait_patiently(requests[i], MPI_STATUS_IGNORE, [&] { return needs_of(peer, receives); });
      if (over != MPI_SUCCESS)
        code = over;
      else if (receives && is_counted(peer))
        traffic().received(stream(peer));
    }
    collectives::check(code);
  }

 private:
  [[nodiscard]] int rank_of(int caller) const {
    return caller == MPI_PROC_NULL ? MPI_PROC_NULL : ranks_[static_cast<std::size_t>(caller)];
  }
  // The tags of the application's messages are not negative.
  [[nodiscard]] bool is_counted(int caller) const { return caller != MPI_PROC_NULL && of_.is_counted(0, 0); }
  [[nodiscard]] replay::Stream stream(int caller) const {
    return {channel_.member(rank_of(caller)), -tag_, channel_.facts.number};
  }
  [[nodiscard]] replay::Traffic& traffic() const { return of_.setting_.deadlocks.traffic(); }
  [[nodiscard]] std::optional<replay::DeadlockCheck::Needs> needs_of(int caller, bool receives) const {
    if (!is_counted(caller)) return {};
    const replay::Stream with = stream(caller);
    const replay::Pattern pattern{.channel = with.channel, .peer = with.peer, .tag = with.tag};
    return replay::DeadlockCheck::Needs{receives ? traffic().message(pattern) : traffic().receiver(with)};
  }

  MessageCarrier& of_;
  const Channel& channel_;
  MPI_Comm comm_;
  std::span<const int> ranks_;
  int tag_;
};

// Before MPI makes it, which cannot be interrupted: a replacement may come to its call late, or, if it exchanges other
// messages than the dead rank, never.
int MessageCarrier::meet_patiently(const Making& making) {
  const tap::Unheard unheard;
  PatientMessages messages(*this, making.parent, making.callers);
  return code_of([&] {
    collectives::make(tap::collectives::Barrier{making.parent.own}, messages);
    return MPI_SUCCESS;
  });
}

// An error of MPI's may be the first news of a death.
void MessageCarrier::await_news() {
  constexpr std::chrono::milliseconds kLimit{100};
  const auto start = std::chrono::steady_clock::now();
  Patience patience(*this);
  while (std::chrono::steady_clock::now() < start + kLimit && patience.turn()) {
  }
}

// Before MPI_Comm_idup, since Open MPI cannot continue if a process dies while it works on that. Ranks may begin the
// call after messages that they get from each other later, so none waits for long.
int MessageCarrier::meet_briefly(const Channel& parent) {
  constexpr int kTag = 906;
  // While a replacement catches up, it comes late. It must not come to the limit of its catch-up here.
  using std::chrono::milliseconds;
  const milliseconds limit = is_patient() ? std::min(setting_.limit / 4, milliseconds(10'000)) : milliseconds(1000);
  const tap::Unheard unheard;
  const int me = rank_in(parent.own);
  const auto tell = [&](int rank) {
    MPI_Request sent = MPI_REQUEST_NULL;
    const int code = MPI_Isend(nullptr, 0, MPI_BYTE, rank, kTag, parent.own, &sent);
    if (sent != MPI_REQUEST_NULL) MPI_Request_free(&sent);
    return code;
  };
  // Rank 0 waits for all; then, or when its time is up, it tells them to begin.
  std::vector<int> peers;
  for (int rank = 1; me == 0 && rank < parent.size(); ++rank) peers.push_back(rank);
  int code = MPI_SUCCESS;
  if (me != 0) {
    peers.push_back(0);
    code = tell(0);
  }
  const auto start = std::chrono::steady_clock::now();
  Patience patience(*this);
  for (const int peer : peers) {
    MPI_Request come = MPI_REQUEST_NULL;
    int over = 0;
    if (code == MPI_SUCCESS) code = MPI_Irecv(nullptr, 0, MPI_BYTE, peer, kTag, parent.own, &come);
    while (code == MPI_SUCCESS && over == 0) {
      code = MPI_Test(&come, &over, MPI_STATUS_IGNORE);
      if (std::chrono::steady_clock::now() > start + limit) break;
      if (code == MPI_SUCCESS && over == 0 && !patience.turn()) code = MPI_ERR_OTHER;
    }
    // What comes later is for this request, and not for the next meeting.
    if (come != MPI_REQUEST_NULL) MPI_Request_free(&come);
  }
  for (const int peer : peers)
    if (me == 0 && code == MPI_SUCCESS) code = tell(peer);
  return code;
}

// In MPI's place: Open MPI takes edges in the order in which they come, so that each run has other neighbours, and does
// not end the call if a process dies. Neither the info nor a new order of the ranks is heeded, as MPI allows.
int MessageCarrier::make_of_edges(const Making& making, MPI_Comm* made) {
  const tap::Unheard unheard;
  PatientMessages messages(*this, making.parent, making.callers);
  const tap::Edges& edges = *making.call.edges;
  const auto ranks = static_cast<std::size_t>(messages.size());
  const std::vector<std::vector<int>> mine = ends_by_rank(edges, ranks);
  std::vector<int> out_counts(ranks);
  std::vector<int> in_counts(ranks);
  std::ranges::transform(mine, out_counts.begin(), [](const auto& ends) { return static_cast<int>(ends.size()); });
  return code_of([&]() -> int {
    collectives::make(
        tap::collectives::Alltoall{out_counts.data(), 1, MPI_INT, in_counts.data(), 1, MPI_INT, making.parent.own},
        messages);
    std::vector<std::vector<int>> theirs(ranks);
    std::vector<collectives::Sent> sent;
    std::vector<collectives::Received> received;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto peer = static_cast<int>(rank);
      theirs[rank].resize(static_cast<std::size_t>(in_counts[rank]));
      if (out_counts[rank] > 0) sent.push_back({{mine[rank].data(), out_counts[rank], MPI_INT}, peer});
      if (in_counts[rank] > 0) received.push_back({{theirs[rank].data(), in_counts[rank], MPI_INT}, peer});
    }
    messages.exchange_all(sent, received);
    return make_distributed_graph(neighbourhood_of(theirs, edges.have_weights), making.parent.twin, made);
  });
}

// Who a rank's neighbours are is known only when MPI has made the graph.
int MessageCarrier::tell_keepers(Making& making, MPI_Comm graph) {
  const tap::Unheard unheard;
  PatientMessages messages(*this, making.parent, making.callers);
  const int size = messages.size();
  const int me = messages.rank();
  replay::Neighbourhood& mine = making.facts.graph[me] = neighbourhood_in(graph);
  mine.part = *making.call.part;
  ByteWriter out;
  encode(mine, out);
  return code_of([&]() -> int {
    for (const int distance : replay::distances_to_keepers(size)) {
      const int to = (me + distance) % size;
      const int from = (me - distance + size) % size;
      const std::uint64_t length = out.size();
      std::uint64_t their_length = 0;
      messages.exchange({&length, 1, MPI_UINT64_T}, to, {&their_length, 1, MPI_UINT64_T}, from);
      Buffer theirs(their_length);
      messages.exchange(collectives::bytes_source(out.bytes()), to, collectives::bytes_target(theirs), from);
      ByteReader in(theirs);
      making.facts.graph[from] = replay::decode_neighbourhood(in);
    }
    return MPI_SUCCESS;
  });
}

struct MessageCarrier::OtherGroup {
  bool is_carried = false;  // messages between the two groups can be
  replay::Birthplace birth;
  std::uint64_t bridge = 0;                 // the number of the communicator in which the leaders met
  std::uint64_t tag = 0;                    // of the leader's call; the same for both groups
  std::vector<std::uint32_t> members = {};  // by rank
};

namespace {

// What leaders tell each other first: whether messages are carried (zeros: they are not), a birthplace, the number of
// the communicator in which they meet, how many members their group has, and the tag of their call.
using Words = std::array<std::uint64_t, 8>;

// Several threads may make intercommunicators at once, with other tags.
enum class Range { leaders = 2, groups = 3 };
int tag_of(std::uint64_t tag, Range range) {
  int* highest = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_SELF, MPI_TAG_UB, static_cast<void*>(&highest), &found);
  const int quarter = (found != 0 ? *highest : 32767) / 4;
  return static_cast<int>(range) * quarter + static_cast<int>(tag % static_cast<std::uint64_t>(quarter));
}

}  // namespace

// This rank leads a group whose messages are not carried.
int MessageCarrier::declines_bridge(const tap::Bridge& bridge) {
  const tap::Unheard unheard;
  while (true) {
    const Channel& meeting = channel_of(bridge.comm);
    if (meeting.has_two_groups() || bridge.remote_leader < 0 || bridge.remote_leader >= meeting.size())
      return MPI_SUCCESS;
    const std::vector<int> ranks = all_ranks(meeting);
    const Words mine{};
    Words theirs{};
    const int code = FailureHandler::quietly([&] {
      return code_of([&] {
        PatientMessages leaders(*this, meeting, ranks, tag_of(static_cast<std::uint64_t>(bridge.tag), Range::leaders));
        leaders.exchange({mine.data(), 8, MPI_UINT64_T}, bridge.remote_leader, {theirs.data(), 8, MPI_UINT64_T},
                         bridge.remote_leader);
        return MPI_SUCCESS;
      });
    });
    if (const auto result = after(code, bridge.comm)) return *result;
  }
}

// The leaders tell each other, and then their groups.
MessageCarrier::OtherGroup MessageCarrier::meet_other_group(const Making& making) {
  const tap::Bridge& bridge = *making.call.bridge;
  PatientMessages group(*this, making.parent, making.callers);
  Words words{};
  std::vector<std::uint32_t> members;
  const Channel* const meeting = group.rank() == bridge.leader ? find_channel(bridge.comm) : nullptr;
  const auto has = [](const Channel& channel, int rank) { return rank >= 0 && rank < channel.size(); };
  if (meeting != nullptr && !meeting->has_two_groups() && has(*meeting, bridge.remote_leader)) {
    const std::vector<int> ranks = all_ranks(*meeting);
    PatientMessages leaders(*this, *meeting, ranks, tag_of(static_cast<std::uint64_t>(bridge.tag), Range::leaders));
    const auto swap = [&](const collectives::Source& mine, const collectives::Target& theirs) {
      leaders.exchange(mine, bridge.remote_leader, theirs, bridge.remote_leader);
    };
    const auto& [parent, of_group, epoch, place] = making.facts.birth;
    const auto tag = static_cast<std::uint64_t>(bridge.tag);
    const Words mine{1, parent, of_group, epoch, place, meeting->facts.number, making.members.size(), tag};
    swap({mine.data(), mine.size(), MPI_UINT64_T}, {words.data(), words.size(), MPI_UINT64_T});
    members.resize(words[6]);
    if (words[0] != 0)
      swap({making.members.data(), static_cast<MPI_Count>(making.members.size()), MPI_UINT32_T},
           {members.data(), static_cast<MPI_Count>(members.size()), MPI_UINT32_T});
  }
  const auto tell = [&](void* what, std::size_t count, MPI_Datatype type) {
    collectives::make(tap::collectives::Bcast{what, static_cast<int>(count), type, bridge.leader, making.parent.own},
                      group);
  };
  tell(words.data(), words.size(), MPI_UINT64_T);
  members.resize(words[6]);
  tell(members.data(), members.size(), MPI_UINT32_T);
  return {words[0] != 0, {words[1], words[2], words[3], words[4]}, words[5], words[7], std::move(members)};
}

// Of communicators that can be revoked: if a process dies, MPI does not end calls on those that it makes for its own
// use of two groups.
int MessageCarrier::make_of_two_groups(Making& making, MPI_Comm* made, bool& is_carried) {
  const tap::Unheard unheard;
  return code_of([&]() -> int {
    const OtherGroup other = meet_other_group(making);
    is_carried = other.is_carried;
    if (!is_carried) return MPI_SUCCESS;
    making.facts.other_birth = other.birth;
    making.facts.bridge = other.bridge;
    const bool is_first = making.members.front() < other.members.front();
    const auto& first = is_first ? making.members : other.members;
    const auto& second = is_first ? other.members : making.members;
    std::vector<int> all(first.begin(), first.end());
    all.insert(all.end(), second.begin(), second.end());
    MPI_Comm own = MPI_COMM_NULL;
    if (const int code = make_of_members(all, tag_of(other.tag, Range::groups), &own); code != MPI_SUCCESS) return code;
    setting_.adopts(own);
    const int code =
        MPI_Intercomm_create(making.parent.twin, 0, own, static_cast<int>(is_first ? first.size() : 0), 0, made);
    if (code == MPI_SUCCESS) add_communicator(making, *made, own);
    return code;
  });
}

// Ranks in session.comm(), which make the same call.
int MessageCarrier::make_of_members(const std::vector<int>& members, int tag, MPI_Comm* own) {
  const MPI_Comm all = channels_.session().own;
  return with_group(all, members, [&](MPI_Group group) { return MPI_Comm_create_group(all, group, tag, own); });
}

}  // namespace cairn
