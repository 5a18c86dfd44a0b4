// What a rank does in restore() and after a repair: a replacement gets what the dead rank had got, and survivors go on.
#include <chrono>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "logged/journaled_rank.hpp"
#include "replay/exchange.hpp"
#include "replay/part_order.hpp"
#include "replay/standing.hpp"
#include "rollback/helpers.hpp"

namespace cairn::rollback {
namespace {

using Shipped = std::map<std::uint32_t, Buffer>;

std::uint64_t size_of(const Shipped& messages) {
  std::uint64_t size = 0;
  for (const auto& [from, bytes] : messages) size += bytes.size();
  return size;
}

void log_who_rolls_back(const Log& log, Rank me, const replay::Agreement& agreement, std::uint64_t epoch,
                        const Shipped& shipped) {
  const auto& lost = agreement.replaced;
  if (lost.empty() && me.value == 0) log.info("no rank rolls back");
  if (lost.empty() || lost.front() != me.value) return;
  log.info("only {} {} {} back, to snapshot() call {} of {}; {} ranks ship {} KiB of messages",
           lost.size() == 1 ? "rank" : "ranks", fmt::join(lost, ", "), lost.size() == 1 ? "rolls" : "roll", epoch,
           agreement.newest, shipped.size(), size_of(shipped) / kKiB);
}

}  // namespace

Status JournaledRank::settle_prologue() {
  const bool is_lost = replaces();
  const std::byte mine{is_lost ? std::uint8_t{1} : std::uint8_t{0}};
  const auto told = world_->ranks.allgather({&mine, 1});
  if (!told) return fail(told.error());
  Shipped out;
  for (std::uint32_t rank = 0; rank < told->size() && !is_lost; ++rank)
    if ((*told)[rank].front() != std::byte{0}) out[rank] = journal_.prologue_for(rank);
  const auto shipped = replay::exchange(world_->ranks, out);
  if (!shipped) return fail(shipped.error());
  return is_lost ? journal_.replays_prologue(*shipped, static_cast<std::uint32_t>(told->size())) : Status{};
}

Status JournaledRank::begins(std::uint64_t call) {
  repairs_.host().passes_restore();
  auto choices = replay::exchange(world_->ranks, journal_.prologue().choices_by_peer());
  if (!choices) return fail(choices.error());
  journal_.prologue().keep_choices(std::move(*choices));
  (void)journal_.start(call);  // only a replacement can have left something out
  open_spill();
  return choices_.begin(world_->ranks, *world_->local);
}

Result<LoggedRank::Settled> JournaledRank::settle(std::uint64_t epoch, std::uint64_t calls, Version last) {
  const auto told = world_->ranks.allgather(encode(journal_.standing(calls, last.value)));
  if (!told) return fail(told.error());
  std::vector<replay::Standing> standings;
  for (const Buffer& bytes : *told) {
    auto standing = replay::decode_standing(bytes);
    if (!standing) return fail(standing.error());
    standings.push_back(std::move(*standing));
  }
  const auto agreement = replay::agree_on(standings, epoch);
  if (!agreement) return fail(agreement.error());
  // If a rank cannot read its log, it still takes part: the others learn of it by the vote that follows.
  const auto out = journal_.shipments(*agreement, epoch);
  const auto shipped = replay::exchange(world_->ranks, out.value_or(Shipped{}));
  if (!shipped) return fail(shipped.error());
  if (auto settled = choices_.settle(world_->ranks, *world_->local, *agreement, epoch); !settled)
    return fail(settled.error());
  if (!out) return fail(out.error());
  const bool is_lost = replaces();
  auto again = journal_.goes_on(*agreement, epoch, *shipped);
  if (!again) return fail(again.error());
  last = std::max(last, Version{agreement->version});
  // A replacement does not know for which levels the dead rank has meant it.
  if (is_lost) dropped_.fill(last);
  log_who_rolls_back(setting_.log, setting_.rank, *agreement, epoch, *shipped);
  repeated_ = std::move(*again);
  return Settled{agreement->newest, last};
}

Result<LoggedRank::Settled> JournaledRank::takes_over(std::uint64_t epoch, Version last, const Status& completed) {
  repairs_.host().passes_restore();
  const auto started = journal_.start(epoch);
  open_spill();
  auto taken = settle(epoch, epoch, last);
  if (taken && !started) taken = fail(started.error());
  if (taken && !completed) taken = fail(completed.error());
  if (!taken && taken.error().code != Code::communication)
    journal_.obstructs(taken.error().text(), Until::next_snapshot);
  if (!repairs_.settled(taken.has_value()))
    return fail(Code::communication, taken ? "another rank cannot continue" : taken.error().text());
  catch_up_ = CatchUp{world_->trace.span_beside("catch up")};
  look_whether_caught_up();
  return taken;
}

// Whatever goes wrong here, the replacement still has the restored state and all messages, and computes alone.
std::optional<std::uint64_t> JournaledRank::recompute() {
  Helpers* const helpers = repairs_.host().helpers();
  if (helpers == nullptr || !catches_up()) return {};
  const auto alone = [&](const Error& why) -> std::optional<std::uint64_t> {
    const std::string text = fmt::format("rank {} recomputes its steps alone: {}", setting_.rank.value,
                                         why.code == Code::communication ? "a process has died" : why.text());
    const bool is_usual = why.code == Code::unrecoverable || why.code == Code::communication;
    is_usual ? setting_.log.info("{}", text) : setting_.log.warning("{}", text);
    return {};
  };
  if (!on_loss_) return alone({Code::unrecoverable, "it has not called on_loss()", {}});
  auto steps = journal_.steps_to_recompute();
  if (!steps) return alone(steps.error());
  const std::uint64_t end = steps->end;
  const std::uint64_t count = steps->end - steps->begin;
  const auto span = world_->trace.span("recompute");
  const auto start = std::chrono::steady_clock::now();
  auto parts = helpers->recompute(*steps, on_loss_->split);
  if (!parts) return alone(parts.error());
  std::vector<Buffer> states;
  for (replay::PartResult& part : *parts) states.push_back(std::move(part.state));
  if (auto accepted = journal_.recomputed(end, std::move(*parts)); !accepted) return alone(accepted.error());
  on_loss_->merge(states, count);
  const auto took = std::chrono::steady_clock::now() - start;
  setting_.log.info("rank {} and {} spare{} have recomputed {} steps, to snapshot() call {}, in {:.3f} s",
                    setting_.rank.value, states.size() - 1, states.size() == 2 ? "" : "s", count, end,
                    std::chrono::duration<double>(took).count());
  look_whether_caught_up();
  return end;
}

}  // namespace cairn::rollback
