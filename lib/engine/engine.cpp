#include "engine/engine.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/background.hpp"
#include "level/global_level.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

constexpr std::chrono::microseconds kFastPoll{100};
constexpr std::chrono::microseconds kShortestNap{500};
constexpr std::chrono::microseconds kLongestNap{50000};  // polling MPI more often costs an idle head percents of a core

Error is_gone(const HeadGone& gone) {
  return {Code::communication, gone.why + ": snapshots are left as they are",
          "call finalize on every application rank"};
}

}  // namespace

Result<bool> Engine::step(Heads heads) {
  if (broken_) return fail(*broken_);
  auto worked = receive();
  if (worked && !*worked) worked = advance_seals();
  if (worked && !*worked && (heads == Heads::serve || all_voted_)) worked = promote_next();
  // Restoring and finishing are collective: they come after everything that was sealed, on every head alike.
  const bool quiet = nothing_is_left() && promotions_.empty();
  if (worked && !*worked && quiet) worked = answer_restore();
  if (worked && !*worked && quiet) worked = finish();
  if (worked && !*worked && is_dropped()) leave();
  inquiry_.look(setup_.clock());
  if (!worked) break_down(worked.error());
  return worked;
}

void Engine::break_down(const Error& error) {
  broken_ = error;
  tell_all(Trouble{error});
}

// The rank in whose process this engine runs is gone, and does not wait for those who compute. What is being raised is
// done first: the other heads wait for this one's part.
bool Engine::is_dropped() const {
  if (finished_ || !promotions_.empty()) return false;
  return std::ranges::any_of(finalize_requests_, [this](const auto& request) {
    return request.second.abandoned && setup_.topology.world_of_rank[request.first.value] == setup_.control.rank();
  });
}

void Engine::leave() {
  if (std::exchange(finished_, true) || broken_) return;
  const HeadGone gone{fmt::format("a rank of node {}, which is its head besides, dropped its session without finalize",
                                  node_.me.value)};
  const Buffer message = encode(ToHead(gone));
  for (const Node& node : setup_.topology.nodes) {
    // So short that it is on its way at once. Where all leave, nobody takes it.
    if (node.head != setup_.control.rank()) (void)setup_.control.isend(node.head, kToHead, message);
  }
  tell_all(Trouble{is_gone(gone)});
}

bool Engine::busy() const {
  return !sealing_.empty() || !promotions_.empty() || restore_requests_.size() == ranks_.size() ||
         finalize_requests_.size() == ranks_.size();
}

bool Engine::busy_with(Version version) const {
  return !promotions_.empty() || (!sealing_.empty() && sealing_.begin()->first <= version);
}

Status Engine::serve() {
  const Background background;
  auto nap = kShortestNap;
  while (!finished_) {
    const std::uint32_t rings = bell_->rings(Bell::Who::head);
    auto worked = step(Heads::serve);
    if (!worked) return fail(worked.error());
    if (*worked) {
      nap = kShortestNap;
      continue;
    }
    if (busy()) {
      bell_->wait(Bell::Who::head, rings, kFastPoll);
      continue;
    }
    break_silence();
    bell_->wait(Bell::Who::head, rings, nap);
    nap = bell_->rings(Bell::Who::head) == rings ? std::min(nap * 2, kLongestNap) : kShortestNap;
  }
  return {};
}

// Of the first node alone: where it is silent, the others are too, or wait for it.
void Engine::break_silence() {
  if (!leads() || !silence_.breaks(*bell_, setup_.clock())) return;
  node_.log.warning(
      "no rank of node 0 has called restore, snapshot, wait or finalize in the {} s since the session was opened; "
      "if the job hangs, look for communication on MPI_COMM_WORLD, in which heads take no part: use session.comm()",
      Silence::kLimit.count());
}

Inquiry::Ways Engine::ways() {
  const auto to_head = [this](NodeId node, const ToHead& message) {
    // A head that is gone is noticed where it matters.
    (void)setup_.control.send(setup_.topology.nodes[node.value].head, kToHead, encode(message));
  };
  const auto to_rank = [this](Rank rank, const ToRank& message) {
    tell(rank, message);
    if (bell_) bell_->ring(Bell::Who::ranks);
  };
  return {to_head, to_rank, [this] { return doing(); },
          [this](const std::string& line) { node_.log.warning("{}", line); }};
}

std::string Engine::doing() const {
  if (!promotions_.empty())
    return fmt::format("version {} is being raised to higher levels", promotions_.front().version.value);
  if (plan_ || fresh_offered_) return "ranks read what they restore";
  return {};
}

Result<bool> Engine::receive() {
  auto envelope = setup_.control.probe(kToHead);
  if (!envelope) return fail(envelope.error());
  if (!*envelope) return false;
  auto bytes = setup_.control.recv_probed(**envelope);
  if (!bytes) return fail(bytes.error());
  auto message = decode_to_head(*bytes);
  if (!message) return fail(message.error());
  if (auto status = handle((*envelope)->source, std::move(*message)); !status) return fail(status.error());
  return true;
}

Status Engine::handle(Peer from, ToHead message) {
  const NodeId node = setup_.topology.node_of_world[from.value];
  const auto now = setup_.clock();
  if (const auto* gone = std::get_if<HeadGone>(&message)) {
    return fail(is_gone(*gone));
  } else if (const auto* question = std::get_if<Inquire>(&message)) {
    inquiry_.hear(node, *question, now);
  } else if (const auto* ask = std::get_if<Ask>(&message)) {
    inquiry_.hear(*ask, now);
  } else if (const auto* answer = std::get_if<NotHere>(&message)) {
    inquiry_.hear(node, *answer);
  } else if (const auto* missing = std::get_if<Missing>(&message)) {
    inquiry_.hear(*missing);
  } else {
    for (const Rank rank : ranks_) {
      if (setup_.topology.world_of_rank[rank.value] != from) continue;
      handle(rank, std::move(message));
      break;
    }
  }
  return {};
}

void Engine::handle(Rank from, ToHead message) {
  if (auto* hello = std::get_if<Hello>(&message)) {
    hellos_.insert(from);
    if (hello->error) hello_error_ = hello->error->in("rank " + std::to_string(from.value));
  } else if (auto* seal = std::get_if<Seal>(&message)) {
    hear_seal(from, *seal);
  } else if (std::holds_alternative<RestoreRequest>(message)) {
    restore_requests_.insert(from);
  } else if (auto* result = std::get_if<RestoreResult>(&message)) {
    restore_results_[from] = std::move(result->error);
  } else if (auto* finalize = std::get_if<FinalizeRequest>(&message)) {
    finalize_requests_[from] = *finalize;
  } else if (auto* measured = std::get_if<Measured>(&message)) {
    keep(*measured);
  } else if (auto* waits = std::get_if<Waits>(&message)) {
    inquiry_.hear(from, *waits, setup_.clock());
  }
}

// Best effort: a job that loses this measures again.
void Engine::keep(const Measured& measured) {
  measured_ = measured;
  if (chain_.costs_unknown || record_.parent == RunRecord::Parent::undecided) return;
  Status status = check_not_taken_over(*node_.global, node_.incarnation, node_.run);
  if (status) status = write_text(*node_.global, names::costs(), to_json(measured, node_.sealer));
  if (!status) node_.log.warning("{}", status.error().in("what snapshots cost was not kept").text());
}

void Engine::tell(Rank rank, const ToRank& message) {
  // A rank that is gone is noticed where it matters: by the next message that is waited for.
  (void)setup_.control.send(setup_.topology.world_of_rank[rank.value], kToRank, encode(message));
}

void Engine::tell_all(const ToRank& message) {
  for (const Rank rank : ranks_) tell(rank, message);
  if (bell_) bell_->ring(Bell::Who::ranks);
}

}  // namespace cairn
