#include "replay/long_wait.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cairn::replay {
namespace {

// Survivors are to sleep most of the time, and a look costs as much as a few tests of requests.
constexpr std::chrono::milliseconds kBetweenLooks{10};
// Most waits are over by then, and no rank has to be asked.
constexpr std::chrono::seconds kBetweenQuestions{2};
// MPI may end a short send without its receiver, but not after so long.
constexpr std::chrono::seconds kLongestShortSend{1};

}  // namespace

LongWait::LongWait(const Journal& journal, DeadlockCheck& check, std::chrono::milliseconds limit)
    : journal_(journal), check_(check), limit_(limit), next_look_(began_), next_question_(began_ + kBetweenQuestions) {
  check_.begins_wait();
}

LongWait::Verdict LongWait::look(const DeadlockCheck::TellNeeds& needs) {
  if (!journal_.unchecked_since()) return Verdict::goes_on;
  const auto now = Clock::now();
  if (now < next_look_) return Verdict::goes_on;
  next_look_ = now + kBetweenLooks;
  const auto waited = now - began_;
  const bool replaces = journal_.is_unchecked_replacement();
  const auto found = check_.look(replaces && now >= next_question_, [&] { return known(needs, waited); });
  if (found == DeadlockCheck::Found::deadlock) return Verdict::deadlock;
  if (found == DeadlockCheck::Found::progress) next_question_ = now + kBetweenQuestions;
  return replaces && waited >= limit_ ? Verdict::too_long : Verdict::goes_on;
}

// Messages that are not replayed are not counted either.
std::optional<DeadlockCheck::Needs> LongWait::known(const DeadlockCheck::TellNeeds& needs,
                                                    Clock::duration waited) const {
  if (journal_.obstacle()) return {};
  auto all = needs();
  const bool sends = all && std::ranges::find(*all, Need::Kind::receiver, &Need::kind) != all->end();
  if (sends && waited < kLongestShortSend) return {};
  return all;
}

std::string LongWait::text(Verdict verdict, const std::string& call) const {
  if (verdict == Verdict::deadlock)
    return fmt::format(
        "waits in {}, and no rank can continue: it exchanges other messages than the dead rank. Between restore() and "
        "the loop, exchange messages only if catches_up() is false",
        call);
  return fmt::format("has waited in {} for {} s since it rolled back ([recovery] limit)", call,
                     std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - began_).count());
}

}  // namespace cairn::replay
