#include <algorithm>
#include <chrono>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/list_text.hpp"
#include "rehearsal.hpp"

namespace ckpt_run {
namespace {

using HowItDiffers = RegionDifference::Kind;

std::string text_of(const RegionDifference& one) {
  const std::string thing = fmt::format("region {} of rank {}", one.region, one.rank.value);
  switch (one.kind) {
    case HowItDiffers::missing: return thing + " is missing after the failures";
    case HowItDiffers::added: return thing + " is there after the failures only";
    case HowItDiffers::shape:
      return fmt::format("{} is {} after the failures, and {} undisturbed", thing, one.found, one.expected);
    case HowItDiffers::values: break;
  }
  return fmt::format("{} differs in {} of {} elements: element {} is {} after the failures, and {} undisturbed", thing,
                     one.differing, one.elements, one.first, one.found, one.expected);
}

std::string deaths_text(const std::vector<cairn::PlannedDeath>& deaths) {
  std::vector<std::string> texts;
  for (const auto& [call, rank] : deaths) texts.push_back(fmt::format("rank {} before call {}", rank.value, call));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<std::string> names_in(const RunDifference& difference) {
  std::set<std::string> names;
  for (const RegionDifference& one : difference.regions) names.insert(one.region);
  return {names.begin(), names.end()};
}

void add_causes(std::string& text, const Rehearsed& rehearsed) {
  text += "usual causes, the most frequent first:\n";
  const auto& regions = rehearsed.difference.regions;
  if (std::ranges::any_of(regions, [](const auto& one) { return one.kind != HowItDiffers::values; }))
    text += "  - protect() is called after restore(), or only in some runs\n";
  text +=
      "  - a variable that the result depends on is not protected\n"
      "  - a protected pointer was swapped or allocated again: in C, use cairn_protect_pointer; otherwise protect "
      "again\n"
      "  - the program works before restore() with values that restore() changes\n";
  if (std::ranges::any_of(regions, &RegionDifference::opaque))
    text += "  - the bytes between the members of a struct differ, which has no effect on the program\n";
}

// What was seen in the undisturbed run.
std::string on_the_way(const Rehearsed& rehearsed) {
  std::string text;
  for (const RehearsalFinding& finding : rehearsed.findings) text += fmt::format("found: {}\n", text_of(finding));
  constexpr std::chrono::seconds kWorthIt{1};
  if (rehearsed.quiet.time >= kWorthIt)
    text += fmt::format("longest time without a call of MPI or Cairn: {:.1f} s, on rank {}\n",
                        static_cast<double>(rehearsed.quiet.time.count()) / 1000, rehearsed.quiet.rank.value);
  return text;
}

}  // namespace

std::string text_of(const Rehearsed& rehearsed, double tolerance) {
  std::string text = on_the_way(rehearsed);
  if (rehearsed.failed) return text + rehearsed.failed->text();
  text +=
      fmt::format("rehearsal: {} calls of snapshot(); deaths: {}\n", rehearsed.calls, deaths_text(rehearsed.deaths));
  if (!rehearsed.not_died.empty())
    text += fmt::format("not rehearsed, since no rank came to these calls: {}\n", deaths_text(rehearsed.not_died));
  if (rehearsed.calls != rehearsed.calls_after)
    text += fmt::format("the run with failures has made {} calls of snapshot(): both must make the same\n",
                        rehearsed.calls_after);
  if (rehearsed.difference.none() && !rehearsed.has_same_result()) return text + "the regions are equal";
  if (rehearsed.difference.none())
    return text + fmt::format("the program has the same result after failures: {} region{}, {} bytes, {}",
                              rehearsed.difference.compared, rehearsed.difference.compared == 1 ? "" : "s",
                              rehearsed.difference.bytes,
                              tolerance > 0 ? fmt::format("equal within {}", tolerance) : "equal bit by bit");
  text += text_of(rehearsed.difference.regions.front()) + "\n";
  const auto names = names_in(rehearsed.difference);
  constexpr std::size_t kShown = 12;
  text += fmt::format("{} of {} regions differ: {}\n", names.size(), rehearsed.difference.compared,
                      cairn::first_few(names, kShown));
  if (rehearsed.repeated && !rehearsed.repeated->none()) {
    return text +
           "two undisturbed runs differ, too: this says nothing about failures\n"
           "usual causes: random numbers, the time, or the order of messages; --tolerance allows for rounding";
  }
  add_causes(text, rehearsed);
  return text + "the program has another result after failures";
}

}  // namespace ckpt_run
