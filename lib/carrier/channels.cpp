#include "carrier/channels.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/mix.hpp"
#include "carrier/shape.hpp"
#include "mpi/failure_handler.hpp"
#include "mpi/mpi_comm.hpp"
#include "mpi/mpi_request.hpp"
#include "mpi/place_in.hpp"
#include "replay/number.hpp"
#include "tap/error_handlers.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

// MPI_UNDEFINED: of one that is not there.
std::vector<int> ranks_in(MPI_Comm comm, MPI_Group group) {
  int size = 0;
  MPI_Group_size(group, &size);
  std::vector<int> numbers(static_cast<std::size_t>(size));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<int> ranks(numbers.size());
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &all);
  MPI_Group_translate_ranks(group, size, numbers.data(), all, ranks.data());
  MPI_Group_free(&all);
  return ranks;
}

// The processes of a new communicator, replacements too, are those of the twin.
std::vector<std::uint32_t> members_of(MPI_Comm comm, const Channel& session) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &group);
  const std::vector<int> places = ranks_in(session.twin, group);
  MPI_Group_free(&group);
  return {places.begin(), places.end()};
}

// By the call that has made them, and by number.
using ByCall = std::map<replay::Birthplace, std::map<std::uint64_t, ChannelFacts>>;

// Leaves out graphs of which nobody tells the neighbours of some rank, if nobody uses them any more: ranks forget a
// communicator that was freed at different times, and then no replacement asks for it. `used`: the numbers of those
// that some rank has not freed. All ranks do the same.
Status leave_out_partial_graphs(ByCall& all, const std::set<std::uint64_t>& used) {
  for (auto& [birth, siblings] : all) {
    for (auto at = siblings.begin(); at != siblings.end();) {
      const auto& [number, facts] = *at;
      const auto missing = missing_in(facts.graph, static_cast<int>(facts.members.size()));
      if (missing && used.contains(number))
        return fail(Code::unrecoverable, fmt::format("rank {} had neighbours in a graph that no other rank knows",
                                                     facts.members[static_cast<std::size_t>(*missing)]));
      at = missing ? siblings.erase(at) : std::next(at);
    }
  }
  return {};
}

}  // namespace

replay::Pattern Channel::pattern(int peer, int tag) const {
  replay::Pattern pattern{.channel = facts.number, .peer = {}, .tag = {}};
  if (peer != MPI_ANY_SOURCE) pattern.peer = member(peer);
  if (tag != MPI_ANY_TAG) pattern.tag = tag;
  return pattern;
}

Channels::Channels(MPI_Comm session, MPI_Comm own, bool has_threads) : lock_(has_threads) {
  session_.handle = session_.twin = session;
  session_.own = own;
  session_.facts.members.resize(static_cast<std::size_t>(size_of(session)));
  std::iota(session_.facts.members.begin(), session_.facts.members.end(), 0U);
}

Channel* Channels::find_number(std::uint64_t number) {
  if (number == replay::kSessionChannel) return &session_;
  const auto held = lock_.hold();
  const auto found = all_.find(number);
  return found == all_.end() ? nullptr : found->second.get();
}

Channel& Channels::add(ChannelFacts facts, MPI_Comm made, MPI_Comm own) {
  auto channel = std::make_unique<Channel>();
  facts.members = members_of(made, session_);
  const replay::Birthplace& birth = facts.birth;
  facts.number =
      mix(mix(mix(mix(mix(birth.parent) ^ birth.group) ^ birth.epoch) ^ birth.place) ^ facts.members.front());
  note_shape(made, facts);
  channel->facts = std::move(facts);
  channel->handle = channel->twin = made;
  channel->own = own;
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  const auto held = lock_.hold();
  derived_[made] = channel.get();
  auto& added = all_[channel->facts.number];
  added = std::move(channel);
  return *added;
}

std::vector<int> Channels::ranks_of(MPI_Group group, const Channel& channel) const {
  const tap::Unheard own;
  std::vector<int> ranks = ranks_in(channel.handle, group);
  for (const MPI_Comm session : {session_.handle, session_.twin}) {
    const std::vector<int> members = ranks_in(session, group);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] != MPI_UNDEFINED || members[i] == MPI_UNDEFINED) continue;
      ranks[i] = channel.facts.rank_of(static_cast<std::uint32_t>(members[i])).value_or(MPI_UNDEFINED);
    }
  }
  return ranks;
}

std::optional<std::uint64_t> Channels::freed(MPI_Comm handle) {
  const auto held = lock_.hold();
  const auto found = derived_.find(handle);
  if (found == derived_.end()) return {};
  Channel& channel = *found->second;
  if (channel.twin == channel.handle) channel.twin = MPI_COMM_NULL;
  channel.handle = MPI_COMM_NULL;
  derived_.erase(found);
  return channel.facts.number;
}

void Channels::drop(std::uint64_t number) {
  const auto held = lock_.hold();
  const auto found = all_.find(number);
  if (found == all_.end() || found->second->handle != MPI_COMM_NULL) return;
  const tap::Unheard unheard;
  const FailureHandler::Quiet quiet;
  for (MPI_Comm* const comm : {&found->second->twin, &found->second->own})
    if (*comm != MPI_COMM_NULL) MPI_Comm_free(comm);
  all_.erase(found);
}

Status Channels::remake(Comm& ranks, MPI_Comm base, replay::ChannelBook& book,
                        const std::function<void(MPI_Comm)>& made) {
  const auto told = ranks.allgather(encode(book.facts()));
  if (!told) return fail(told.error());
  std::vector<std::vector<ChannelFacts>> by_rank;
  ByCall all;
  std::set<std::uint64_t> used;
  for (const Buffer& bytes : *told) {
    auto facts = replay::decode_channel_facts(bytes);
    if (!facts) return fail(facts.error());
    for (const ChannelFacts& one : *facts) {
      if (one.members.empty() || one.is_gone) continue;
      all[one.birth].emplace(one.number, one).first->second.learn(one);
      if (one.freed == replay::kNeverFreed) used.insert(one.number);
    }
    by_rank.push_back(std::move(*facts));
  }
  book.learns(by_rank);
  if (auto known = leave_out_partial_graphs(all, used); !known) return known;
  for (const auto& [birth, siblings] : all) {
    const ChannelFacts* my_own = nullptr;
    int color = MPI_UNDEFINED;
    int next = 0;
    for (const auto& [number, facts] : siblings) {
      if (facts.rank_of(ranks.rank().value)) {
        my_own = &facts;
        color = next;
      }
      ++next;
    }
    if (auto status = make_again(my_own, color, base, made); !status) return status;
  }
  return {};
}

Status Channels::make_again(const ChannelFacts* mine, int color, MPI_Comm base,
                            const std::function<void(MPI_Comm)>& made) {
  const tap::Unheard unheard;
  const FailureHandler::Quiet quiet;
  const int key = mine == nullptr ? 0 : *mine->rank_of(static_cast<std::uint32_t>(rank_in(base)));
  MPI_Comm plain = MPI_COMM_NULL;
  if (const int code = MPI_Comm_split(base, color, key, &plain); code != MPI_SUCCESS)
    return fail(mpi_error(code, "MPI_Comm_split"));
  if (mine == nullptr) return {};
  made(plain);
  const auto twin = give_shape(*mine, plain);
  if (!twin) return fail(twin.error());
  const auto own = own_duplicate(plain);
  if (!own) return fail(own.error());
  MPI_Comm_set_errhandler(*own, MPI_ERRORS_RETURN);
  made(*twin);
  made(*own);
  if (*twin != plain) MPI_Comm_free(&plain);
  auto& channel = all_[mine->number];
  if (!channel) {
    channel = std::make_unique<Channel>();
    channel->facts = *mine;
  }
  channel->twin = *twin;
  channel->own = *own;
  if (channel->handle != MPI_COMM_NULL) tap::copy_handler(channel->handle, channel->twin);
  return {};
}

Channel& Channels::take(std::uint64_t number) {
  const auto held = lock_.hold();
  check(all_.contains(number));
  Channel& channel = *all_.at(number);
  channel.handle = channel.twin;
  derived_[channel.handle] = &channel;
  return channel;
}

}  // namespace cairn
