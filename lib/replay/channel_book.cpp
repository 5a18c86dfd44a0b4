#include "replay/channel_book.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/mix.hpp"

namespace cairn::replay {
namespace {

// The number of the one of which another is made, by the number of that.
using Parents = std::map<std::uint64_t, std::uint64_t>;

// The numbers of those that are kept, of their parents, and of theirs.
std::set<std::uint64_t> with_ancestors(std::set<std::uint64_t> kept, const Parents& parents) {
  std::vector<std::uint64_t> open(kept.begin(), kept.end());
  while (!open.empty()) {
    const auto found = parents.find(open.back());
    open.pop_back();
    if (found == parents.end()) continue;
    if (kept.insert(found->second).second) open.push_back(found->second);
  }
  return kept;
}

}  // namespace

std::optional<int> ChannelFacts::rank_of(std::uint32_t member) const {
  const auto found = std::ranges::find(members, member);
  if (found == members.end()) return {};
  return static_cast<int>(found - members.begin());
}

void ChannelFacts::learn(const ChannelFacts& told) {
  freed = std::min(freed, told.freed);
  is_gone = is_gone && told.is_gone;
  graph.insert(told.graph.begin(), told.graph.end());
}

Result<Birthplace> ChannelBook::next(const Request& request, std::uint64_t epoch, std::uint64_t restored) {
  if (epoch != kBeforeRestore && !std::exchange(awaits_, true)) await_what_was_kept(restored);
  const Family family{request.parent, request.group};
  if (auto& awaited = awaited_[family]; !awaited.empty()) {
    if (epoch != restored)
      return fail(Code::mismatch, fmt::format("rank {} has not made a communicator again that it had at the restored "
                                              "snapshot",
                                              me_));
    if (auto taken = take_awaited(awaited, request, restored); !taken) return fail(taken.error());
    if (!awaited.empty()) {
      const Birthplace birth = awaited.front().birth;
      awaited.pop_front();
      return birth;
    }
  }
  Count& count = counts_[family];
  if (count.epoch != epoch) count = {epoch, 0};
  return Birthplace{request.parent, request.group, epoch, count.calls++};
}

// Leaves the one for which the call stands at the front; none: it stands for a later one.
Status ChannelBook::take_awaited(std::deque<Awaited>& awaited, const Request& request, std::uint64_t restored) const {
  // Of one in which the dead rank was alone nobody knows.
  const auto may_fit = [&](const Birthplace& birth) { return mine(birth) == nullptr || fits(birth, request); };
  // The dead rank may have freed what the replacement leaves out. If not, a sum shows that it lacks it.
  while (!awaited.empty() && !may_fit(awaited.front().birth)) awaited.pop_front();
  if (awaited.empty()) return {};
  if (!awaited.front().is_clear)
    return fail(Code::mismatch,
                fmt::format("rank {} makes a communicator, and none of the others knows whether the dead rank had "
                            "freed it",
                            me_));
  if (awaited.front().is_needed) return {};
  const auto other_fits = [&](const Awaited& one) { return &one != &awaited.front() && may_fit(one.birth); };
  const auto later_fits = [&](const auto& one) {
    return one.first.parent == request.parent && one.first.group == request.group && one.first.epoch == restored &&
           may_fit(one.first);
  };
  if (!fits(awaited.front().birth, request) || std::ranges::any_of(awaited, other_fits) ||
      std::ranges::any_of(told_, later_fits))
    return fail(Code::mismatch,
                fmt::format("rank {} makes a communicator, and it is not clear which one of the dead rank it is", me_));
  return {};
}

bool ChannelBook::fits(const Birthplace& birth, const Request& request) const {
  const ChannelFacts* const known = mine(birth);
  if (known == nullptr || !request.is_in) return known == nullptr && !request.is_in;
  if (known->alike != request.alike || !request.neighbours) return known->alike == request.alike;
  const auto own = known->graph.find(*known->rank_of(me_));
  return own != known->graph.end() && own->second == *request.neighbours;
}

// A communicator that was freed is made again, too, where another one was made of it that was kept.
void ChannelBook::await_what_was_kept(std::uint64_t restored) {
  Parents parents;
  std::set<std::uint64_t> kept;
  std::set<std::uint64_t> needed;
  for (const auto& [birth, told] : told_) {
    if (birth.epoch >= restored) continue;
    for (const auto& [number, facts] : told.all) {
      parents[number] = birth.parent;
      if (facts.freed >= restored) kept.insert(number);
      if (facts.freed > restored) needed.insert(number);
    }
  }
  kept = with_ancestors(std::move(kept), parents);
  needed = with_ancestors(std::move(needed), parents);
  for (const auto& [birth, told] : told_) {
    if (birth.epoch >= restored) continue;
    const auto is_kept = [&](const auto& one) { return kept.contains(one.first); };
    const auto is_needed = [&](const auto& one) { return needed.contains(one.first); };
    const bool all = std::ranges::all_of(told.all, is_kept) && !told.all.empty();
    if (all || told.all.empty() || std::ranges::any_of(told.all, is_kept))
      awaited_[{birth.parent, birth.group}].push_back({birth, all, !all || std::ranges::any_of(told.all, is_needed)});
  }
}

Result<ChannelBook::Known> ChannelBook::look_up(const Birthplace& birth, const Request& request,
                                                std::span<const std::uint32_t> callers) const {
  if (mine(birth) != nullptr) {
    if (fits(birth, request)) return Known::as_member;
    return fail(Code::mismatch, fmt::format("rank {} makes another communicator than the dead rank", me_));
  }
  const auto told = told_.find(birth);
  if (told == told_.end()) return Known::nothing;
  if (!request.is_in) return Known::as_other;
  const auto has_told = [&](std::uint32_t rank) { return rank == me_ || told->second.by.contains(rank); };
  if (std::ranges::all_of(callers, has_told)) return Known::as_only_member;
  return fail(Code::mismatch, fmt::format("rank {} makes a communicator that no other rank has", me_));
}

const ChannelFacts* ChannelBook::mine(const Birthplace& birth) const {
  const auto found = mine_.find(birth);
  return found == mine_.end() || found->second.facts.members.empty() ? nullptr : &found->second.facts;
}

void ChannelBook::made(ChannelFacts facts) {
  const Birthplace birth = facts.birth;
  facts.freed = kNeverFreed;
  facts.is_gone = false;
  keep_neighbourhoods(facts);
  mine_[birth] = {std::move(facts), true};
}

void ChannelBook::freed(std::uint64_t number, std::uint64_t epoch) {
  for (auto& [birth, entry] : mine_)
    if (entry.facts.number == number && !entry.facts.members.empty()) entry.facts.freed = epoch;
}

void ChannelBook::cut(std::uint64_t epoch) {
  Parents parents;
  std::set<std::uint64_t> kept;
  for (const auto& [birth, entry] : mine_) {
    if (entry.facts.members.empty()) continue;
    parents[entry.facts.number] = birth.parent;
    if (entry.facts.freed >= epoch) kept.insert(entry.facts.number);
  }
  kept = with_ancestors(std::move(kept), parents);
  for (auto at = mine_.begin(); at != mine_.end();) {
    ChannelFacts& facts = at->second.facts;
    const bool stays = facts.birth.epoch >= epoch || (!facts.members.empty() && kept.contains(facts.number));
    if (!stays && !facts.members.empty() && !std::exchange(facts.is_gone, true)) dropped_.push_back(facts.number);
    at = stays || facts.birth.epoch == began_ ? std::next(at) : mine_.erase(at);
  }
}

void ChannelBook::is_checked() {
  told_.clear();
  awaited_.clear();
  awaits_ = true;
}

std::vector<ChannelFacts> ChannelBook::facts() const {
  std::vector<ChannelFacts> all;
  for (const auto& [birth, entry] : mine_) all.push_back(entry.facts);
  return all;
}

// A replacement may ask only after the next failure, so what was told before is kept.
void ChannelBook::learns(const std::vector<std::vector<ChannelFacts>>& told) {
  for (std::uint32_t rank = 0; rank < told.size(); ++rank) {
    for (const ChannelFacts& facts : told[rank]) {
      Told& about = told_[facts.birth];
      about.by.insert(rank);
      if (facts.members.empty()) continue;
      about.all.emplace(facts.number, facts).first->second.learn(facts);
      if (facts.rank_of(me_)) mine_.try_emplace(facts.birth, Entry{facts, false});
    }
  }
  for (auto& [birth, entry] : mine_) {
    const auto about = told_.find(birth);
    if (entry.facts.graph.empty() || about == told_.end()) continue;
    entry.facts.graph = about->second.all.at(entry.facts.number).graph;
    keep_neighbourhoods(entry.facts);
  }
}

void ChannelBook::keep_neighbourhoods(ChannelFacts& facts) const {
  const auto size = static_cast<int>(facts.members.size());
  std::erase_if(facts.graph, [&](const auto& one) { return !keeps(*facts.rank_of(me_), one.first, size); });
}

std::uint64_t ChannelBook::balance() const {
  std::uint64_t sum = 0;
  for (const auto& [birth, entry] : mine_) {
    const ChannelFacts& facts = entry.facts;
    if (!entry.is_held || birth.epoch == kBeforeRestore || facts.members.empty() || facts.freed != kNeverFreed)
      continue;
    const std::uint64_t weight = mix(facts.number);
    sum += facts.members.front() == me_ ? weight * (1 - std::uint64_t{facts.members.size()}) : weight;
  }
  return sum;
}

void encode(const Birthplace& birth, ByteWriter& out) {
  for (const std::uint64_t value : {birth.parent, birth.group, birth.epoch, birth.place}) out.put(value);
}

Birthplace decode_birthplace(ByteReader& in) {
  Birthplace birth;
  for (std::uint64_t* const value : {&birth.parent, &birth.group, &birth.epoch, &birth.place})
    *value = in.get<std::uint64_t>();
  return birth;
}

Buffer encode(const std::vector<ChannelFacts>& all) {
  ByteWriter out;
  const auto put_all = [&](const auto& values) {
    out.put(static_cast<std::uint64_t>(values.size()));
    for (const auto value : values) out.put(value);
  };
  for (const ChannelFacts& facts : all) {
    for (const std::uint64_t value : {facts.number, facts.alike, facts.freed}) out.put(value);
    encode(facts.birth, out);
    out.put(facts.is_gone);
    put_all(facts.members);
    put_all(facts.lengths);
    put_all(facts.periodic);
    put_all(facts.index);
    put_all(facts.edges);
    out.put(static_cast<std::uint64_t>(facts.graph.size()));
    for (const auto& [rank, neighbours] : facts.graph) {
      out.put(rank);
      encode(neighbours, out);
    }
  }
  return out.take();
}

Result<std::vector<ChannelFacts>> decode_channel_facts(Bytes bytes) {
  ByteReader in(bytes);
  const auto get_all = [&]<class Value>(std::vector<Value>& values) {
    const auto count = in.get<std::uint64_t>();
    for (std::uint64_t i = 0; i < count && in.good(); ++i) values.push_back(in.get<Value>());
  };
  std::vector<ChannelFacts> all;
  while (in.good() && in.remaining() != 0) {
    ChannelFacts& facts = all.emplace_back();
    for (std::uint64_t* const value : {&facts.number, &facts.alike, &facts.freed}) *value = in.get<std::uint64_t>();
    facts.birth = decode_birthplace(in);
    facts.is_gone = in.get<bool>();
    get_all(facts.members);
    get_all(facts.lengths);
    get_all(facts.periodic);
    get_all(facts.index);
    get_all(facts.edges);
    const auto count = in.get<std::uint64_t>();
    for (std::uint64_t i = 0; i < count && in.good(); ++i) {
      const int rank = in.get<int>();
      facts.graph[rank] = decode_neighbourhood(in);
    }
  }
  if (in.good()) return all;
  return fail(
      Code::invalid_argument,
      fmt::format("a message of {} bytes about a rank's communicators is damaged: its length does not fit its contents",
                  bytes.size()));
}

}  // namespace cairn::replay
