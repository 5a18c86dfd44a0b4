#include "reshape/plan.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>

#include "reshape/box_directory.hpp"
#include "reshape/equal_values.hpp"
#include "reshape/rank_directory.hpp"

namespace cairn::reshape {
namespace {

// One plan on its way. Each step is collective, and returns what all members agree is wrong; none: go on.
class Planner {
 public:
  Planner(Comm& comm, const Input& input) : comm_(comm), input_(input) {}

  Result<Planned> run() {
    for (const auto step :
         {&Planner::list_regions, &Planner::file_old_ranks, &Planner::compare_same, &Planner::place_sequences,
          &Planner::find_boxes, &Planner::find_single_ranks, &Planner::get_memory}) {
      auto finding = (this->*step)();
      if (!finding) return fail(finding.error());
      if (*finding) return Planned{{}, std::move(*finding)};
    }
    plan_.targets = std::move(wants_.targets);
    reach_others();
    return Planned{std::move(plan_), {}};
  }

 private:
  using Step = Result<Findings>;

  Step list_regions();
  Step file_old_ranks();
  Step compare_same();
  Step place_sequences();
  Step find_boxes();
  Step find_single_ranks();
  Step get_memory();
  void reach_others();

  // Whether there are regions of these kinds, on any member: the same on all.
  [[nodiscard]] bool has(std::initializer_list<Kind> kinds) const {
    return std::ranges::any_of(plan_.roster.entries(),
                               [&](const Entry& entry) { return std::ranges::find(kinds, entry.kind) != kinds.end(); });
  }
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> shapes() const;

  Comm& comm_;
  const Input& input_;
  Post post_;
  Plan plan_;
  RankDirectory directory_;
  std::vector<std::uint64_t> lengths_;  // of the sequences
  Wants wants_;
};

Planner::Step Planner::list_regions() {
  auto roster = gather_roster(comm_, post_, input_.wanted);
  if (!roster) return fail(roster.error());
  plan_.roster = std::move(*roster);
  auto agreed = agree_on(comm_, plan_.roster.compare(input_.wanted, comm_.rank().value));
  if (!agreed || *agreed) return agreed;
  return explain_unsaid(comm_, plan_.roster, input_);
}

Planner::Step Planner::file_old_ranks() {
  plan_.holdings = Holdings(input_, plan_.roster);
  auto directory = RankDirectory::file(comm_, post_, input_, plan_.roster, plan_.holdings);
  if (!directory) return fail(directory.error());
  directory_ = std::move(*directory);
  // A region that does not fit is left out, so a directory misses it: the reason comes first.
  auto misfit = agree_on(comm_, plan_.holdings.finding());
  if (!misfit || *misfit) return misfit;
  auto missing = agree_on(comm_, directory_.finding());
  if (!missing || (*missing && (*missing)->cause != Cause::not_stored)) return missing;

  // That no old rank has a region says more than that some have not.
  std::vector<std::uint64_t> stored(plan_.roster.size() + 1, 0);
  for (const auto& [key, held] : plan_.holdings.regions()) stored[key.second] = 1;
  if (auto status = comm_.allreduce(stored, Reduce::max); !status) return fail(status.error());
  for (std::uint32_t region = 0; region < plan_.roster.size(); ++region) {
    if (stored[region] == 0)
      return Findings(Finding{.cause = Cause::not_stored, .region = plan_.roster.entries()[region].type.name});
  }
  return missing;
}

Planner::Step Planner::compare_same() {
  if (!has({Kind::same})) return Findings{};
  const auto values = compare_values(comm_, plan_.roster, plan_.holdings, Kind::same);
  if (!values) return fail(values.error());
  auto unread = agree_on(comm_, values->finding);
  if (!unread || *unread) return unread;
  for (std::uint32_t region = 0; region < plan_.roster.size(); ++region) {
    const auto& different = values->different[region];
    if (!different) continue;
    const RegionInfo& type = plan_.roster.entries()[region].type;
    return Findings(Finding{.cause = Cause::values_differ,
                            .region = type.name,
                            .ranks = {different->first, different->second},
                            .texts = {type.type == ElementType::opaque ? type.type_name : ""}});
  }
  return Findings{};
}

Planner::Step Planner::place_sequences() {
  if (!has({Kind::sequence})) return Findings{};
  auto lengths = directory_.lengths(comm_, plan_.roster);
  if (!lengths) return fail(lengths.error());
  if (lengths->finding) return lengths->finding;
  lengths_ = std::move(lengths->elements);
  auto likes = agree_on(comm_, directory_.compare_likes(plan_.roster, lengths_));
  if (!likes || *likes) return likes;
  if (auto placed = directory_.place_sequences(comm_, post_, plan_.roster, plan_.holdings); !placed)
    return fail(placed.error());
  return Findings{};
}

// Of the arrays and sequences, by number in the roster.
std::vector<std::vector<std::uint64_t>> Planner::shapes() const {
  std::vector<std::vector<std::uint64_t>> shapes;
  for (std::uint32_t region = 0; region < plan_.roster.size(); ++region) {
    const Entry& entry = plan_.roster.entries()[region];
    const bool is_array = entry.kind == Kind::sequence || entry.kind == Kind::block;
    shapes.push_back(is_array ? entry.type.shape : std::vector<std::uint64_t>{});
    if (entry.kind == Kind::sequence) shapes.back().front() = lengths_[region];
  }
  return shapes;
}

Planner::Step Planner::find_boxes() {
  wants_ = list_wants(input_, plan_.roster, lengths_, comm_.rank(), comm_.size());
  auto outside = agree_on(comm_, wants_.finding);
  if (!outside || *outside) return outside;
  auto found = reshape::find_boxes(comm_, post_, plan_.roster, shapes(), plan_.holdings, wants_.boxes);
  if (!found) return fail(found.error());
  auto agreed = agree_on(comm_, found->finding);
  if (!agreed || *agreed) return agreed;
  Findings damaged;
  if (!are_complete(*found, wants_.boxes, comm_.size()))
    damaged = Finding{.cause = Cause::damaged_message, .ranks = {comm_.rank().value}};
  plan_.sources = std::move(found->of_region);
  return agree_on(comm_, damaged);
}

// What is the same on all old ranks comes from one that this member holds, or else from one that few others ask.
Planner::Step Planner::find_single_ranks() {
  if (!has({Kind::same, Kind::of_rank})) return Findings{};
  std::vector<RankDirectory::Question> questions;
  std::vector<const Wanted*> askers;
  Findings mine;
  for (const Wanted& wanted : input_.wanted) {
    Rank old_rank = input_.held.empty() ? Rank{comm_.rank().value % input_.old_ranks} : input_.held.front().rank;
    if (const auto* one = std::get_if<OfRank>(&wanted.share))
      old_rank = one->rank;
    else if (!std::holds_alternative<Same>(wanted.share))
      continue;
    if (old_rank.value >= input_.old_ranks) {
      mine = Finding{.cause = Cause::not_stored, .region = wanted.info.name, .ranks = {old_rank.value}};
      continue;
    }
    questions.push_back({*plan_.roster.find(wanted.info.name), old_rank});
    askers.push_back(&wanted);
  }
  const auto answers = directory_.ask(comm_, post_, questions);
  if (!answers) return fail(answers.error());
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const auto& [region, old_rank] = questions[i];
    auto finding = take_answer(*askers[i], questions[i], (*answers)[i], wants_);
    if ((*answers)[i].holder.value >= comm_.size())
      finding = Finding{.cause = Cause::damaged_message, .ranks = {comm_.rank().value}};
    if (finding && !mine) mine = std::move(finding);
    const auto target = wants_.targets.find(region);
    if (target == wants_.targets.end() || target->second.array.box.empty()) continue;
    plan_.sources[region] = {{target->second.array.box, old_rank, (*answers)[i].holder, std::nullopt}};
  }
  return agree_on(comm_, mine);
}

Planner::Step Planner::get_memory() {
  auto sizes = agree_on(comm_, check_sizes(input_, plan_.roster, wants_, comm_.rank()));
  if (!sizes || *sizes) return sizes;
  return agree_on(comm_, allocate(input_, plan_.roster, wants_, comm_.rank()));
}

// Local.
void Planner::reach_others() {
  if (!input_.reach) return;
  std::set<Rank> asked;
  for (const auto& [region, sources] : plan_.sources) {
    const bool is_sequence = plan_.roster.entries()[region].kind == Kind::sequence;
    for (const Source& source : sources) {
      if (source.holder == comm_.rank()) continue;
      const bool is_new = asked.insert(source.old_rank).second;
      const OldRank* old = is_new ? input_.reach(source.old_rank) : nullptr;
      if (old != nullptr) plan_.reached.add(*old, plan_.roster);
      if (is_sequence && source.begins.size() == 1)
        plan_.reached.place_sequence(source.old_rank, region, static_cast<std::uint64_t>(source.begins.front()));
    }
  }
}

}  // namespace

Result<Planned> plan_reshape(Comm& comm, const Input& input) { return Planner(comm, input).run(); }

}  // namespace cairn::reshape
