#include "mpi/mpi_comm.hpp"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "comm/finished_request.hpp"
#include "mpi/mpi_library.hpp"
#include "mpi/mpi_request.hpp"
#include "mpi/ulfm.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

using Kind = MpiRequest::Kind;

// A message often comes within microseconds: before the first sleep some turns only yield the core.
constexpr Backoff::Limits kLimits{.yields = 32};

MPI_Op operator_of(Reduce how) {
  switch (how) {
    case Reduce::sum: return MPI_SUM;
    case Reduce::max: return MPI_MAX;
    case Reduce::min: return MPI_MIN;
    case Reduce::bit_or: return MPI_BOR;
    case Reduce::bit_and: return MPI_BAND;
  }
  return MPI_OP_NULL;
}

// What a collective sends first: the length of a message, and as much of it as fits. Most are no longer, and so take
// one round of all members, not two.
template <std::size_t kBytes>
struct Beginning {
  std::uint64_t size_bytes = 0;
  std::array<std::byte, kBytes> bytes{};

  Beginning() = default;
  explicit Beginning(Bytes message) : size_bytes(message.size()) { copy_bytes(message.first(count()), bytes); }
  [[nodiscard]] std::size_t count() const { return std::min<std::size_t>(size_bytes, kBytes); }
  [[nodiscard]] Bytes front() const { return Bytes(bytes).first(count()); }
};
using BroadcastBeginning = Beginning<504>;
using GatherBeginning = Beginning<24>;  // each member gets those of all: a few words, or a host's name

std::unique_ptr<Request> started(int code, MPI_Request request, const MpiRequest::Operation& operation) {
  if (code == MPI_SUCCESS) return std::make_unique<MpiRequest>(request, operation);
  return finished_request(fail(mpi_error(
      code, fmt::format("{}, member {}, tag {}", operation.what, operation.peer.value, operation.tag.value))));
}

}  // namespace

MpiComm::MpiComm(MPI_Comm comm, std::size_t largest_transfer, std::shared_ptr<Lifeline> lifeline, Unfinished unfinished)
    : comm_(comm),
      largest_transfer_(std::clamp<std::size_t>(largest_transfer, 1, kLargestTransfer)),
      lifeline_(std::move(lifeline)),
      unfinished_(std::move(unfinished)),
      idler_(kLimits) {
  if (lifeline_) lifeline_->add(comm_);
}

Result<MPI_Comm> own_duplicate(MPI_Comm comm) {
  const tap::Unheard own;
  MPI_Comm copy = MPI_COMM_NULL;
  if (const int code = MPI_Comm_dup(comm, &copy); code != MPI_SUCCESS) return fail(mpi_error(code, "MPI_Comm_dup"));
  return copy;
}

Result<std::unique_ptr<MpiComm>> MpiComm::duplicate(MPI_Comm comm, std::size_t largest_transfer,
                                                    std::shared_ptr<Lifeline> lifeline) {
  if (!mpi_is_running()) {
    return fail(Code::communication, "MPI is not running", "call MPI_Init before, and MPI_Finalize after, using Cairn");
  }
  if (auto fits = check_mpi_library(); !fits) return tl::unexpected(std::move(fits).error());
  if (comm == MPI_COMM_NULL) return fail(Code::invalid_argument, "the communicator is MPI_COMM_NULL");
  const auto copy = own_duplicate(comm);
  if (!copy) return fail(copy.error());
  return adopt(*copy, largest_transfer, std::move(lifeline), std::make_shared<std::atomic<bool>>(false));
}

Result<std::unique_ptr<MpiComm>> MpiComm::take(MPI_Comm comm, std::shared_ptr<Lifeline> lifeline) {
  return adopt(comm, kLargestTransfer, std::move(lifeline), std::make_shared<std::atomic<bool>>(false));
}

Result<std::unique_ptr<MpiComm>> MpiComm::adopt(MPI_Comm comm, std::size_t largest_transfer,
                                                std::shared_ptr<Lifeline> lifeline, Unfinished unfinished) {
  std::unique_ptr<MpiComm> made(new MpiComm(comm, largest_transfer, std::move(lifeline), std::move(unfinished)));
  int code = MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int rank = 0;
  int size = 0;
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(comm, &rank);
  if (code == MPI_SUCCESS) code = MPI_Comm_size(comm, &size);
  if (code != MPI_SUCCESS) return fail(mpi_error(code, "setting up a communicator"));
  made->rank_ = Peer{static_cast<std::uint32_t>(rank)};
  made->size_ = static_cast<std::uint32_t>(size);
  return made;
}

MpiComm::~MpiComm() {
  to_self_.reset();
  if (lifeline_) {
    lifeline_->remove(comm_);
  } else if (mpi_is_running() && !*unfinished_) {
    const tap::Unheard own;
    MPI_Comm_free(&comm_);
  }
}

Status MpiComm::look_for_failures() {
  if (!lifeline_) return {};
  lifeline_->watch();
  if (!lifeline_->is_cut()) return {};
  return fail(Code::communication, "a process died");
}

// The report of a death may come later than the revocation because of it. The repair that follows would wait for it,
// too.
std::vector<Peer> MpiComm::dead_members() const {
  if (!lifeline_ || !mpi_is_running()) return {};
  if (lifeline_->is_cut()) ulfm::wait_for_news(comm_);
  std::vector<Peer> dead;
  for (const std::uint32_t member : ulfm::failed_members(comm_)) dead.push_back(Peer{member});
  return dead;
}

std::unique_ptr<Request> MpiComm::isend(Peer to, Tag tag, Bytes message) {
  if (auto status = check_message(to, tag, size_); !status) return finished_request(status);
  if (message.size() > largest_transfer_) {
    return finished_request(
        fail_internal(Code::invalid_argument,
                      fmt::format("a message of {} bytes to member {} with tag {} is longer than the largest, {} bytes",
                                  message.size(), to.value, tag.value, largest_transfer_)));
  }
  idler_.reset();
  const MpiRequest::Operation operation{Kind::send, "send", to, tag, message.size()};
  MPI_Request request = MPI_REQUEST_NULL;
  if (to == rank_) {
    const int code = to_self_->send(comm_, static_cast<int>(to.value), static_cast<int>(tag.value), message);
    return code == MPI_SUCCESS ? finished_request({}) : started(code, request, operation);
  }
  const tap::Unheard own;
  const int code = MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_BYTE, static_cast<int>(to.value),
                             static_cast<int>(tag.value), comm_, &request);
  return started(code, request, operation);
}

std::unique_ptr<Request> MpiComm::irecv(Peer from, Tag tag, MutableBytes into) {
  if (auto status = check_message(from, tag, size_); !status) return finished_request(status);
  idler_.reset();
  // No message is longer than largest_transfer_, so a longer buffer need not be told to MPI in full.
  const std::size_t room = std::min(into.size(), kLargestTransfer);
  MPI_Request request = MPI_REQUEST_NULL;
  const tap::Unheard own;
  const int code = MPI_Irecv(into.data(), static_cast<int>(room), MPI_BYTE, static_cast<int>(from.value),
                             static_cast<int>(tag.value), comm_, &request);
  return started(code, request, {Kind::receive, "receive", from, tag, into.size()});
}

Result<std::optional<Envelope>> MpiComm::probe(Tag tag) {
  if (auto status = look_for_failures(); !status) return fail(status.error());
  int found = 0;
  MPI_Status status{};
  int code = MPI_SUCCESS;
  // A probe of Open MPI first looks at the messages that it has, and only then receives new ones: a second probe finds
  // those.
  for (int look = 0; look < 2 && found == 0 && code == MPI_SUCCESS; ++look) {
    const tap::Unheard own;
    code = MPI_Iprobe(MPI_ANY_SOURCE, static_cast<int>(tag.value), comm_, &found, &status);
  }
  int size_bytes = 0;
  if (code == MPI_SUCCESS && found != 0) code = MPI_Get_count(&status, MPI_BYTE, &size_bytes);
  if (code != MPI_SUCCESS) return fail(mpi_error(code, fmt::format("probe for tag {}", tag.value)));
  if (found == 0) return std::nullopt;
  return Envelope{Peer{static_cast<std::uint32_t>(status.MPI_SOURCE)}, tag, static_cast<std::size_t>(size_bytes)};
}

std::unique_ptr<Request> MpiComm::iallreduce(std::span<std::uint64_t> values, Reduce how) {
  if (values.size_bytes() > largest_transfer_) {
    return finished_request(fail(
        Code::invalid_argument,
        fmt::format("{} values are too many for one reduction of at most {} bytes", values.size(), largest_transfer_)));
  }
  idler_.reset();
  return std::make_unique<MpiReduction>(comm_, values, operator_of(how), unfinished_);
}

Status MpiComm::finish(int started, MPI_Request request, const char* what) {
  if (started != MPI_SUCCESS) return fail(mpi_error(started, what));
  idler_.reset();
  MpiRequest operation(request, {.kind = Kind::collective, .what = what});
  return wait(operation);
}

Status MpiComm::barrier() {
  MPI_Request request = MPI_REQUEST_NULL;
  const tap::Unheard own;
  const int code = MPI_Ibarrier(comm_, &request);
  return finish(code, request, "barrier");
}

Status MpiComm::gather_round(Bytes mine, const std::vector<int>& counts, std::vector<Buffer>& all) {
  std::vector<int> offsets(size_);
  int total = 0;
  for (std::uint32_t i = 0; i < size_; ++i) {
    offsets[i] = total;
    total += counts[i];
  }
  Buffer received(static_cast<std::size_t>(total));
  MPI_Request request = MPI_REQUEST_NULL;
  const tap::Unheard own;
  const int code = MPI_Iallgatherv(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, received.data(), counts.data(),
                                   offsets.data(), MPI_BYTE, comm_, &request);
  if (auto status = finish(code, request, "allgather"); !status) return status;
  for (std::uint32_t i = 0; i < size_; ++i) {
    const auto part = received.begin() + offsets[i];
    all[i].insert(all[i].end(), part, part + counts[i]);
  }
  return {};
}

Result<std::vector<Buffer>> MpiComm::allgather(Bytes mine) {
  const GatherBeginning beginning(mine);
  std::vector<GatherBeginning> beginnings(size_);
  MPI_Request request = MPI_REQUEST_NULL;
  const tap::Unheard own;
  const int code = MPI_Iallgather(&beginning, sizeof(beginning), MPI_BYTE, beginnings.data(), sizeof(beginning),
                                  MPI_BYTE, comm_, &request);
  if (auto status = finish(code, request, "allgather of lengths"); !status) return fail(status.error());

  std::vector<Buffer> all(size_);
  std::uint64_t longest = 0;
  for (std::uint32_t i = 0; i < size_; ++i) {
    all[i].reserve(beginnings[i].size_bytes);
    all[i].assign(beginnings[i].front().begin(), beginnings[i].front().end());
    longest = std::max(longest, beginnings[i].size_bytes);
  }
  // MPI counts and offsets are ints: a round carries so much of each member that their sum is one.
  const std::uint64_t step = std::max<std::uint64_t>(largest_transfer_ / size_, 1);
  std::vector<int> counts(size_);
  for (std::uint64_t done = beginning.bytes.size(); done < longest; done += step) {
    std::ranges::transform(beginnings, counts.begin(), [&](const GatherBeginning& member) {
      return static_cast<int>(std::min(member.size_bytes - std::min(member.size_bytes, done), step));
    });
    const std::size_t from = std::min<std::size_t>(done, mine.size());
    const auto status = gather_round(mine.subspan(from, static_cast<std::size_t>(counts[rank_.value])), counts, all);
    if (!status) return fail(status.error());
  }
  return all;
}

Result<Buffer> MpiComm::broadcast(Bytes mine, Peer root) {
  if (auto status = check_peer(root, size_); !status) return fail(status.error());
  BroadcastBeginning beginning(root == rank_ ? mine : Bytes{});
  MPI_Request request = MPI_REQUEST_NULL;
  const int from = static_cast<int>(root.value);
  const tap::Unheard own;
  int code = MPI_Ibcast(&beginning, sizeof(beginning), MPI_BYTE, from, comm_, &request);
  if (auto status = finish(code, request, "broadcast of a length"); !status) return fail(status.error());

  Buffer message(beginning.size_bytes);
  copy_bytes(root == rank_ ? mine : beginning.front(), message);
  for (std::uint64_t done = beginning.count(); done < message.size(); done += largest_transfer_) {
    const auto count = static_cast<int>(std::min<std::uint64_t>(message.size() - done, largest_transfer_));
    code = MPI_Ibcast(message.data() + done, count, MPI_BYTE, from, comm_, &request);
    if (auto status = finish(code, request, "broadcast"); !status) return fail(status.error());
  }
  return message;
}

Result<std::unique_ptr<Comm>> MpiComm::split(std::optional<std::uint32_t> color, std::uint32_t key) {
  // A member with impossible arguments still takes part, so that the others do not wait for ever.
  const bool possible = color.value_or(0) <= INT_MAX && key <= INT_MAX;
  MPI_Comm part = MPI_COMM_NULL;
  const tap::Unheard own;
  const int mpi_color = color && possible ? static_cast<int>(*color) : MPI_UNDEFINED;
  const int code = MPI_Comm_split(comm_, mpi_color, possible ? static_cast<int>(key) : 0, &part);
  if (!possible) {
    return fail_internal(Code::invalid_argument,
                         fmt::format("split: color {} and key {} must be at most {}", color.value_or(0), key, INT_MAX));
  }
  if (code != MPI_SUCCESS) return fail(mpi_error(code, "split"));
  if (part == MPI_COMM_NULL) return nullptr;
  auto adopted = adopt(part, largest_transfer_, lifeline_, unfinished_);
  if (!adopted) return fail(adopted.error());
  return *std::move(adopted);
}

void MpiComm::idle(bool progress) {
  // A failure makes what is waited for fail.
  (void)look_for_failures();
  const auto sleep = idler_.turn(progress);
  if (!sleep) return;
  if (sleep->count() == 0) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(*sleep);
  }
}

}  // namespace cairn
