#include "bind/parts.hpp"

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <cairn/error.hpp>
#include <cairn/lost_collectives.hpp>

#include "bind/last_error.hpp"

struct cairn_part {
  cairn::LostPart& part;
  std::vector<std::byte> state = {};  // at the end
};
struct cairn_parts {
  std::vector<std::vector<std::byte>> states;
};

namespace {

void expect_ok(int code, const char* function) {
  if (code == CAIRN_OK) return;
  const std::string text = std::string(function) + " has returned " + std::to_string(code);
  throw cairn::Exception(code == CAIRN_ROLLBACK ? cairn::ErrorKind::rollback : cairn::ErrorKind::usage, text);
}

std::vector<std::byte> copy_of(const void* data, size_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(data);
  return bytes == 0 ? std::vector<std::byte>() : std::vector<std::byte>(begin, begin + bytes);
}

std::span<const std::byte> span_of(const void* data, size_t bytes) {
  return {static_cast<const std::byte*>(data), bytes};
}
std::span<std::byte> span_of(void* data, size_t bytes) { return {static_cast<std::byte*>(data), bytes}; }

template <class Call>
int with_part(cairn_part* part, Call call) {
  if (part == nullptr) return cairn::bind::refuse(CAIRN_ERR_USAGE, "the part is NULL");
  try {
    call(part->part);
    return CAIRN_OK;
  } catch (const cairn::Exception& error) {
    const bool stops = error.kind() == cairn::ErrorKind::rollback;
    return cairn::bind::fail(stops ? CAIRN_ROLLBACK : CAIRN_ERR_USAGE, error.what());
  } catch (const std::exception& error) {
    return cairn::bind::fail(CAIRN_ERR_USAGE, error.what());
  }
}

}  // namespace

namespace cairn::bind {

ComputePart compute_of(cairn_compute_part compute, void* data) {
  if (compute == nullptr) return {};
  return [compute, data](LostPart& part) {
    cairn_part handle{part};
    expect_ok(compute(&handle, data), "compute");
    return std::move(handle.state);
  };
}

SplitState split_of(cairn_split split, void* data) {
  if (split == nullptr) return {};
  return [split, data](std::uint32_t count) {
    cairn_parts parts;
    expect_ok(split(&parts, count, data), "split");
    return std::move(parts.states);
  };
}

MergeState merge_of(cairn_merge merge, void* data) {
  if (merge == nullptr) return {};
  return [merge, data](std::span<const std::vector<std::byte>> parts, std::uint64_t steps) {
    std::vector<const void*> states;
    std::vector<size_t> bytes;
    for (const auto& part : parts) {
      states.push_back(part.data());
      bytes.push_back(part.size());
    }
    expect_ok(merge(states.data(), bytes.data(), static_cast<uint32_t>(parts.size()), steps, data), "merge");
  };
}

}  // namespace cairn::bind

int cairn_add_part(cairn_parts* parts, const void* state, size_t bytes) {
  if (parts == nullptr || (state == nullptr && bytes > 0))
    return cairn::bind::refuse(CAIRN_ERR_USAGE, "cairn_add_part: parts or state is NULL");
  parts->states.push_back(copy_of(state, bytes));
  return CAIRN_OK;
}

uint32_t cairn_part_number(const cairn_part* part) { return part->part.part(); }
uint32_t cairn_part_count(const cairn_part* part) { return part->part.parts(); }
uint32_t cairn_part_rank(const cairn_part* part) { return part->part.rank(); }
uint32_t cairn_part_ranks(const cairn_part* part) { return part->part.ranks(); }

const void* cairn_part_state(const cairn_part* part, size_t* bytes) {
  const auto state = part->part.state();
  if (bytes != nullptr) *bytes = state.size();
  return state.data();
}

int cairn_part_next_step(cairn_part* part, int* more) {
  if (more == nullptr) return cairn::bind::refuse(CAIRN_ERR_USAGE, "cairn_part_next_step: more is NULL");
  *more = 0;
  return with_part(part, [&](cairn::LostPart& open) { *more = open.next_step() ? 1 : 0; });
}

int cairn_part_send(cairn_part* part, uint32_t rank, int tag, const void* data, size_t bytes) {
  return with_part(part, [&](cairn::LostPart& open) { open.send_bytes(rank, tag, span_of(data, bytes)); });
}

int cairn_part_receive(cairn_part* part, uint32_t rank, int tag, void* data, size_t bytes) {
  return with_part(part, [&](cairn::LostPart& open) { open.receive_bytes(rank, tag, span_of(data, bytes)); });
}

int cairn_part_barrier(cairn_part* part) {
  return with_part(part, [&](cairn::LostPart& one) { cairn::LostCollectives(one).barrier(); });
}
int cairn_part_bcast(cairn_part* part, void* buffer, int count, MPI_Datatype type, int root) {
  return with_part(part, [&](cairn::LostPart& one) { cairn::LostCollectives(one).bcast(buffer, count, type, root); });
}
int cairn_part_gather(cairn_part* part, const void* from, int from_count, MPI_Datatype from_type, void* to,
                      int to_count, MPI_Datatype to_type, int root) {
  return with_part(part, [&](cairn::LostPart& one) {
    cairn::LostCollectives(one).gather(from, from_count, from_type, to, to_count, to_type, root);
  });
}
int cairn_part_gatherv(cairn_part* part, const void* from, int from_count, MPI_Datatype from_type, void* to,
                       const int* to_counts, const int* to_places, MPI_Datatype to_type, int root) {
  return with_part(part, [&](cairn::LostPart& one) {
    cairn::LostCollectives(one).gatherv(from, from_count, from_type, to, to_counts, to_places, to_type, root);
  });
}
int cairn_part_scatter(cairn_part* part, const void* from, int from_count, MPI_Datatype from_type, void* to,
                       int to_count, MPI_Datatype to_type, int root) {
  return with_part(part, [&](cairn::LostPart& one) {
    cairn::LostCollectives(one).scatter(from, from_count, from_type, to, to_count, to_type, root);
  });
}
int cairn_part_scatterv(cairn_part* part, const void* from, const int* from_counts, const int* from_places,
                        MPI_Datatype from_type, void* to, int to_count, MPI_Datatype to_type, int root) {
  return with_part(part, [&](cairn::LostPart& one) {
    cairn::LostCollectives(one).scatterv(from, from_counts, from_places, from_type, to, to_count, to_type, root);
  });
}
int cairn_part_allgather(cairn_part* part, const void* from, int from_count, MPI_Datatype from_type, void* to,
                         int to_count, MPI_Datatype to_type) {
  return with_part(part, [&](cairn::LostPart& one) {
    cairn::LostCollectives(one).allgather(from, from_count, from_type, to, to_count, to_type);
  });
}
int cairn_part_allgatherv(cairn_part* part, const void* from, int from_count, MPI_Datatype from_type, void* to,
                          const int* to_counts, const int* to_places, MPI_Datatype to_type) {
  return with_part(part, [&](cairn::LostPart& one) {
    cairn::LostCollectives(one).allgatherv(from, from_count, from_type, to, to_counts, to_places, to_type);
  });
}
int cairn_part_alltoall(cairn_part* part, const void* from, int from_count, MPI_Datatype from_type, void* to,
                        int to_count, MPI_Datatype to_type) {
  return with_part(part, [&](cairn::LostPart& one) {
    cairn::LostCollectives(one).alltoall(from, from_count, from_type, to, to_count, to_type);
  });
}
int cairn_part_alltoallv(cairn_part* part, const void* from, const int* from_counts, const int* from_places,
                         MPI_Datatype from_type, void* to, const int* to_counts, const int* to_places,
                         MPI_Datatype to_type) {
  return with_part(part, [&](cairn::LostPart& one) {
    cairn::LostCollectives(one).alltoallv(from, from_counts, from_places, from_type, to, to_counts, to_places, to_type);
  });
}
int cairn_part_alltoallw(cairn_part* part, const void* from, const int* from_counts, const int* from_places,
                         const MPI_Datatype* from_types, void* to, const int* to_counts, const int* to_places,
                         const MPI_Datatype* to_types) {
  return with_part(part, [&](cairn::LostPart& one) {
    cairn::LostCollectives(one).alltoallw(from, from_counts, from_places, from_types, to, to_counts, to_places,
                                          to_types);
  });
}
int cairn_part_reduce(cairn_part* part, const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root) {
  return with_part(part,
                   [&](cairn::LostPart& one) { cairn::LostCollectives(one).reduce(from, to, count, type, op, root); });
}
int cairn_part_allreduce(cairn_part* part, const void* from, void* to, int count, MPI_Datatype type, MPI_Op op) {
  return with_part(part,
                   [&](cairn::LostPart& one) { cairn::LostCollectives(one).allreduce(from, to, count, type, op); });
}
int cairn_part_reduce_scatter_block(cairn_part* part, const void* from, void* to, int count, MPI_Datatype type,
                                    MPI_Op op) {
  return with_part(
      part, [&](cairn::LostPart& one) { cairn::LostCollectives(one).reduce_scatter_block(from, to, count, type, op); });
}
int cairn_part_reduce_scatter(cairn_part* part, const void* from, void* to, const int* counts, MPI_Datatype type,
                              MPI_Op op) {
  return with_part(
      part, [&](cairn::LostPart& one) { cairn::LostCollectives(one).reduce_scatter(from, to, counts, type, op); });
}
int cairn_part_scan(cairn_part* part, const void* from, void* to, int count, MPI_Datatype type, MPI_Op op) {
  return with_part(part, [&](cairn::LostPart& one) { cairn::LostCollectives(one).scan(from, to, count, type, op); });
}
int cairn_part_exscan(cairn_part* part, const void* from, void* to, int count, MPI_Datatype type, MPI_Op op) {
  return with_part(part, [&](cairn::LostPart& one) { cairn::LostCollectives(one).exscan(from, to, count, type, op); });
}

int cairn_part_send_to_part(cairn_part* part, uint32_t other, int tag, const void* data, size_t bytes) {
  return with_part(part, [&](cairn::LostPart& open) { open.send_bytes_to_part(other, tag, span_of(data, bytes)); });
}

int cairn_part_receive_from_part(cairn_part* part, uint32_t other, int tag, void* data, size_t bytes) {
  return with_part(part,
                   [&](cairn::LostPart& open) { open.receive_bytes_from_part(other, tag, span_of(data, bytes)); });
}

int cairn_part_finish(cairn_part* part, const void* state, size_t bytes) {
  if (part == nullptr || (state == nullptr && bytes > 0))
    return cairn::bind::refuse(CAIRN_ERR_USAGE, "cairn_part_finish: part or state is NULL");
  part->state = copy_of(state, bytes);
  return CAIRN_OK;
}
