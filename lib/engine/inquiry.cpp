#include "engine/inquiry.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/list_text.hpp"

namespace cairn {

void Inquiry::receive(Rank from, const Waits& waits, Time now) {
  here_.insert(from);
  if (waits.asked) return;
  ways_.to_rank(from, Acknowledged{});
  const Inquire question{from, waits.call, waits.seconds};
  if (me_.value == 0) return receive(me_, question, now);
  if (forwarded_) return;
  forwarded_ = question;
  forwarded_at_ = now;
  ways_.to_head(NodeId{0}, question);
}

void Inquiry::receive(NodeId from, const Inquire& question, Time now) {
  if (question_) return;
  if (concluded_ && now - concluded_->at < kBetweenTwo) {
    if (from == me_) return receive(concluded_->missing);
    return ways_.to_head(from, concluded_->missing);
  }
  question_ = question;
  begun_ = now;
  answers_.clear();
  for (std::uint32_t node = 0; node < topology_.node_count(); ++node) {
    if (NodeId{node} != me_) ways_.to_head(NodeId{node}, Ask{});
  }
  receive(Ask{}, now);
}

void Inquiry::receive(const Ask& /*ask*/, Time now) {
  forwarded_.reset();
  asked_ = now;
  here_.clear();
  for (const Rank rank : ranks()) ways_.to_rank(rank, Ask{});
}

void Inquiry::receive(NodeId from, const NotHere& answer) { answers_[from] = answer.ranks; }

void Inquiry::receive(const Missing& missing) {
  forwarded_.reset();
  for (const Rank rank : ranks()) ways_.to_rank(rank, missing);
}

void Inquiry::look(Time now) {
  if (asked_ && (not_here().empty() || now - *asked_ >= kForRanks)) answer();
  if (question_ && (answers_.size() == topology_.node_count() || now - begun_ >= kForHeads)) conclude(now);
  // Neither head 0 nor any head between it and this one has reported in its time.
  if (forwarded_ && now - forwarded_at_ >= kForHeadZero + std::chrono::seconds(me_.value)) {
    question_ = std::exchange(forwarded_, std::nullopt);
    answers_.clear();
    for (std::uint32_t node = me_.value; node < topology_.node_count(); ++node) answers_[NodeId{node}] = {};
    conclude(now);
  }
}

std::vector<std::uint32_t> Inquiry::not_here() const {
  std::vector<std::uint32_t> missing;
  for (const Rank rank : ranks()) {
    if (!here_.contains(rank)) missing.push_back(rank.value);
  }
  return missing;
}

void Inquiry::answer() {
  asked_.reset();
  if (question_) {
    answers_[me_] = not_here();
  } else {
    ways_.to_head(NodeId{0}, NotHere{not_here()});
  }
}

void Inquiry::conclude(Time now) {
  const Missing missing{for_whom()};
  const char* const hint = ways_.records_calls ? "; ckpt-tool hang shows the MPI calls of all ranks" : "";
  ways_.log(fmt::format("rank {} has waited {} s in {}; {}{}", question_->rank.value, question_->seconds,
                        question_->call, missing.text, hint));
  for (std::uint32_t node = 0; node < topology_.node_count(); ++node) {
    if (NodeId{node} != me_) ways_.to_head(NodeId{node}, missing);
  }
  receive(missing);
  question_.reset();
  concluded_ = {now, missing};
}

std::string Inquiry::for_whom() const {
  constexpr std::size_t kNodesShown = 8;
  std::vector<std::string> missing;
  for (std::uint32_t number = 0; number < topology_.node_count(); ++number) {
    const Node& node = topology_.nodes[number];
    const auto answer = answers_.find(NodeId{number});
    if (answer != answers_.end()) {
      if (!answer->second.empty()) missing.push_back(fmt::format("{} on node {}", ranks_text(answer->second), number));
    } else if (topology_.runs_inline(NodeId{number})) {
      missing.push_back(
          fmt::format("rank {} on node {}, which is the head of that node", node.ranks.front().value, number));
    } else {
      missing.push_back(fmt::format("the head of node {}, which does not answer", number));
    }
  }
  if (!missing.empty()) return "not in a Cairn call: " + first_few(missing, kNodesShown);
  const std::string work = ways_.heads_do();
  return "all ranks are in a Cairn call and wait for the heads" + (work.empty() ? work : ": " + work);
}

}  // namespace cairn
