#include "door/veloc/meeting.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <cairn/error.hpp>

#include "door/veloc/say.hpp"

namespace cairn::door {
namespace {

constexpr std::size_t kTextBytes = 192;  // of a call, for a message

// FNV-1a, 64 bits.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

// Collective.
[[noreturn]] void refuse_uneven(const Meeting& meeting, const std::string& call) {
  std::array<char, kTextBytes> mine{};
  std::memcpy(mine.data(), call.data(), std::min(call.size(), mine.size() - 1));
  std::vector<char> all(kTextBytes * static_cast<std::size_t>(meeting.size()));
  MPI_Allgather(mine.data(), kTextBytes, MPI_CHAR, all.data(), kTextBytes, MPI_CHAR, meeting.comm());
  const std::string first(all.data());
  for (int rank = 1; rank < meeting.size(); ++rank) {
    const std::string other(&all[kTextBytes * static_cast<std::size_t>(rank)]);
    if (other == first) continue;
    throw OfAll(
        ErrorKind::mismatch,
        fmt::format("rank 0 calls {}, rank {} calls {}: all ranks must make the same calls", first, rank, other));
  }
  throw OfAll(ErrorKind::mismatch, fmt::format("ranks make different calls at {}", first));
}

}  // namespace

bool is_of_all(ErrorKind kind) {
  return kind == ErrorKind::config || kind == ErrorKind::mismatch || kind == ErrorKind::unrecoverable ||
         kind == ErrorKind::taken_over;
}

Meeting::Meeting(MPI_Comm comm) {
  MPI_Comm_dup(comm, &comm_);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

Meeting::~Meeting() {
  int is_over = 0;
  MPI_Finalized(&is_over);
  if (is_over == 0 && comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

Met Meeting::meet(const std::string& call, const Said& said) const {
  enum { kHash, kOther, kFailed, kMine, kNumber, kWords };
  constexpr std::int64_t kOffset = std::int64_t{1} << 32;
  const std::uint64_t hash = hash_of(call);
  std::array<std::uint64_t, kWords> words{hash, ~hash, said.fine ? 0U : 1U, said.mine ? 1U : 0U,
                                          static_cast<std::uint64_t>(kOffset + said.number)};
  MPI_Allreduce(MPI_IN_PLACE, words.data(), kWords, MPI_UINT64_T, MPI_MAX, comm_);
  if (words[kHash] != ~words[kOther]) refuse_uneven(*this, call);
  return {.all_fine = words[kFailed] == 0,
          .any = words[kMine] != 0,
          .highest = static_cast<int>(static_cast<std::int64_t>(words[kNumber]) - kOffset)};
}

void Meeting::wait_for_all() const { (void)meet("the end of a call that fails", {}); }

void Meeting::report(ErrorKind kind, const std::string& text) const {
  const bool same = meet("an error that all ranks have", {.fine = is_of_all(kind)}).all_fine;
  if (!same)
    say(fmt::format("rank {}: {}", rank_, text));
  else if (rank_ == 0)
    say(text);
  wait_for_all();
  throw Reported(kind, text);
}

}  // namespace cairn::door
