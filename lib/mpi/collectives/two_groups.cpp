#include "mpi/collectives/two_groups.hpp"

#include <climits>
#include <concepts>
#include <functional>
#include <numeric>
#include <span>
#include <variant>
#include <vector>

#include "mpi/collectives/collectives.hpp"

namespace cairn::collectives {
namespace {

namespace of = tap::collectives;

template <class Call, class... Calls>
concept OneOf = (std::same_as<Call, Calls> || ...);

// By rank in the other group. Both sides know that a block without data is no message.
using OtherSources = std::function<Source(int)>;
using OtherTargets = std::function<Target(int)>;

// The own group alone, whose ranks begin at 0.
class OwnGroup final : public Messages {
 public:
  OwnGroup(const TwoGroups::Group& group, Messages& all) : group_(group), all_(all) {}

  [[nodiscard]] int rank() const override { return all_.rank() - group_.first; }
  [[nodiscard]] int size() const override { return group_.size; }
  void send(const Source& what, int to) override { all_.send(what, in_all(to)); }
  void receive(const Target& into, int from) override { all_.receive(into, in_all(from)); }
  void exchange_all(std::span<const Sent> sent, std::span<const Received> received) override {
    std::vector<Sent> out(sent.begin(), sent.end());
    std::vector<Received> in(received.begin(), received.end());
    for (Sent& one : out) one.to = in_all(one.to);
    for (Received& one : in) one.from = in_all(one.from);
    all_.exchange_all(out, in);
  }

 private:
  [[nodiscard]] int in_all(int rank) const { return rank == MPI_PROC_NULL ? rank : group_.first + rank; }

  const TwoGroups::Group& group_;
  Messages& all_;
};

class Between {
 public:
  Between(const TwoGroups& groups, Messages& messages)
      : groups_(groups), messages_(messages), own_(groups.mine, messages) {}

  [[nodiscard]] Messages& all() { return messages_; }
  [[nodiscard]] Messages& own() { return own_; }
  [[nodiscard]] int others() const { return groups_.other.size; }
  // Rank 0 of each group speaks for it.
  [[nodiscard]] bool is_first() const { return own_.rank() == 0; }
  [[nodiscard]] int first_of_other() const { return rank_of(0); }

  void exchange(const OtherSources& out, const OtherTargets& in) {
    std::vector<Sent> sent;
    std::vector<Received> received;
    for (int other = 0; other < others(); ++other) {
      const Source mine = out(other);
      const Target theirs = in(other);
      if (has_data(mine)) sent.push_back({mine, rank_of(other)});
      if (has_data(theirs)) received.push_back({theirs, rank_of(other)});
    }
    messages_.exchange_all(sent, received);
  }
  void send_to_all(const OtherSources& out) {
    exchange(out, [](int) { return Target{nullptr, 0, MPI_BYTE}; });
  }
  void receive_from_all(const OtherTargets& in) {
    exchange([](int) { return Source{nullptr, 0, MPI_BYTE}; }, in);
  }
  // What the root does, and what a rank of the other group does with the root's rank in `Messages`. The root's group
  // takes no part.
  void with_root(int root, const std::function<void()>& at_root, const std::function<void(int)>& at_other) {
    if (root == MPI_PROC_NULL) return;
    if (root == MPI_ROOT) return at_root();
    if (root < 0 || root >= others()) check(MPI_ERR_ROOT);
    at_other(rank_of(root));
  }
  void send(const Source& what, int rank) {
    if (has_data(what)) messages_.send(what, rank);
  }
  void receive(const Target& into, int rank) {
    if (has_data(into)) messages_.receive(into, rank);
  }
  // The two that speak exchange them.
  void swap(const Target& mine) {
    Elements theirs(mine.count, mine.type);
    messages_.exchange(mine, first_of_other(), theirs.all(), first_of_other());
    copy(theirs.all(), mine);
  }

 private:
  [[nodiscard]] int rank_of(int other) const { return groups_.other.first + other; }
  static bool has_data(const Source& what) {
    if (what.at == MPI_IN_PLACE) check(MPI_ERR_ARG);
    if (what.count < 0) check(MPI_ERR_COUNT);
    return bytes_of(what.count, what.type) > 0;
  }

  const TwoGroups& groups_;
  Messages& messages_;
  OwnGroup own_;
};

template <class Call>
OtherSources from_blocks(const Call& call) {
  return [&call](int i) {
    if constexpr (requires { call.from_types; })
      return Source{static_cast<const std::byte*>(call.from) + call.from_places[i], call.from_counts[i],
                    call.from_types[i]};
    else if constexpr (requires { call.from_places; })
      return Source{element_of(call.from, call.from_places[i], call.from_type), call.from_counts[i], call.from_type};
    else
      return Source{element_of(call.from, MPI_Count{i} * call.from_count, call.from_type), call.from_count,
                    call.from_type};
  };
}
template <class Call>
OtherTargets to_blocks(const Call& call) {
  return [&call](int i) {
    if constexpr (requires { call.to_types; })
      return Target{static_cast<std::byte*>(call.to) + call.to_places[i], call.to_counts[i], call.to_types[i]};
    else if constexpr (requires { call.to_places; })
      return Target{element_of(call.to, call.to_places[i], call.to_type), call.to_counts[i], call.to_type};
    else
      return Target{element_of(call.to, MPI_Count{i} * call.to_count, call.to_type), call.to_count, call.to_type};
  };
}

void make(const of::Barrier& call, Between& groups) { collectives::make(call, groups.all()); }

void make(const of::Bcast& call, Between& groups) {
  const Target data{call.buffer, call.count, call.type};
  groups.with_root(
      call.root, [&] { groups.send(data, groups.first_of_other()); },
      [&](int root) {
        if (groups.is_first()) groups.receive(data, root);
        collectives::make(of::Bcast{call.buffer, call.count, call.type, 0, MPI_COMM_NULL}, groups.own());
      });
}

template <OneOf<of::Gather, of::Gatherv> Call>
void make(const Call& call, Between& groups) {
  groups.with_root(
      call.root, [&] { groups.receive_from_all(to_blocks(call)); },
      [&](int root) {
        groups.send({call.from, call.from_count, call.from_type}, root);
      });
}

template <OneOf<of::Scatter, of::Scatterv> Call>
void make(const Call& call, Between& groups) {
  groups.with_root(
      call.root, [&] { groups.send_to_all(from_blocks(call)); },
      [&](int root) {
        groups.receive({call.to, call.to_count, call.to_type}, root);
      });
}

template <OneOf<of::Allgather, of::Allgatherv> Call>
void make(const Call& call, Between& groups) {
  groups.exchange([&](int) { return Source{call.from, call.from_count, call.from_type}; }, to_blocks(call));
}

template <OneOf<of::Alltoall, of::Alltoallv, of::Alltoallw> Call>
void make(const Call& call, Between& groups) {
  groups.exchange(from_blocks(call), to_blocks(call));
}

// What the own group has, at its first rank; elsewhere it is not defined.
void reduce_own(const void* from, const Target& into, MPI_Op op, Between& groups) {
  if (from == MPI_IN_PLACE) check(MPI_ERR_ARG);
  const auto count = static_cast<int>(into.count);
  collectives::make(of::Reduce{from, into.at, count, into.type, op, 0, MPI_COMM_NULL}, groups.own());
}

// What the other group has, at the first rank of this one; elsewhere it is not defined.
Elements reduced_of_other(const void* from, MPI_Count count, MPI_Datatype type, MPI_Op op, Between& groups) {
  if (count > INT_MAX) check(MPI_ERR_COUNT);
  Elements sum(count, type);
  reduce_own(from, sum.all(), op, groups);
  if (groups.is_first()) groups.swap(sum.all());
  return sum;
}

void make(const of::Reduce& call, Between& groups) {
  groups.with_root(
      call.root,
      [&] {
        groups.receive({call.to, call.count, call.type}, groups.first_of_other());
      },
      [&](int root) {
        Elements sum(call.count, call.type);
        reduce_own(call.from, sum.all(), call.op, groups);
        if (groups.is_first()) groups.send(sum.all(), root);
      });
}

void make(const of::Allreduce& call, Between& groups) {
  Elements sum = reduced_of_other(call.from, call.count, call.type, call.op, groups);
  if (groups.is_first()) copy(sum.all(), {call.to, call.count, call.type});
  collectives::make(of::Bcast{call.to, call.count, call.type, 0, MPI_COMM_NULL}, groups.own());
}

// Both groups give as many elements, and each divides what it gets among its own ranks.
void make(const of::Reduce_scatter_block& call, Between& groups) {
  const MPI_Count all = MPI_Count{call.count} * groups.own().size();
  Elements sum = reduced_of_other(call.from, all, call.type, call.op, groups);
  collectives::make(of::Scatter{sum.all().at, call.count, call.type, call.to, call.count, call.type, 0, MPI_COMM_NULL},
                    groups.own());
}

void make(const of::Reduce_scatter& call, Between& groups) {
  const std::span counts(call.counts, static_cast<std::size_t>(groups.own().size()));
  const MPI_Count all = std::accumulate(counts.begin(), counts.end(), MPI_Count{0});
  Elements sum = reduced_of_other(call.from, all, call.type, call.op, groups);
  std::vector<int> places(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  const int mine = counts[static_cast<std::size_t>(groups.own().rank())];
  collectives::make(
      of::Scatterv{sum.all().at, call.counts, places.data(), call.type, call.to, mine, call.type, 0, MPI_COMM_NULL},
      groups.own());
}

}  // namespace

bool make_between(const of::Any& call, const TwoGroups& groups, Messages& messages) {
  Between between(groups, messages);
  return std::visit(
      [&](const auto& one) {
        constexpr bool is_defined = requires { make(one, between); };
        if constexpr (is_defined) make(one, between);
        return is_defined;
      },
      call);
}

}  // namespace cairn::collectives
