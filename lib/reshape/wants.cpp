#include "reshape/wants.hpp"

#include <new>
#include <stdexcept>

#include "reshape/placement.hpp"
#include "reshape/tiles.hpp"

namespace cairn::reshape {
namespace {

Finding about(const Wanted& wanted, Cause cause, Peer self) {
  return {.cause = cause, .region = wanted.info.name, .ranks = {self.value}};
}

// The parts of this member in all sequences that are not cut like others.
class Parts {
 public:
  Parts(const Input& input, const Roster& roster, const std::vector<std::uint64_t>& lengths, Peer self,
        std::uint32_t members)
      : roster_(roster), lengths_(lengths), self_(self) {
    for (const Wanted& wanted : input.wanted) {
      const auto* sequence = std::get_if<Sequence>(&wanted.share);
      if (sequence == nullptr || !sequence->like.empty()) continue;
      const std::uint32_t region = *roster.find(wanted.info.name);
      const Cut cut = even_share(lengths[region], self.value, members);
      parts_[region] = sequence->part.value_or(Sequence::Part{cut.first, cut.count});
      if (!is_inside(region) && !finding_) note_outside(wanted, region);
    }
  }

  [[nodiscard]] const Findings& finding() const { return finding_; }
  // Requires: there is no finding.
  [[nodiscard]] Sequence::Part of(std::uint32_t region, const Sequence& sequence) const {
    if (sequence.like.empty()) return parts_.at(region);
    const std::uint32_t model = *roster_.find(sequence.like);
    const std::uint64_t factor = lengths_[model] == 0 ? 0 : lengths_[region] / lengths_[model];
    const auto [first, count] = parts_.at(model);
    return {first * factor, count * factor};
  }

 private:
  [[nodiscard]] bool is_inside(std::uint32_t region) const {
    const auto [first, count] = parts_.at(region);
    return first <= lengths_[region] && count <= lengths_[region] - first;
  }
  void note_outside(const Wanted& wanted, std::uint32_t region) {
    finding_ = about(wanted, Cause::part_outside, self_);
    finding_->range = range(parts_[region].first, parts_[region].count);
    finding_->numbers = {lengths_[region]};
  }

  const Roster& roster_;
  const std::vector<std::uint64_t>& lengths_;
  Peer self_;
  std::map<std::uint32_t, Sequence::Part> parts_;
  Findings finding_;
};

}  // namespace

Wants list_wants(const Input& input, const Roster& roster, const std::vector<std::uint64_t>& lengths, Peer self,
                 std::uint32_t members) {
  Wants wants;
  const Parts parts(input, roster, lengths, self, members);
  wants.finding = parts.finding();
  if (wants.finding) return wants;
  for (const Wanted& wanted : input.wanted) {
    const std::uint32_t region = *roster.find(wanted.info.name);
    if (const auto* sequence = std::get_if<Sequence>(&wanted.share)) {
      const auto [first, count] = parts.of(region, *sequence);
      LocalArray array{whole(wanted.info.shape), wanted.info.element_bytes};
      array.box.first.front() = static_cast<std::int64_t>(first);
      array.box.extent.front() = count;
      wants.boxes[region] = {array.box, array.box};
      wants.targets[region] = {array, {}, count};
    } else if (const auto* block = std::get_if<Block>(&wanted.share)) {
      Placement placement = wanted_placement(wanted.info, *block);
      wants.boxes[region] = {std::move(placement.owned), std::move(placement.filled)};
      wants.targets[region] = {std::move(placement.memory), {}, wanted.info.shape.front()};
    }
  }
  return wants;
}

Findings take_answer(const Wanted& wanted, const RankDirectory::Question& question, const RankDirectory::Answer& answer,
                     Wants& wants) {
  if (!answer.shape)
    return Finding{.cause = Cause::not_stored, .region = wanted.info.name, .ranks = {question.old_rank.value}};
  RegionInfo stored = wanted.info;
  stored.shape = *answer.shape;
  std::vector<std::uint64_t> fixed = wanted.info.shape;
  if (std::holds_alternative<Wanted::Resize>(wanted.memory) && !stored.shape.empty())
    fixed.front() = stored.shape.front();
  if (stored.shape != fixed) {
    return Finding{.cause = Cause::old_shape,
                   .region = wanted.info.name,
                   .ranks = {question.old_rank.value},
                   .texts = {stored.type_text(), wanted.info.type_text()}};
  }
  wants.targets[question.region] = {as_bytes(stored.size_bytes()), {}, fixed.empty() ? 1 : fixed.front()};
  return {};
}

Findings check_sizes(const Input& input, const Roster& roster, const Wants& wants, Peer self) {
  for (const Wanted& wanted : input.wanted) {
    const auto* memory = std::get_if<MutableBytes>(&wanted.memory);
    const LocalArray& array = wants.targets.at(*roster.find(wanted.info.name)).array;
    if (memory == nullptr || memory->size() == array.size_bytes()) continue;
    Finding finding = about(wanted, Cause::size_differs, self);
    finding.numbers = {memory->size(), array.size_bytes()};
    finding.range = array.box;
    return finding;
  }
  return {};
}

Findings allocate(const Input& input, const Roster& roster, Wants& wants, Peer self) {
  for (const Wanted& wanted : input.wanted) {
    Target& target = wants.targets.at(*roster.find(wanted.info.name));
    const std::uint64_t size = target.array.size_bytes();
    try {
      const auto* resize = std::get_if<Wanted::Resize>(&wanted.memory);
      target.memory = resize == nullptr ? std::get<MutableBytes>(wanted.memory) : (*resize)(target.steps);
      if (target.memory.size() == size) continue;
    } catch (const std::bad_alloc&) {
    } catch (const std::length_error&) {
    }
    Finding finding = about(wanted, Cause::no_memory, self);
    finding.numbers = {size};
    return finding;
  }
  return {};
}

}  // namespace cairn::reshape
