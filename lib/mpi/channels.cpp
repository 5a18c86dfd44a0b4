#include "mpi/channels.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/mix.hpp"
#include "mpi/failure_handler.hpp"
#include "mpi/mpi_comm.hpp"
#include "mpi/mpi_request.hpp"
#include "mpi/place_in.hpp"
#include "replay/number.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

std::vector<std::uint32_t> members_of(MPI_Comm comm, const Channel& session) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(session.handle, &all);
  std::vector<int> numbers(static_cast<std::size_t>(size_of(comm)));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<int> places(numbers.size());
  MPI_Group_translate_ranks(group, static_cast<int>(numbers.size()), numbers.data(), all, places.data());
  MPI_Group_free(&all);
  MPI_Group_free(&group);
  return {places.begin(), places.end()};
}

void note_grid(MPI_Comm comm, ChannelFacts& facts) {
  int kind = MPI_UNDEFINED;
  MPI_Topo_test(comm, &kind);
  if (kind != MPI_CART) return;
  int dimensions = 0;
  MPI_Cartdim_get(comm, &dimensions);
  facts.lengths.resize(static_cast<std::size_t>(dimensions));
  facts.periodic.resize(facts.lengths.size());
  std::vector<int> place(facts.lengths.size());
  MPI_Cart_get(comm, dimensions, facts.lengths.data(), facts.periodic.data(), place.data());
}

}  // namespace

std::optional<int> ChannelFacts::rank_of(std::uint32_t member) const {
  const auto found = std::ranges::find(members, member);
  if (found == members.end()) return {};
  return static_cast<int>(found - members.begin());
}

Channels::Channels(MPI_Comm session, MPI_Comm own) {
  session_.handle = session_.twin = session;
  session_.own = own;
  session_.facts.members.resize(static_cast<std::size_t>(size_of(session)));
  std::iota(session_.facts.members.begin(), session_.facts.members.end(), 0U);
}

Channel* Channels::find_number(std::uint64_t number) {
  if (number == replay::kSessionChannel) return &session_;
  const auto found = all_.find(number);
  return found == all_.end() ? nullptr : found->second.get();
}

int Channels::add(const Channel& parent, std::uint64_t place, MPI_Comm made) {
  auto channel = std::make_unique<Channel>();
  channel->facts.birth = {parent.facts.number, place};
  channel->facts.members = members_of(made, session_);
  channel->facts.number = mix(mix(mix(parent.facts.number) ^ place) ^ channel->facts.members.front());
  note_grid(made, channel->facts);
  channel->handle = channel->twin = made;
  const auto own = own_duplicate(made);
  if (!own) return MPI_ERR_OTHER;
  channel->own = *own;
  derived_[made] = channel.get();
  all_[channel->facts.number] = std::move(channel);
  return MPI_SUCCESS;
}

void Channels::freed(MPI_Comm handle) {
  const auto found = derived_.find(handle);
  if (found == derived_.end()) return;
  Channel& channel = *found->second;
  if (channel.twin == channel.handle) channel.twin = MPI_COMM_NULL;
  channel.handle = MPI_COMM_NULL;
  derived_.erase(found);
}

Status Channels::remake(Comm& ranks, MPI_Comm base, bool replaces, const std::function<void(MPI_Comm)>& made) {
  std::vector<ChannelFacts> mine;
  for (const auto& [number, channel] : all_) mine.push_back(channel->facts);
  const auto told = ranks.allgather(encode(mine));
  if (!told) return fail(told.error());
  std::map<Birthplace, std::map<std::uint64_t, ChannelFacts>> all;  // by call, and by number
  for (const Buffer& bytes : *told) {
    auto facts = decode_channel_facts(bytes);
    if (!facts) return fail(facts.error());
    for (ChannelFacts& one : *facts) all[one.birth].emplace(one.number, std::move(one));
  }
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
    if (auto status = make_again(my_own, color, base, replaces, made); !status) return status;
  }
  return {};
}

Status Channels::make_again(const ChannelFacts* mine, int color, MPI_Comm base, bool replaces,
                            const std::function<void(MPI_Comm)>& made) {
  const tap::Unheard unheard;
  const FailureHandler::Quiet quiet;
  const int key = mine == nullptr ? 0 : *mine->rank_of(static_cast<std::uint32_t>(rank_in(base)));
  MPI_Comm twin = MPI_COMM_NULL;
  if (const int code = MPI_Comm_split(base, color, key, &twin); code != MPI_SUCCESS)
    return fail(mpi_error(code, "MPI_Comm_split"));
  if (mine == nullptr) return {};
  if (!mine->lengths.empty()) {
    const MPI_Comm plain = twin;
    const int code = MPI_Cart_create(plain, static_cast<int>(mine->lengths.size()), mine->lengths.data(),
                                     mine->periodic.data(), 0, &twin);
    if (code != MPI_SUCCESS) return fail(mpi_error(code, "MPI_Cart_create"));
  }
  const auto own = own_duplicate(twin);
  if (!own) return fail(own.error());
  made(twin);
  made(*own);
  auto& channel = all_[mine->number];
  if (replaces || !channel) {
    channel = std::make_unique<Channel>();
    channel->facts = *mine;
  }
  channel->twin = twin;
  channel->own = *own;
  return {};
}

Channel* Channels::take(const Birthplace& birth) {
  for (const auto& [number, channel] : all_) {
    if (channel->facts.birth != birth || channel->handle != MPI_COMM_NULL) continue;
    channel->handle = channel->twin;
    derived_[channel->handle] = channel.get();
    return channel.get();
  }
  return nullptr;
}

Buffer encode(const std::vector<ChannelFacts>& all) {
  ByteWriter out;
  const auto put_all = [&](const auto& values) {
    out.put(static_cast<std::uint64_t>(values.size()));
    for (const auto value : values) out.put(value);
  };
  for (const ChannelFacts& facts : all) {
    out.put(facts.number);
    out.put(facts.birth.parent);
    out.put(facts.birth.place);
    put_all(facts.members);
    put_all(facts.lengths);
    put_all(facts.periodic);
  }
  return out.take();
}

Result<std::vector<ChannelFacts>> decode_channel_facts(Bytes bytes) {
  ByteReader in(bytes);
  const auto get_all = [&]<class Value>(std::vector<Value>& values) {
    const auto count = in.get<std::uint64_t>();
    for (std::uint64_t i = 0; i < count && in.good(); ++i) values.push_back(in.get<Value>());
  };
  std::vector<ChannelFacts> all;
  while (in.good() && in.remaining() != 0) {
    ChannelFacts& facts = all.emplace_back();
    facts.number = in.get<std::uint64_t>();
    facts.birth.parent = in.get<std::uint64_t>();
    facts.birth.place = in.get<std::uint64_t>();
    get_all(facts.members);
    get_all(facts.lengths);
    get_all(facts.periodic);
  }
  if (in.good()) return all;
  return fail(Code::invalid_argument,
              fmt::format("communicators of a rank: {} bytes do not hold what they announce", bytes.size()));
}

}  // namespace cairn
