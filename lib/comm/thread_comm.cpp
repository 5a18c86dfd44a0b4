#include "comm/thread_comm.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "comm/finished_request.hpp"
#include "comm/idler.hpp"
#include "comm/thread_requests.hpp"
#include "comm/thread_state.hpp"

namespace cairn {
namespace {

using CollectivePtr = std::shared_ptr<ThreadCollective>;

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::allreduce: return "allreduce";
    case CollectiveKind::allgather: return "allgather";
    case CollectiveKind::broadcast: return "broadcast";
    case CollectiveKind::barrier: return "barrier";
    case CollectiveKind::split: return "split";
  }
  return "collective";
}

std::uint64_t combine(std::uint64_t a, std::uint64_t b, Reduce how) {
  switch (how) {
    case Reduce::sum: return a + b;
    case Reduce::max: return std::max(a, b);
    case Reduce::min: return std::min(a, b);
    case Reduce::bit_or: return a | b;
    case Reduce::bit_and: return a & b;
  }
  return a;
}

// A bell ends the sleep when the awaited thing happens, so long sleeps cause no delay. Short ones would waste time,
// with thousands of members on a few cores.
Backoff::Limits limits_for(std::uint32_t members) {
  Backoff::Limits limits;
  limits.first = std::max(limits.first, Backoff::Duration{members} * 5);
  limits.cap = std::max(limits.cap, Backoff::Duration{members} * 50);
  limits.idle_cap = std::max(limits.idle_cap, limits.cap);
  return limits;
}

// Groups by color what members gave as (color, key, rank), in order of key, then rank.
std::vector<ThreadPlace> place(const ThreadGroup& parent, const std::vector<Buffer>& wishes) {
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint32_t>>> by_color;
  for (std::uint32_t rank = 0; rank < wishes.size(); ++rank) {
    ByteReader reader(wishes[rank]);
    if (reader.get<std::uint8_t>() == 0) continue;
    const auto color = reader.get<std::uint32_t>();
    by_color[color].emplace_back(reader.get<std::uint32_t>(), rank);
  }
  std::vector<ThreadPlace> places(wishes.size());
  for (auto& [color, ordered] : by_color) {
    std::ranges::sort(ordered);
    std::vector<std::uint32_t> members;
    for (const auto& [key, rank] : ordered) members.push_back(parent.members[rank]);
    const auto group = std::make_shared<ThreadGroup>(parent.world, std::move(members));
    for (std::uint32_t i = 0; i < ordered.size(); ++i) places[ordered[i].second] = ThreadPlace{group, Peer{i}};
  }
  return places;
}

class ThreadComm final : public Comm {
 public:
  ThreadComm(std::shared_ptr<ThreadGroup> group, Peer rank)
      : group_(std::move(group)), rank_(rank), idler_(limits_for(group_->size())) {}

  Peer rank() const override { return rank_; }
  std::uint32_t size() const override { return group_->size(); }

  std::unique_ptr<Request> isend(Peer to, Tag tag, Bytes message) override;
  std::unique_ptr<Request> irecv(Peer from, Tag tag, MutableBytes into) override;
  Result<std::optional<Envelope>> probe(Tag tag) override;
  std::unique_ptr<Request> iallreduce(std::span<std::uint64_t> values, Reduce how) override;
  Result<std::vector<Buffer>> allgather(Bytes mine) override;
  Result<Buffer> broadcast(Bytes mine, Peer root) override;
  Status barrier() override;
  Result<std::unique_ptr<Comm>> split(std::optional<std::uint32_t> color, std::uint32_t key) override;

  void on_wait(std::function<bool()> work) override { idler_.set_work(std::move(work)); }
  void idle(bool progress) override;

 private:
  using Contribute = std::function<Status(ThreadCollective&)>;

  // Takes part in this member's next collective.
  Result<CollectivePtr> enter(CollectiveKind kind, std::size_t size_bytes, const Contribute& contribute);
  Status out_of_order(CollectiveKind mine, CollectiveKind theirs) const;
  // Enters and waits until all that is needed is there.
  Result<CollectivePtr> complete(CollectiveKind kind, std::size_t size_bytes, const Contribute& contribute);

  const std::shared_ptr<ThreadGroup> group_;
  const Peer rank_;
  std::uint64_t next_collective_ = 0;  // guarded by the group's mutex
  Idler idler_;
  std::atomic<std::uint64_t> heard_{0};  // rings of this member's bell
};

std::unique_ptr<Request> ThreadComm::isend(Peer to, Tag tag, Bytes message) {
  if (auto status = check_message(to, tag, size()); !status) return finished_request(status);
  if (auto status = group_->reachable(rank_, to); !status) {
    return finished_request(fail(status.error().in(fmt::format("send with tag {}", tag.value))));
  }
  idler_.reset();
  ThreadMember& self = group_->member(rank_);
  ++self.messages;
  self.message_bytes += message.size();
  ThreadMember& other = group_->member(to);
  ++other.received;
  other.received_bytes += message.size();
  auto transfer = std::make_shared<Transfer>();
  group_->mailboxes[to.value].deliver(rank_, tag, message, transfer, to == rank_);
  other.bell.ring();
  return std::make_unique<ThreadSend>(group_, rank_, to, tag, std::move(transfer));
}

std::unique_ptr<Request> ThreadComm::irecv(Peer from, Tag tag, MutableBytes into) {
  if (auto status = check_message(from, tag, size()); !status) return finished_request(status);
  if (auto status = group_->alive(rank_); !status) {
    return finished_request(fail(status.error().in(fmt::format("receive with tag {}", tag.value))));
  }
  idler_.reset();
  auto transfer = std::make_shared<Transfer>();
  if (group_->mailboxes[rank_.value].post(from, tag, into, transfer)) group_->member(from).bell.ring();
  return std::make_unique<ThreadReceive>(group_, rank_, from, tag, std::move(transfer));
}

Result<std::optional<Envelope>> ThreadComm::probe(Tag tag) {
  if (auto status = group_->alive(rank_); !status) return fail(status.error().in("probe"));
  return group_->mailboxes[rank_.value].first(tag);
}

Result<CollectivePtr> ThreadComm::enter(CollectiveKind kind, std::size_t size_bytes, const Contribute& contribute) {
  if (auto status = group_->all_reachable(rank_); !status) return fail(status.error().in(name_of(kind)));
  idler_.reset();
  ThreadMember& self = group_->member(rank_);
  ++self.collectives;
  self.collective_bytes += size_bytes;

  CollectivePtr collective;
  {
    const std::lock_guard lock(group_->mutex);
    const std::uint64_t sequence = next_collective_++;
    CollectivePtr& slot = group_->collectives[sequence];
    if (!slot) {
      slot = std::make_shared<ThreadCollective>();
      slot->kind = kind;
    }
    collective = slot;
    Status status;
    if (collective->kind != kind) {
      status = out_of_order(kind, collective->kind);
    } else if (!collective->finished()) {
      status = contribute(*collective);
    }
    const bool all_arrived = ++collective->arrived == size();
    if (all_arrived) group_->collectives.erase(sequence);
    if (collective->finished()) {
      if (!status) return fail(status.error());
      return collective;
    }
    if (status && !all_arrived && !collective->ready) return collective;
    if (!status) collective->error = status.error();
    if (status && kind == CollectiveKind::split) collective->places = place(*group_, collective->parts);
    collective->done.store(true, std::memory_order_release);
  }
  group_->ring_all();
  return collective;
}

Status ThreadComm::out_of_order(CollectiveKind mine, CollectiveKind theirs) const {
  return fail(
      Code::invalid_argument,
      fmt::format("member {} calls {}, but others call {}; all members must make the same calls in the same order",
                  rank_.value, name_of(mine), name_of(theirs)));
}

Result<CollectivePtr> ThreadComm::complete(CollectiveKind kind, std::size_t size_bytes, const Contribute& contribute) {
  auto collective = enter(kind, size_bytes, contribute);
  if (!collective) return collective;
  ThreadCollectiveRequest request(group_, rank_, *collective);
  if (auto status = wait(request); !status) return fail(status.error());
  return collective;
}

std::unique_ptr<Request> ThreadComm::iallreduce(std::span<std::uint64_t> values, Reduce how) {
  const auto contribute = [&](ThreadCollective& all) -> Status {
    if (all.arrived == 0) {
      all.values.assign(values.begin(), values.end());
      all.how = how;
      return {};
    }
    if (all.values.size() != values.size() || all.how != how) {
      return fail(Code::invalid_argument,
                  fmt::format("member {} reduces {} values, but others reduce {} values or use another operation",
                              rank_.value, values.size(), all.values.size()));
    }
    for (std::size_t i = 0; i < values.size(); ++i) all.values[i] = combine(all.values[i], values[i], how);
    return {};
  };
  auto collective = enter(CollectiveKind::allreduce, values.size_bytes(), contribute);
  if (!collective) return finished_request(fail(collective.error()));
  return std::make_unique<ThreadCollectiveRequest>(group_, rank_, *std::move(collective), values);
}

Result<std::vector<Buffer>> ThreadComm::allgather(Bytes mine) {
  const auto all = complete(CollectiveKind::allgather, mine.size(), [&](ThreadCollective& gathered) -> Status {
    gathered.parts.resize(size());
    gathered.parts[rank_.value].assign(mine.begin(), mine.end());
    return {};
  });
  if (!all) return fail(all.error());
  for (const Buffer& part : (*all)->parts) group_->member(rank_).gathered_bytes += part.size();
  return (*all)->parts;
}

Result<Buffer> ThreadComm::broadcast(Bytes mine, Peer root) {
  if (auto status = check_peer(root, size()); !status) return fail(status.error());
  const bool is_root = root == rank_;
  const auto all =
      complete(CollectiveKind::broadcast, is_root ? mine.size() : 0, [&](ThreadCollective& sent) -> Status {
        if (!is_root) return {};
        sent.parts.emplace_back(mine.begin(), mine.end());
        sent.ready = true;
        return {};
      });
  if (!all) return fail(all.error());
  if ((*all)->parts.empty()) {
    return fail(Code::invalid_argument,
                fmt::format("broadcast: members disagree about the root, which is {} for one of them", root.value));
  }
  group_->member(rank_).gathered_bytes += (*all)->parts.front().size();
  return (*all)->parts.front();
}

Status ThreadComm::barrier() {
  const auto all = complete(CollectiveKind::barrier, 0, [](ThreadCollective&) { return Status{}; });
  if (!all) return fail(all.error());
  return {};
}

Result<std::unique_ptr<Comm>> ThreadComm::split(std::optional<std::uint32_t> color, std::uint32_t key) {
  ByteWriter wish;
  wish.put(static_cast<std::uint8_t>(color.has_value()));
  wish.put(color.value_or(0));
  wish.put(key);
  const auto all = complete(CollectiveKind::split, wish.size(), [&](ThreadCollective& wishes) -> Status {
    wishes.parts.resize(size());
    wishes.parts[rank_.value] = wish.bytes();
    return {};
  });
  if (!all) return fail(all.error());
  const ThreadPlace& mine = (*all)->places[rank_.value];
  if (!mine.group) return std::unique_ptr<Comm>{};
  return std::make_unique<ThreadComm>(mine.group, mine.rank);
}

void ThreadComm::idle(bool progress) {
  const auto sleep = idler_.turn(progress);
  if (!sleep) return;
  // A ring since the last check ends the sleep at once: it may be what the caller waits for.
  std::uint64_t heard = heard_;
  if (group_->member(rank_).bell.wait(heard, *sleep)) idler_.reset();
  heard_ = heard;
}

}  // namespace

ThreadWorld::ThreadWorld(std::uint32_t members) : state_(std::make_shared<ThreadWorldState>(members)) {
  std::vector<std::uint32_t> all(members);
  std::iota(all.begin(), all.end(), 0U);
  group_ = std::make_shared<ThreadGroup>(state_, std::move(all));
}

std::uint32_t ThreadWorld::size() const { return group_->size(); }

std::unique_ptr<Comm> ThreadWorld::member(Peer peer) const { return std::make_unique<ThreadComm>(group_, peer); }

void ThreadWorld::kill() const {
  state_->all_killed = true;
  state_->any_killed = true;
  group_->ring_all();
}

void ThreadWorld::kill(Peer peer) const {
  group_->member(peer).killed = true;
  state_->any_killed = true;
  group_->ring_all();
}

Traffic ThreadWorld::traffic(Peer peer) const {
  const ThreadMember& member = group_->member(peer);
  return Traffic{member.messages,    member.message_bytes,    member.received,      member.received_bytes,
                 member.collectives, member.collective_bytes, member.gathered_bytes};
}

std::vector<std::unique_ptr<Comm>> make_thread_world(std::uint32_t members) {
  const ThreadWorld world(members);
  std::vector<std::unique_ptr<Comm>> comms;
  for (std::uint32_t i = 0; i < members; ++i) comms.push_back(world.member(Peer{i}));
  return comms;
}

}  // namespace cairn
