#include "mpi/collectives/two_groups.hpp"

#include <functional>
#include <numeric>
#include <span>
#include <variant>
#include <vector>

namespace cairn::collectives {
namespace {

namespace of = tap::collectives;

// By rank in the other group. Both sides know that a block without data is no message.
using OtherSources = std::function<Source(int)>;
using OtherTargets = std::function<Target(int)>;

class Between {
 public:
  Between(const TwoGroups& groups, Messages& messages) : groups_(groups), messages_(messages) {}

  [[nodiscard]] int own_ranks() const { return groups_.mine.size; }
  [[nodiscard]] int others() const { return groups_.other.size; }
  // In its own group.
  [[nodiscard]] int me() const { return messages_.rank() - groups_.mine.first; }
  [[nodiscard]] int rank_of(int other) const { return groups_.other.first + other; }

  void exchange(const OtherSources& out, const OtherTargets& in) {
    std::vector<Sent> sent;
    std::vector<Received> received;
    for (int other = 0; other < others(); ++other) {
      const Source mine = out(other);
      const Target theirs = in(other);
      if (bytes_of(mine.count, mine.type) > 0) sent.push_back({mine, rank_of(other)});
      if (bytes_of(theirs.count, theirs.type) > 0) received.push_back({theirs, rank_of(other)});
    }
    messages_.exchange_all(sent, received);
  }
  void send_to_all(const OtherSources& out) {
    exchange(out, [](int) { return Target{nullptr, 0, MPI_BYTE}; });
  }
  void receive_from_all(const OtherTargets& in) {
    exchange([](int) { return Source{nullptr, 0, MPI_BYTE}; }, in);
  }
  // What the root, and only it, does; and what a rank of the other group does, with the root's rank in `Messages`.
  void with_root(int root, const std::function<void()>& at_root, const std::function<void(int)>& at_other) {
    if (root == MPI_PROC_NULL) return;
    if (root == MPI_ROOT) return at_root();
    if (root < 0 || root >= others()) check(MPI_ERR_ROOT);
    at_other(rank_of(root));
  }
  void send(const Source& what, int rank) {
    if (bytes_of(what.count, what.type) > 0) messages_.send(what, rank);
  }
  void receive(const Target& into, int rank) {
    if (bytes_of(into.count, into.type) > 0) messages_.receive(into, rank);
  }

 private:
  const TwoGroups& groups_;
  Messages& messages_;
};

// What each rank of the other group gives to a reduction.
class Operands {
 public:
  Operands(int ranks, MPI_Count count, MPI_Datatype type) {
    for (int rank = 0; rank < ranks; ++rank) all_.emplace_back(count, type);
  }
  [[nodiscard]] Target of(int rank) { return all_[static_cast<std::size_t>(rank)].all(); }
  // In the order of the ranks. Returns the result; the others are used up.
  [[nodiscard]] Target reduced(MPI_Op op) {
    const Target result = all_.back().all();
    for (std::size_t i = all_.size() - 1; i > 0; --i)
      check(MPI_Reduce_local(all_[i - 1].all().at, result.at, static_cast<int>(result.count), result.type, op));
    return result;
  }

 private:
  std::vector<Elements> all_;
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

bool make(const of::Barrier& /*call*/, Between& groups) {
  const char mine = 0;
  std::vector<char> theirs(static_cast<std::size_t>(groups.others()));
  groups.exchange(
      [&](int) {
        return Source{&mine, 1, MPI_CHAR};
      },
      [&](int i) {
        return Target{&theirs[static_cast<std::size_t>(i)], 1, MPI_CHAR};
      });
  return true;
}

bool make(const of::Bcast& call, Between& groups) {
  const Target data{call.buffer, call.count, call.type};
  groups.with_root(
      call.root, [&] { groups.send_to_all([&](int) { return Source(data); }); },
      [&](int root) { groups.receive(data, root); });
  return true;
}

template <class Call>
bool gather(const Call& call, Between& groups) {
  groups.with_root(
      call.root, [&] { groups.receive_from_all(to_blocks(call)); },
      [&](int root) {
        groups.send({call.from, call.from_count, call.from_type}, root);
      });
  return true;
}
bool make(const of::Gather& call, Between& groups) { return gather(call, groups); }
bool make(const of::Gatherv& call, Between& groups) { return gather(call, groups); }

template <class Call>
bool scatter(const Call& call, Between& groups) {
  groups.with_root(
      call.root, [&] { groups.send_to_all(from_blocks(call)); },
      [&](int root) {
        groups.receive({call.to, call.to_count, call.to_type}, root);
      });
  return true;
}
bool make(const of::Scatter& call, Between& groups) { return scatter(call, groups); }
bool make(const of::Scatterv& call, Between& groups) { return scatter(call, groups); }

template <class Call>
bool gather_at_all(const Call& call, Between& groups) {
  groups.exchange([&](int) { return Source{call.from, call.from_count, call.from_type}; }, to_blocks(call));
  return true;
}
bool make(const of::Allgather& call, Between& groups) { return gather_at_all(call, groups); }
bool make(const of::Allgatherv& call, Between& groups) { return gather_at_all(call, groups); }

template <class Call>
bool exchange_with_all(const Call& call, Between& groups) {
  groups.exchange(from_blocks(call), to_blocks(call));
  return true;
}
bool make(const of::Alltoall& call, Between& groups) { return exchange_with_all(call, groups); }
bool make(const of::Alltoallv& call, Between& groups) { return exchange_with_all(call, groups); }
bool make(const of::Alltoallw& call, Between& groups) { return exchange_with_all(call, groups); }

bool make(const of::Reduce& call, Between& groups) {
  const auto reduce = [&] {
    if (call.count == 0) return;
    Operands operands(groups.others(), call.count, call.type);
    groups.receive_from_all([&](int i) { return operands.of(i); });
    copy(operands.reduced(call.op), {call.to, call.count, call.type});
  };
  groups.with_root(call.root, reduce, [&](int root) { groups.send({call.from, call.count, call.type}, root); });
  return true;
}

bool make(const of::Allreduce& call, Between& groups) {
  if (call.count == 0) return true;
  Operands operands(groups.others(), call.count, call.type);
  groups.exchange([&](int) { return Source{call.from, call.count, call.type}; }, [&](int i) { return operands.of(i); });
  copy(operands.reduced(call.op), {call.to, call.count, call.type});
  return true;
}

// Both groups give as many elements, and each divides what it gets among its own ranks.
bool make(const of::Reduce_scatter_block& call, Between& groups) {
  const MPI_Count all = MPI_Count{call.count} * groups.own_ranks();
  if (all == 0) return true;
  const MPI_Count theirs = all / groups.others();
  Operands operands(groups.others(), call.count, call.type);
  groups.exchange(
      [&](int i) {
        return Source{element_of(call.from, theirs * i, call.type), theirs, call.type};
      },
      [&](int i) { return operands.of(i); });
  copy(operands.reduced(call.op), {call.to, call.count, call.type});
  return true;
}

// How the other group divides them is not known, so all are sent.
bool make(const of::Reduce_scatter& call, Between& groups) {
  const std::span counts(call.counts, static_cast<std::size_t>(groups.own_ranks()));
  const MPI_Count all = std::accumulate(counts.begin(), counts.end(), MPI_Count{0});
  if (all == 0) return true;
  const MPI_Count place = std::accumulate(counts.begin(), counts.begin() + groups.me(), MPI_Count{0});
  Operands operands(groups.others(), all, call.type);
  groups.exchange([&](int) { return Source{call.from, all, call.type}; }, [&](int i) { return operands.of(i); });
  const Target result = operands.reduced(call.op);
  const int mine = call.counts[groups.me()];
  copy({element_of(result.at, place, call.type), mine, call.type}, {call.to, mine, call.type});
  return true;
}

// A prefix, or one among neighbours.
template <class Call>
bool make(const Call& /*call*/, Between& /*groups*/) {
  return false;
}

}  // namespace

bool make_between(const of::Any& call, const TwoGroups& groups, Messages& messages) {
  Between between(groups, messages);
  return std::visit([&](const auto& one) { return make(one, between); }, call);
}

}  // namespace cairn::collectives
