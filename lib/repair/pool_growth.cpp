// How a pool starts new processes that replace dead ones, and what it sends them.
#include <algorithm>
#include <string>
#include <utility>

#include "repair/landing.hpp"
#include "repair/pool.hpp"
#include "repair/respawn.hpp"
#include "repair/sick_seats.hpp"

namespace cairn {
namespace {

using Role = Member::Role;

constexpr std::chrono::minutes kLongestWelcome{10};

}  // namespace

// Starts new processes for the dead of one host after another. They join as spares and get work as in any repair.
Status Pool::grow_if_wanted(const Vote& vote, Watchdog& watchdog, Proposal& proposal) {
  for (auto nodes = wanted(proposal); !nodes.empty(); nodes = wanted(proposal)) {
    watchdog.step("starting new processes");
    const auto started = start_for(std::move(nodes), proposal);
    if (!started) return fail(started.error());
    if (!*started) return {};
    if (auto told = pool_->broadcast(news()); !told) return fail(told.error());
    proposal = {};
    if (auto status = gather(*pool_, vote, proposal); !status) return status;
  }
  return {};
}

// Starts new processes for the nodes that are on the same host as the first. False if no host takes new processes.
Result<bool> Pool::start_for(std::vector<NodeId> nodes, const Proposal& proposal) {
  const std::vector<std::uint32_t>& live = proposal.live;
  std::vector<std::string> host_of;
  for (const Seat& node : nodes_) host_of.push_back(node.host);
  const bool one_host = std::ranges::all_of(host_of, [&](const std::string& host) { return host == host_of[0]; });
  const NodeId home = nodes.front();
  std::erase_if(nodes, [&](NodeId node) { return host_of[node.value] != host_of[home.value]; });
  const Survivors survivors{roster_, live, host_of};
  closed_hosts_.merge(forgetful_hosts(survivors));
  const auto sick = hosts_of(proposal.sick, nodes_);
  while (const auto landing = landing_for(home, survivors, closed_hosts_, sick)) {
    const std::string& host = host_of[landing->node.value];
    const auto grown = pool_->grow({landing->starter, one_host ? std::string() : host, nodes.size(), mark_});
    if (!grown) {
      ++failed_growths_;
      strays_ = true;
      return fail(grown.error());
    }
    if (!*grown) {
      if (me_ == live.front()) log_.warning("no new process could be started on {}", host);
      closed_hosts_.insert(host);
      continue;
    }
    failed_growths_ = 0;
    pool_ = std::move(*grown);
    const std::uint32_t start = 1 + std::ranges::max(roster_, {}, &Member::start).start;
    const bool at_home = landing->node == home;
    for (const NodeId node : nodes) roster_.push_back({Role::spare, at_home ? node : landing->node, {}, start});
    return true;
  }
  return false;
}

// The nodes for which new processes are needed. In mode `respawn` one for each process that died, less the newcomers
// that an earlier try has left as spares. The configured spares stay spares: they keep mpirun from ending the job once
// all other processes that it started itself have died.
std::vector<NodeId> Pool::wanted(const Proposal& proposal) const {
  using Mode = Config::Recovery::Mode;
  std::vector<NodeId> nodes;
  if (config_.recovery.mode == Mode::respawn) {
    std::vector<bool> lives(roster_.size());
    std::size_t spares = 0;
    for (const std::uint32_t number : proposal.live) {
      lives[number] = true;
      if (roster_[number].role == Role::spare) ++spares;
    }
    for (std::size_t i = 0; i < roster_.size(); ++i) {
      if (!lives[i] && roster_[i].role != Role::spare) nodes.push_back(roster_[i].node);
    }
    const std::size_t left = spares - std::min<std::size_t>(spares, config_.recovery.spares);
    nodes.resize(nodes.size() - std::min(nodes.size(), left));
  } else if (config_.recovery.when_spent == Config::Recovery::WhenSpent::respawn) {
    for (const Member& rank : proposal.repair.unfilled) nodes.push_back(rank.node);
  }
  return nodes;
}

// A survivor that dies while it starts new processes leaves them behind: they wait for it in MPI_Init, some of them
// busily. They may appear late, so every later repair looks for them, and so does the end of the job.
void Pool::end_strays() const {
  const auto first = std::ranges::find_if(neighbours_, [](const auto& neighbour) { return neighbour.has_value(); });
  if (first - neighbours_.begin() < me_) return;  // one of a host is enough
  if (strays_) end_newcomers();
}

// A newcomer may have died before it reached Cairn's code. Then this process and the other newcomers wait for it inside
// MPI, and the newcomers would keep mpirun from ending.
void Pool::end_newcomers() const {
  std::vector<ProcessId> members{this_process()};
  for (const auto& neighbour : neighbours_) {
    if (neighbour) members.push_back(*neighbour);
  }
  kill_children_but(members, parent_process(), mark_);
}

Result<std::unique_ptr<Pool>> Pool::join(MPI_Comm newcomers) {
  // A fixed limit, longer than a repair should take: a newcomer does not have the configuration yet.
  auto welcoming = std::make_unique<Watchdog>(newcomers, kLongestWelcome, "joining the job");
  int number = 0;
  int count = 0;
  MPI_Comm_rank(newcomers, &number);
  MPI_Comm_size(newcomers, &count);
  UlfmComm::Ptr grown = MpiUlfmComm::take(respawn::join(newcomers));
  const auto news = grown->broadcast({});
  if (!news) respawn::leave();
  welcoming.reset();
  ByteReader reader(*news);
  auto source = decode_config_source(reader.get_bytes(reader.get<std::uint64_t>()));
  if (!source) return fail(source.error());
  auto config = parse_config(*source);
  if (!config) return fail(config.error());
  std::unique_ptr<Pool> pool(new Pool(*std::move(source), *config));
  pool->pool_ = std::move(grown);
  if (auto status = pool->take_news(reader, static_cast<std::uint32_t>(count - number)); !status)
    return fail(status.error());
  Watchdog watchdog(MpiUlfmComm::raw(pool->pool_), config->recovery.limit, "joining the job");
  auto settled = pool->settle({}, watchdog);
  if (!settled) return fail(settled.error());
  if (*settled) return pool;
  pool->pool_->revoke();
  if (auto status = pool->rebuild({}); !status) return fail(status.error());
  return pool;
}

// All that a newcomer needs; every survivor would send the same.
Buffer Pool::news() const {
  ByteWriter out;
  const Buffer source = encode(source_);
  out.put(static_cast<std::uint64_t>(source.size()));
  out.put(source);
  out.put(head_mode());
  out.put_text(launcher_.mark);
  out.put_text(launcher_.ended);
  out.put(launcher_.world.has_value());
  out.put_text(mark_);
  out.put(strays_);
  out.put(repairs_);
  out.put(repairs_without_progress_);
  out.put(progress_);
  out.put(static_cast<std::uint32_t>(nodes_.size()));
  for (const Seat& node : nodes_) {
    out.put_text(node.host);
    out.put_text(node.node);
  }
  out.put(static_cast<std::uint32_t>(roster_.size()));
  for (const Member& member : roster_) {
    out.put(member.role);
    out.put(member.node.value);
    out.put(member.rank.value);
    out.put(member.start);
    out.put(member.catch_ups);
  }
  out.put(static_cast<std::uint32_t>(closed_hosts_.size()));
  for (const std::string& host : closed_hosts_) out.put_text(host);
  return out.take();
}

// `from_last`: the newcomers are the last of the roster.
Status Pool::take_news(ByteReader& news, std::uint32_t from_last) {
  config_.head.mode = news.get<HeadMode>();
  launcher_.mark = news.get_text();
  launcher_.ended = news.get_text();
  if (news.get<bool>()) launcher_.world = StartedWorld{config_.topology.node_size, config_.recovery.spares, true};
  mark_ = news.get_text();
  strays_ = news.get<bool>();
  repairs_ = news.get<std::uint32_t>();
  repairs_without_progress_ = news.get<std::uint32_t>();
  progress_ = news.get<std::uint32_t>();
  const auto nodes = news.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < nodes && news.good(); ++i) {
    Seat node;
    node.host = news.get_text();
    node.node = news.get_text();
    nodes_.push_back(std::move(node));
  }
  const auto members = news.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < members && news.good(); ++i) {
    Member member;
    member.role = news.get<Role>();
    member.node.value = news.get<std::uint32_t>();
    member.rank.value = news.get<std::uint32_t>();
    member.start = news.get<std::uint32_t>();
    member.catch_ups = news.get<std::uint32_t>();
    roster_.push_back(member);
  }
  const auto closed = news.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < closed && news.good(); ++i) closed_hosts_.insert(news.get_text());
  if (!news.good() || from_last > roster_.size())
    return fail_internal(Code::communication, "the message to new processes is damaged");
  me_ = static_cast<std::uint32_t>(roster_.size()) - from_last;
  return {};
}

}  // namespace cairn
