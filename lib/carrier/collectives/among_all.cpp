// From all ranks to all.
#include <functional>
#include <numeric>

#include "carrier/collectives/collectives.hpp"

namespace cairn::collectives {
namespace {

// A result that is longer goes around a ring, without copies on its way.
constexpr MPI_Count kShortResult = 65536;

using Blocks = std::function<Target(int)>;        // by rank
using SourceBlocks = std::function<Source(int)>;  // by rank

// This rank's block is in its place. Each rank hands on what it has got from the one before.
void gather_around_ring(const Blocks& blocks, Messages& messages) {
  const int size = messages.size();
  const int me = messages.rank();
  for (int step = 0; step + 1 < size; ++step)
    messages.exchange(blocks((me - step + size) % size), (me + 1) % size, blocks((me - step - 1 + size) % size),
                      (me - 1 + size) % size);
}

// Bruck et al. 1997, DOI 10.1109/71.642949: after each step a rank has twice as many blocks, its own first.
void gather_by_doubling(const Blocks& blocks, Messages& messages) {
  const int size = messages.size();
  const int me = messages.rank();
  std::vector<std::size_t> ends(static_cast<std::size_t>(size) + 1);  // of blocks, from this rank's on
  for (int i = 0; i < size; ++i) {
    const Target block = blocks((me + i) % size);
    ends[static_cast<std::size_t>(i) + 1] =
        ends[static_cast<std::size_t>(i)] + static_cast<std::size_t>(bytes_of(block.count, block.type));
  }
  // The first `count` blocks of that rank.
  const auto first_of = [&](int rank, int count) {
    std::size_t bytes = 0;
    for (int i = 0; i < count; ++i) {
      const Target block = blocks((rank + i) % size);
      bytes += static_cast<std::size_t>(bytes_of(block.count, block.type));
    }
    return bytes;
  };
  Buffer all = pack(blocks(me));
  all.resize(ends.back());
  for (int have = 1; have < size; have *= 2) {
    const int more = std::min(have, size - have);
    const int from = (me + have) % size;
    const auto into = MutableBytes(all).subspan(ends[static_cast<std::size_t>(have)], first_of(from, more));
    messages.exchange(bytes_source(Bytes(all).first(first_of(me, more))), (me - have + size) % size, bytes_target(into),
                      from);
  }
  for (int i = 1; i < size; ++i) {
    const std::size_t begin = ends[static_cast<std::size_t>(i)];
    unpack(Bytes(all).subspan(begin, ends[static_cast<std::size_t>(i) + 1] - begin), blocks((me + i) % size));
  }
}

void gather_at_all(const Blocks& blocks, Messages& messages) {
  MPI_Count bytes = 0;
  for (int i = 0; i < messages.size(); ++i) {
    const Target block = blocks(i);
    bytes += bytes_of(block.count, block.type);
  }
  bytes > kShortResult ? gather_around_ring(blocks, messages) : gather_by_doubling(blocks, messages);
}

// Each rank exchanges with each other in turn. A block without data is no message: both sides know that it has none.
void exchange_with_all(const SourceBlocks& out, const Blocks& in, Messages& messages) {
  const int size = messages.size();
  const int me = messages.rank();
  const auto peer_of = [](const Source& block, int rank) {
    return bytes_of(block.count, block.type) == 0 ? MPI_PROC_NULL : rank;
  };
  for (int step = 1; step < size; ++step) {
    const int to = (me + step) % size;
    const int from = (me - step + size) % size;
    const Source sent = out(to);
    const Target got = in(from);
    messages.exchange(sent, peer_of(sent, to), got, peer_of(got, from));
  }
}

// In place: what this rank sends is what it is to receive.
void exchange_in_place(const Blocks& blocks, Messages& messages) {
  std::vector<Buffer> copies;
  for (int i = 0; i < messages.size(); ++i) copies.push_back(pack(blocks(i)));
  exchange_with_all([&](int rank) { return bytes_source(copies[static_cast<std::size_t>(rank)]); }, blocks, messages);
}

void exchange_all(const void* from, const SourceBlocks& out, const Blocks& in, Messages& messages) {
  if (from == MPI_IN_PLACE) return exchange_in_place(in, messages);
  copy(out(messages.rank()), in(messages.rank()));
  exchange_with_all(out, in, messages);
}

}  // namespace

void make(const tap::collectives::Allgather& call, Messages& messages) {
  const Blocks blocks = [&](int rank) {
    return Target{element_of(call.to, MPI_Count{rank} * call.to_count, call.to_type), call.to_count, call.to_type};
  };
  if (call.from != MPI_IN_PLACE) copy({call.from, call.from_count, call.from_type}, blocks(messages.rank()));
  gather_at_all(blocks, messages);
}

void make(const tap::collectives::Allgatherv& call, Messages& messages) {
  const Blocks blocks = [&](int rank) {
    return Target{element_of(call.to, call.to_places[rank], call.to_type), call.to_counts[rank], call.to_type};
  };
  if (call.from != MPI_IN_PLACE) copy({call.from, call.from_count, call.from_type}, blocks(messages.rank()));
  gather_at_all(blocks, messages);
}

void make(const tap::collectives::Alltoall& call, Messages& messages) {
  exchange_all(
      call.from,
      [&](int rank) {
        return Source{element_of(call.from, MPI_Count{rank} * call.from_count, call.from_type), call.from_count,
                      call.from_type};
      },
      [&](int rank) {
        return Target{element_of(call.to, MPI_Count{rank} * call.to_count, call.to_type), call.to_count, call.to_type};
      },
      messages);
}

void make(const tap::collectives::Alltoallv& call, Messages& messages) {
  exchange_all(
      call.from,
      [&](int rank) {
        return Source{element_of(call.from, call.from_places[rank], call.from_type), call.from_counts[rank],
                      call.from_type};
      },
      [&](int rank) {
        return Target{element_of(call.to, call.to_places[rank], call.to_type), call.to_counts[rank], call.to_type};
      },
      messages);
}

void make(const tap::collectives::Alltoallw& call, Messages& messages) {
  exchange_all(
      call.from,
      [&](int rank) {
        return Source{element_of(call.from, call.from_places[rank], MPI_BYTE), call.from_counts[rank],
                      call.from_types[rank]};
      },
      [&](int rank) {
        return Target{element_of(call.to, call.to_places[rank], MPI_BYTE), call.to_counts[rank], call.to_types[rank]};
      },
      messages);
}

}  // namespace cairn::collectives
