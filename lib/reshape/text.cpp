#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/list_text.hpp"
#include "reshape/finding.hpp"

// All sentences about an exchange are made here.
namespace cairn::reshape {
namespace {

constexpr std::size_t kShown = 8;
constexpr std::string_view kWhatToSay =
    "protect it with a place in a global array, or with a kind: same, sequence, like or of rank";

std::string_view kind_text(std::uint64_t kind) {
  constexpr std::array<std::string_view, 5> kKinds{"nothing", "a block of a global array", "a sequence",
                                                   "the same on all ranks", "of one old rank"};
  return kind < kKinds.size() ? kKinds[kind] : "unknown";
}

// What the sentences need of a finding; a value that is missing is empty.
class Facts {
 public:
  explicit Facts(const Finding& finding) : finding_(finding) {}
  [[nodiscard]] std::uint32_t rank(std::size_t i) const { return i < finding_.ranks.size() ? finding_.ranks[i] : 0; }
  [[nodiscard]] std::uint64_t number(std::size_t i) const {
    return i < finding_.numbers.size() ? finding_.numbers[i] : 0;
  }
  [[nodiscard]] std::string_view words(std::size_t i) const {
    return i < finding_.texts.size() ? std::string_view(finding_.texts[i]) : std::string_view{};
  }
  [[nodiscard]] std::string range() const { return text(finding_.range); }
  [[nodiscard]] std::string old_ranks() const { return "old " + ranks_text(finding_.ranks); }
  [[nodiscard]] std::string kind(std::size_t i) const {
    const std::string like = words(i).empty() ? "" : fmt::format(" like \"{}\"", words(i));
    return std::string(kind_text(number(i))) + like;
  }

 private:
  const Finding& finding_;
};

// "old rank 3: …" or "region "x": …"; the rest is the same for all.
struct Sentence {
  std::string what;
  std::string hint;
  Code code = Code::mismatch;
};

Sentence of_unsaid(const Finding& finding) {
  std::vector<std::string> names;
  std::vector<std::string> equal;
  std::vector<std::string> placed;
  for (std::size_t i = 0; i < finding.texts.size() && i < finding.numbers.size(); ++i) {
    const std::string name = fmt::format("\"{}\"", finding.texts[i]);
    names.push_back(name);
    if ((finding.numbers[i] & Hint::has_place) != 0)
      placed.push_back(name);
    else if ((finding.numbers[i] & Hint::equal_everywhere) != 0)
      equal.push_back(name);
  }
  std::string hint(kWhatToSay);
  if (!placed.empty()) hint += fmt::format("; {}: the snapshot has a place", first_few(placed, kShown));
  if (!equal.empty()) hint += fmt::format("; {}: equal on all old ranks, perhaps same", first_few(equal, kShown));
  return {fmt::format("the program does not say what these regions are to the whole job: {}", first_few(names, kShown)),
          hint};
}

Sentence of_new_ranks(const Finding& finding) {
  const Facts facts(finding);
  switch (finding.cause) {
    case Cause::impossible:
      return {fmt::format("rank {}: {}", facts.rank(0), facts.words(0)), {}, Code::invalid_argument};
    case Cause::kinds_differ:
      return {fmt::format("rank {} says that it is {}, rank {} that it is {}", facts.rank(0), facts.kind(0),
                          facts.rank(1), facts.kind(1)),
              "say the same on all ranks"};
    case Cause::types_differ:
      return {fmt::format("on rank {} it is {}, on rank {} {}", facts.rank(0), facts.words(0), facts.rank(1),
                          facts.words(1)),
              "protect it with the same type on all ranks"};
    case Cause::shapes_differ:
      return {fmt::format("rank {} says that its lengths are {}, rank {} {}", facts.rank(0), facts.words(0),
                          facts.rank(1), facts.words(1)),
              "say the same on all ranks"};
    case Cause::not_wanted:
      return {fmt::format("rank {} does not protect it, but rank {} does", facts.rank(0), facts.rank(1)),
              "protect it on all ranks"};
    case Cause::like_unknown:
      return {fmt::format("rank {} cuts it like \"{}\", which is no sequence that is cut by itself", facts.rank(0),
                          facts.words(0)),
              "name a region whose kind is sequence or sequence part"};
    case Cause::part_outside:
      return {fmt::format("rank {} requests {} of a sequence of {} elements", facts.rank(0), facts.range(),
                          facts.number(0)),
              "first + count ≤ length"};
    case Cause::parts_overlap:
      return {fmt::format("ranks {} and {} both request {}", facts.rank(0), facts.rank(1), facts.range()),
              "each element must be requested by exactly one rank; ghosts are not counted"};
    default:
      return {fmt::format("no rank requests {}", facts.range()), "each element must be requested by exactly one rank"};
  }
}

Sentence of_snapshot(const Finding& finding) {
  const Facts facts(finding);
  switch (finding.cause) {
    case Cause::rank_not_held: return {fmt::format("the regions of old rank {} are missing", facts.rank(0)), {}};
    case Cause::rank_held_twice: return {fmt::format("the regions of old rank {} are there twice", facts.rank(0)), {}};
    case Cause::not_stored:
      if (finding.ranks.empty()) return {"it is not in the snapshot", "protect the regions of the snapshot"};
      return {fmt::format("it is not in the snapshot of {}", facts.old_ranks()), "protect the regions of the snapshot"};
    case Cause::not_protected:
      return {fmt::format("old rank {} has it, but no rank protects it now", facts.rank(0)),
              "protect all regions of the snapshot"};
    case Cause::old_type:
    case Cause::old_shape:
      return {fmt::format("in the snapshot of old rank {} it is {}, but {} is protected", facts.rank(0), facts.words(0),
                          facts.words(1)),
              "protect it with the type and the fixed lengths of the snapshot"};
    case Cause::no_place:
      return {fmt::format("old rank {} has stored no place in a global array", facts.rank(0)),
              "only a region that was protected with a place can be restored as a block"};
    case Cause::like_counts:
      return {fmt::format("old rank {} has {} elements of it, but {} of \"{}\"", facts.rank(0), facts.number(0),
                          facts.number(1), facts.words(0)),
              "sequences that are cut alike need the same ratio of elements on all old ranks"};
    case Cause::old_gap: return {fmt::format("no old rank has {}", facts.range()), {}};
    default: return {"the sequence is too long", {}};
  }
}

Sentence of_values(const Finding& finding) {
  const Facts facts(finding);
  const std::string ranks = fmt::format("old ranks {} and {}", facts.rank(0), facts.rank(1));
  if (!finding.range.first.empty())
    return {fmt::format("{} have different values at {}", ranks, facts.range()),
            "if these are ghosts of one of them, say so in its place, or exchange ghosts before the snapshot"};
  if (!facts.words(0).empty())
    return {fmt::format("it is not the same on {}", ranks),
            "padding bytes of an opaque type count: set them to zero before a snapshot"};
  return {fmt::format("it is not the same on {}", ranks), std::string(kWhatToSay)};
}

Sentence of_memory(const Finding& finding) {
  const Facts facts(finding);
  if (finding.cause == Cause::size_differs)
    return {fmt::format("rank {} has memory for {} bytes, but its share {} has {} bytes", facts.rank(0),
                        facts.number(0), facts.range(), facts.number(1)),
            "protect a container that can be resized, or memory of the size that stored() returns"};
  if (finding.cause == Cause::no_memory)
    return {fmt::format("rank {} cannot allocate {} bytes", facts.rank(0), facts.number(0)),
            "use more nodes, or fewer ranks on each", Code::no_space};
  return {fmt::format("rank {} got a damaged message", facts.rank(0)),
          "this is a defect of Cairn, or of the memory or network of a node", Code::failed_elsewhere};
}

Sentence sentence_of(const Finding& finding) {
  if (finding.cause == Cause::unsaid) return of_unsaid(finding);
  if (finding.cause == Cause::values_differ) return of_values(finding);
  if (finding.cause <= Cause::parts_leave_gap) return of_new_ranks(finding);
  if (finding.cause <= Cause::too_long) return of_snapshot(finding);
  return of_memory(finding);
}

Error unreadable_region(const Finding& finding) {
  const Facts facts(finding);
  const Error inner{code_of(facts.number(0)).value_or(Code::failed_elsewhere), std::string(facts.words(0)),
                    std::string(facts.words(1)), std::string(facts.words(2))};
  return inner.in(fmt::format("region \"{}\" of old rank {}", finding.region, facts.rank(0)));
}

}  // namespace

Error error_of(const Finding& finding) {
  if (finding.cause == Cause::unreadable) return unreadable_region(finding);
  Sentence sentence = sentence_of(finding);
  const Error error{sentence.code, std::move(sentence.what), std::move(sentence.hint), {}};
  return finding.region.empty() ? error : error.in(fmt::format("region \"{}\"", finding.region));
}

}  // namespace cairn::reshape
