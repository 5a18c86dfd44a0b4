#include "engine/engine.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/background.hpp"
#include "base/check.hpp"
#include "engine/ending.hpp"

namespace cairn {
namespace {

constexpr std::chrono::microseconds kFastPoll{100};
constexpr std::chrono::microseconds kShortestNap{500};
constexpr std::chrono::microseconds kLongestNap{50000};  // polling MPI more often costs an idle head percents of a core

Error is_gone(const HeadGone& gone) {
  return {Code::communication, gone.why + ": the snapshots are kept", "call finalize on every application rank"};
}

}  // namespace

Result<bool> Engine::step(Heads heads) {
  if (broken_) return fail(*broken_);
  auto worked = receive();
  if (worked && !*worked) worked = seals_.advance();
  if (worked && !*worked && (heads == Heads::serve || seals_.all_have_voted())) worked = promoter_.raise_next();
  // Restoring and finishing are collective: they come after everything that was sealed, on every head alike.
  const bool quiet = seals_.nothing_is_left() && promoter_.idle();
  if (worked && !*worked && quiet) worked = restores_.answer();
  if (worked && !*worked && quiet) worked = finish();
  // The rank in whose process this engine runs has dropped its session, and does not wait for ranks that compute. What
  // is being raised is finished first: the other heads wait for this one's part.
  if (worked && !*worked && promoter_.idle() && head_.is_dropped()) leave();
  if (!finished_) {
    inquiry_.look(head_.clock());
    if (faults_) faults_->turn(life_.may_be_watched());
  }
  if constexpr (kChecksSlowly) check_invariants();
  // A tick() in between may have failed.
  if (worked && broken_) return fail(*broken_);
  if (!worked) break_down(worked.error());
  return worked;
}

void Engine::check_invariants() const {
  catalog_.check_invariants();
  seals_.check_invariants();
}

void Engine::tick() {
  if (in_tick_ || broken_) return;
  in_tick_ = true;
  auto worked = receive();
  if (worked) worked = seals_.advance();
  if (!worked) break_down(worked.error());
  inquiry_.look(head_.clock());
  if (faults_) faults_->turn(life_.may_be_watched());
  in_tick_ = false;
}

void Engine::break_down(const Error& error) {
  broken_ = error;
  head_.tell_all(Trouble{error});
}

Result<bool> Engine::finish() {
  if (finished_ || head_.requests.finalize.size() < head_.ranks.size()) return false;
  const auto span = head_.node.trace.span("finish");
  if (faults_) faults_->stop_watching();
  const Status status = Ending(head_, catalog_, life_, promoter_).run();
  if (!status && status.error().code == Code::communication) return fail(status.error());
  in_tick_ = true;  // for good: a tick might send
  if (auto settled = head_.mail.settle(head_.heads); !settled) return fail(settled.error());
  Finalized finalized;
  if (!status) finalized.error = status.error();
  head_.tell_all(finalized);
  finished_ = true;
  return true;
}

void Engine::leave(const FinalizeRequest& last) {
  if (finished_ || broken_) return;
  if (const auto rank = head_.own_rank()) receive_left(*rank, last);
  leave();
}

// Where all leave, nobody receives these messages.
void Engine::leave() {
  if (std::exchange(finished_, true) || broken_) return;
  const Rank me = head_.own_rank().value_or(Rank{});
  const HeadGone gone{error_of(head_.left_by(me, head_.requests.finalize[me])).message +
                      "; it was also the head of its node"};
  head_.send_to_other_heads(gone);
  head_.tell_all(Trouble{is_gone(gone)});
}

// The rank takes no part in what others still do. Those who wait for it have to know.
void Engine::receive_left(Rank from, const FinalizeRequest& request) {
  head_.requests.finalize[from] = request;
  catalog_.release_all(from);
  const RankLeft left = head_.left_by(from, request);
  head_.send_to_other_heads(left);
  head_.heed(left);
}

bool Engine::busy() const {
  const std::size_t all = head_.ranks.size();
  return !seals_.idle() || !promoter_.idle() || head_.requests.restore.size() == all ||
         head_.requests.finalize.size() == all;
}

bool Engine::busy_with(Version version) const { return !promoter_.idle() || seals_.busy_with(version); }

Status Engine::serve() {
  const Background background;
  auto nap = kShortestNap;
  while (!finished_) {
    const std::uint32_t rings = head_.bell->rings(Bell::Who::head);
    auto worked = step(Heads::serve);
    if (!worked) return fail(worked.error());
    if (*worked) {
      nap = kShortestNap;
      continue;
    }
    if (busy()) {
      head_.bell->wait(Bell::Who::head, rings, kFastPoll);
      continue;
    }
    break_silence();
    head_.bell->wait(Bell::Who::head, rings, nap);
    nap = head_.bell->rings(Bell::Who::head) == rings ? std::min(nap * 2, kLongestNap) : kShortestNap;
  }
  return {};
}

// Of the first node alone: where it is silent, the others are too, or wait for it.
void Engine::break_silence() {
  if (!head_.options.is_in_world || !head_.node.leads() || !silence_.breaks(*head_.bell, head_.clock())) return;
  head_.node.log.warning(
      "no rank of node 0 has called restore, snapshot, wait or finalize in the {} s since the session was opened. If "
      "the job hangs, look for communication on MPI_COMM_WORLD: heads take no part in it. Use session.comm()",
      Silence::kLimit.count());
}

Inquiry::Ways Engine::ways() {
  const auto to_head = [this](NodeId node, const ToHead& message) {
    // The loss of a head is noticed elsewhere, by the next message or vote that is waited for.
    (void)head_.mail.send(node, kToHead, encode(message));
  };
  const auto to_rank = [this](Rank rank, const ToRank& message) {
    head_.tell(rank, message);
    if (head_.bell) head_.bell->ring(Bell::Who::ranks);
  };
  return {to_head, to_rank, [this] { return doing(); },
          [this](const std::string& line) { head_.node.log.warning("{}", line); }, head_.options.records_calls};
}

std::string Engine::doing() const {
  if (!promoter_.idle())
    return fmt::format("version {} is being promoted to higher levels", promoter_.current().version.value);
  if (restores_.is_read()) return "ranks are reading their shards to restore them";
  return {};
}

Result<bool> Engine::receive() {
  const auto letter = head_.mail.receive(kToHead);
  if (!letter) return fail(letter.error());
  if (!*letter) return false;
  auto message = decode_to_head((*letter)->bytes);
  if (!message) return fail(message.error());
  if (auto status = handle((*letter)->from, std::move(*message)); !status) return fail(status.error());
  return true;
}

Status Engine::handle(Peer from, ToHead message) {
  const NodeId node = head_.topology.node_of_world[from.value];
  const auto now = head_.clock();
  if (const auto* gone = std::get_if<HeadGone>(&message)) {
    return fail(is_gone(*gone));
  } else if (const auto* left = std::get_if<RankLeft>(&message)) {
    head_.heed(*left);
  } else if (const auto* question = std::get_if<Inquire>(&message)) {
    inquiry_.receive(node, *question, now);
  } else if (const auto* ask = std::get_if<Ask>(&message)) {
    inquiry_.receive(*ask, now);
  } else if (const auto* answer = std::get_if<NotHere>(&message)) {
    inquiry_.receive(node, *answer);
  } else if (const auto* missing = std::get_if<Missing>(&message)) {
    inquiry_.receive(*missing);
  } else if (const auto* avoid = std::get_if<AvoidNodes>(&message)) {
    for (const std::uint32_t sick : avoid->nodes)
      if (sick < head_.topology.node_count()) head_.sick.insert(NodeId{sick});
  } else {
    for (const Rank rank : head_.ranks) {
      if (head_.topology.world_of_rank[rank.value] != from) continue;
      handle(rank, std::move(message));
      break;
    }
  }
  return {};
}

void Engine::handle(Rank from, ToHead message) {
  if (auto* hello = std::get_if<Hello>(&message)) {
    head_.requests.hellos.insert(from);
    if (hello->process != 0) head_.processes[from] = hello->process;
    if (hello->error) head_.requests.hello_error = hello->error->in("rank " + std::to_string(from.value));
  } else if (auto* seal = std::get_if<Seal>(&message)) {
    seals_.receive(from, *seal);
    if (faults_) faults_->note_write(*seal);
  } else if (const auto* restore = std::get_if<RestoreRequest>(&message)) {
    head_.requests.restore[from] = *restore;
  } else if (auto* result = std::get_if<RestoreResult>(&message)) {
    head_.requests.restore_results[from] = std::move(*result);
  } else if (auto* finalize = std::get_if<FinalizeRequest>(&message)) {
    if (finalize->abandoned) return receive_left(from, *finalize);
    head_.requests.finalize[from] = *finalize;
  } else if (auto* measured = std::get_if<JobCosts>(&message)) {
    life_.keep_costs(*measured);
  } else if (auto* waits = std::get_if<Waits>(&message)) {
    inquiry_.receive(from, *waits, head_.clock());
  } else if (auto* suspected = std::get_if<Suspected>(&message)) {
    receive_suspicion(from, suspected->text);
  } else if (const auto* dropped = std::get_if<Dropped>(&message)) {
    catalog_.release(from, dropped->snapshot);
  }
}

void Engine::receive_suspicion(Rank from, const std::string& text) {
  if (faults_) return faults_->suspect({head_.node.me, from}, text);
  if (suspected_.insert(from).second)
    head_.node.log.warning("rank {} on node {} is suspected by the application: \"{}\"", from.value,
                           head_.node.me.value, text);
}

}  // namespace cairn
