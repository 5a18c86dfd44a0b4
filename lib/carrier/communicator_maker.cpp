#include "carrier/communicator_maker.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/mix.hpp"
#include "mpi/failure_handler.hpp"
#include "mpi/place_in.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

using replay::ChannelBook;

// In place of the group of a birthplace: the book does not know it.
constexpr std::uint64_t kNotNoted = UINT64_MAX;

// Not 0.
std::uint64_t number_of(std::span<const std::uint32_t> members) {
  std::uint64_t number = 1;
  for (const std::uint32_t member : members) number = mix(number ^ member);
  return number | 1U;
}

std::optional<replay::Neighbourhood> neighbourhood_of(const tap::NewCommunicator& one) {
  if (!one.neighbours) return {};
  const auto copied = [](std::span<const int> list) { return std::vector<int>(list.begin(), list.end()); };
  return replay::Neighbourhood{.sources = copied(one.neighbours->sources),
                               .targets = copied(one.neighbours->targets),
                               .has_weights = one.neighbours->has_weights,
                               .source_weights = copied(one.neighbours->source_weights),
                               .target_weights = copied(one.neighbours->target_weights)};
}

std::vector<int> all_ranks(const Channel& channel) {
  std::vector<int> ranks(channel.facts.members.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// `call(group)` with these ranks of a communicator. Returns MPI's code.
template <class Call>
int with_group(MPI_Comm of, const std::vector<int>& ranks, Call call) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(of, &all);
  int code = MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &group);
  MPI_Group_free(&all);
  if (code != MPI_SUCCESS) return code;
  code = call(group);
  if (group != MPI_GROUP_EMPTY) MPI_Group_free(&group);
  return code;
}

std::uint64_t number_of(std::string_view call) {
  std::uint64_t number = 0;
  for (const char letter : call) number = mix(number ^ static_cast<unsigned char>(letter));
  return number;
}

}  // namespace

// Nothing: MPI is to find an error in it.
std::optional<CommunicatorMaker::Making> CommunicatorMaker::making_of(const tap::NewCommunicator& one) {
  const Channel& parent = job_.channel_of(one.parent);
  Making making{.call = one, .parent = parent, .callers = all_ranks(parent)};
  if (one.is_of_group) making.callers = job_.channels().ranks_of(one.group, parent);
  const auto is_wrong = [&](int rank) { return rank < 0 || rank >= parent.size(); };
  if (std::ranges::any_of(making.callers, is_wrong)) return {};
  for (const int caller : making.callers) making.members.push_back(parent.member(caller));
  making.request = {parent.facts.number, one.is_in, one.alike ^ number_of(one.call),
                    one.is_of_group ? number_of(making.members) : 0, neighbourhood_of(one)};
  making.facts.alike = making.request.alike;
  if (one.kind == tap::NewCommunicator::Kind::duplicate) making.facts.graph = parent.facts.graph;
  return making;
}

std::optional<int> CommunicatorMaker::make(const tap::NewCommunicator& one, MPI_Comm* made, const Make& make) {
  if (one.is_of_group && !one.is_in) {
    *made = MPI_COMM_NULL;
    return MPI_SUCCESS;
  }
  auto making = making_of(one);
  if (!making) return {};
  if (const int code = begin(*making); code != MPI_SUCCESS) return code;
  while (true) {
    if (const auto code = get_known(*making, made)) return code;
    const int code = FailureHandler::quietly([&] { return make_with_all(*making, made, make); });
    if (const auto result = job_.after(code, making->parent.handle)) return result;
  }
}

int CommunicatorMaker::begin(Making& making) {
  making.is_noted = job_.note_caller();
  if (making.is_noted)
    if (const int code = job_.held_receives().leave_to_mpi("makes a communicator"); code != MPI_SUCCESS) return code;
  if (!making.is_noted) {
    // Its number is another one than on ranks whose session's thread makes the call, but no message is logged here.
    making.facts.birth = {.parent = making.request.parent, .group = kNotNoted, .place = not_noted_++};
    return MPI_SUCCESS;
  }
  const auto birth = job_.journal().makes_channel(making.request);
  if (!birth) return job_.rolls_back(birth.error());
  making.facts.birth = *birth;
  return MPI_SUCCESS;
}

// Nothing: nobody knows it, and the callers make it.
std::optional<int> CommunicatorMaker::get_known(const Making& making, MPI_Comm* made) {
  if (!making.is_noted) return {};
  ChannelBook& book = job_.journal().channels();
  const replay::Birthplace& birth = making.facts.birth;
  const auto known = book.look_up(birth, making.request, making.members);
  if (!known) return job_.rolls_back(known.error());
  switch (*known) {
    case ChannelBook::Known::as_member: {
      const ChannelFacts facts = *book.mine(birth);
      if (job_.channels().find_number(facts.number) == nullptr)
        return job_.rolls_back(fmt::format("{}: a graph of which no rank knows all neighbours", job_.my_name()));
      book.made(facts);
      *made = job_.channels().take(facts.number).handle;
      return MPI_SUCCESS;
    }
    case ChannelBook::Known::as_other:
      book.made({.birth = birth});
      *made = MPI_COMM_NULL;
      return MPI_SUCCESS;
    case ChannelBook::Known::as_only_member: {
      if (making.call.kind == tap::NewCommunicator::Kind::topology)
        return job_.rolls_back(fmt::format("{} makes a grid or graph that has no other member", job_.my_name()));
      const int code = MPI_Comm_dup(MPI_COMM_SELF, made);
      return code == MPI_SUCCESS ? add(making, *made) : code;
    }
    case ChannelBook::Known::nothing: break;
  }
  if (job_.journal().is_replacement() && !job_.journal().is_started() && making.callers.size() > 1)
    return job_.rolls_back(fmt::format("{}: no survivor knows the communicator of its {} before restore()",
                                       job_.my_name(), making.call.call));
  return {};
}

// All callers take part.
int CommunicatorMaker::make_with_all(Making& making, MPI_Comm* made, const Make& make) {
  const tap::NewCommunicator& call = making.call;
  // Open MPI does not end MPI_Comm_create_group if a member dies before it begins the call.
  if (job_.is_patient() || call.is_of_group)
    if (const int met = meet_patiently(making); met != MPI_SUCCESS) return met;
  if (const int code = make_of_twin(making, make); code != MPI_SUCCESS) return code;
  if (call.neighbours)
    if (const int told = tell_keepers(making); told != MPI_SUCCESS) return told;
  return add(making, *made);
}

// After a repair, the application's groups may have processes that are not in the twin.
int CommunicatorMaker::make_of_twin(const Making& making, const Make& make) {
  const Channel& parent = making.parent;
  if (making.call.group == MPI_GROUP_NULL || parent.twin == parent.handle) return make(parent.twin, MPI_GROUP_NULL);
  return with_group(parent.twin, job_.channels().ranks_of(making.call.group, parent),
                    [&](MPI_Group group) { return make(parent.twin, group); });
}

int CommunicatorMaker::add(const Making& making, MPI_Comm made) {
  if (made == MPI_COMM_NULL) {
    if (making.is_noted) job_.journal().channels().made({.birth = making.facts.birth});
    return MPI_SUCCESS;
  }
  MPI_Comm own = MPI_COMM_NULL;
  {
    const tap::Unheard unheard;
    if (const int code = MPI_Comm_dup(made, &own); code != MPI_SUCCESS) return code;
  }
  const Channel& parent = making.parent;
  if (parent.twin != parent.handle && &parent != &job_.channels().session())
    tap::copy_handler(parent.handle, made);  // MPI has taken that of the twin
  job_.setting().adopts(own);
  const Channel& added = job_.channels().add(making.facts, made, own);
  if (making.is_noted) job_.journal().channels().made(added.facts);
  if (making.call.neighbours && added.facts.members != parent.facts.members)
    job_.obstructs(fmt::format("{} makes a graph in which MPI has given ranks other numbers", job_.my_name()),
                   replay::Journal::Until::end);
  return MPI_SUCCESS;
}

void CommunicatorMaker::freed(MPI_Comm comm) {
  const auto number = [&]() -> std::optional<std::uint64_t> {
    const auto guard = lock_.hold();
    const Channel* const channel = job_.channels().find(comm);
    const bool is_noted = channel == nullptr || channel->facts.birth.group != kNotNoted;
    const auto freed = job_.channels().freed(comm);
    if (is_noted) return freed;
    dropped_.insert(*freed);
    return {};
  }();
  if (number && job_.is_session_thread()) job_.journal().frees_channel(*number);
}

void CommunicatorMaker::drop(const RequestBook& requests) {
  const auto guard = lock_.hold();
  for (const std::uint64_t number : job_.journal().channels().take_dropped()) dropped_.insert(number);
  // Requests may still be of one.
  std::erase_if(dropped_, [&](std::uint64_t number) {
    if (requests.has_of(number)) return false;
    job_.channels().drop(number);
    return true;
  });
}

Status CommunicatorMaker::make_again(Comm& ranks, MPI_Comm twin) {
  return job_.channels().remake(ranks, twin, job_.journal().channels(), job_.setting().adopts);
}

}  // namespace cairn
