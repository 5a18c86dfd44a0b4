#include "replay/deadlock_check.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cairn::replay {
namespace {

// No other messages of this communicator have them.
constexpr Tag kAsk{907};
constexpr Tag kAnswer{908};

void put_needs(const DeadlockCheck::Needs& needs, ByteWriter& out) {
  out.put(static_cast<std::uint32_t>(needs.size()));
  for (const Need& need : needs) encode(need, out);
}

DeadlockCheck::Needs decode_needs(ByteReader& in) {
  DeadlockCheck::Needs needs;
  const auto count = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && in.good(); ++i) needs.push_back(decode_need(in));
  return needs;
}

}  // namespace

void DeadlockCheck::joins(Comm& ranks) {
  leaves();
  ranks_ = &ranks;
  traffic_ = {};
}

// Requests go before the communicator does.
void DeadlockCheck::leaves() {
  sent_.clear();
  answers_.clear();
  first_.clear();
  stage_ = Stage::idle;
  ranks_ = nullptr;
}

DeadlockCheck::Found DeadlockCheck::look(bool asks, const TellNeeds& needs) {
  if (ranks_ == nullptr) return Found::nothing;
  std::erase_if(sent_, [](const Sent& one) {
    const auto over = one.request->test();
    return !over || *over;
  });
  answer_others(needs);
  take_answers();
  if (stage_ == Stage::idle) {
    auto mine = asks ? needs() : std::nullopt;
    if (!mine) return Found::nothing;
    own_ = {.wait = wait_, .needs = *std::move(mine)};
    first_.clear();
    stage_ = Stage::first;
    ask();
  }
  if (answers_.size() + 1 < ranks_->size()) return Found::nothing;
  if (stage_ == Stage::second || !is_unmoved(needs)) {
    const bool is_over = stage_ == Stage::second && is_unmoved(needs) && none_can_continue();
    stage_ = Stage::idle;
    return is_over ? Found::deadlock : Found::progress;
  }
  first_ = std::exchange(answers_, {});
  stage_ = Stage::second;
  ask();
  return Found::nothing;
}

// Each rank gets those needs of the first round that it may have met. In the first round there are none.
void DeadlockCheck::ask() {
  ++round_;
  answers_.clear();
  for (std::uint32_t rank = 0; rank < ranks_->size(); ++rank) {
    if (rank == me()) continue;
    ByteWriter out;
    out.put(round_);
    const auto put = [&](std::uint32_t needer, const Needs& all) {
      Needs some;
      std::ranges::copy_if(all, std::back_inserter(some),
                           [&](const Need& need) { return need.pattern.peer.value_or(rank) == rank; });
      out.put(needer);
      put_needs(some, out);
    };
    out.put(static_cast<std::uint32_t>(stage_ == Stage::second ? ranks_->size() : 0));
    if (stage_ == Stage::second) put(me(), own_.needs);
    for (const auto& [needer, answer] : first_) put(needer, answer.needs);
    send(Peer{rank}, kAsk, out.take());
  }
}

// While this rank cannot tell what it needs, the question waits.
void DeadlockCheck::answer_others(const TellNeeds& needs) {
  while (true) {
    const auto found = ranks_->probe(kAsk);
    if (!found || !*found) return;
    auto mine = needs();
    if (!mine) return;
    const auto message = ranks_->recv_probed(**found);
    if (!message) return;
    ByteReader in(*message);
    Answer answer{.round = in.get<std::uint64_t>(), .wait = wait_, .needs = *std::move(mine)};
    const auto needers = in.get<std::uint32_t>();
    for (std::uint32_t i = 0; i < needers && in.good(); ++i) {
      const auto needer = in.get<std::uint32_t>();
      for (const Need& need : decode_needs(in)) answer.meets |= traffic_.meets(need, needer, me());
    }
    send((*found)->source, kAnswer, encode(answer));
  }
}

Buffer DeadlockCheck::encode(const Answer& answer) {
  ByteWriter out;
  out.put(answer.round);
  out.put(answer.wait);
  out.put(answer.meets);
  put_needs(answer.needs, out);
  return out.take();
}

// Each question is answered once, and a round ends only when all have answered. So no more than one is on its way to
// each rank.
void DeadlockCheck::take_answers() {
  while (true) {
    const auto found = ranks_->probe(kAnswer);
    if (!found || !*found) return;
    const auto message = ranks_->recv_probed(**found);
    if (!message) return;
    ByteReader in(*message);
    Answer answer;
    answer.round = in.get<std::uint64_t>();
    answer.wait = in.get<std::uint64_t>();
    answer.meets = in.get<bool>();
    answer.needs = decode_needs(in);
    if (in.good() && answer.round == round_) answers_[(*found)->source.value] = std::move(answer);
  }
}

bool DeadlockCheck::is_unmoved(const TellNeeds& needs) const { return wait_ == own_.wait && needs() == own_.needs; }

// If all wait for all ranks to come to one call, all have come.
bool DeadlockCheck::none_can_continue() const {
  const bool all_have_come =
      own_.needs.empty() && std::ranges::all_of(first_, [](const auto& one) { return one.second.needs.empty(); });
  if (all_have_come) return false;
  const auto is_met = [&](const Needs& all, std::uint32_t needer) {
    return std::ranges::any_of(all, [&](const Need& need) { return traffic_.meets(need, needer, me()); });
  };
  if (is_met(own_.needs, me())) return false;
  return std::ranges::all_of(first_, [&](const auto& one) {
    const auto& [rank, first] = one;
    const Answer& second = answers_.at(rank);
    return second.wait == first.wait && second.needs == first.needs && !second.meets && !is_met(first.needs, rank);
  });
}

void DeadlockCheck::send(Peer to, Tag tag, Buffer bytes) {
  Sent one{std::move(bytes), nullptr};
  one.request = ranks_->isend(to, tag, one.bytes);
  sent_.push_back(std::move(one));
}

}  // namespace cairn::replay
