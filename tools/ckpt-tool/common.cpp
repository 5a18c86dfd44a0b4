#include <algorithm>
#include <cstdio>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/list_text.hpp"
#include "commands.hpp"
#include "format/notes_json.hpp"
#include "store/names.hpp"
#include "text.hpp"

namespace ckpt_tool {

using cairn::Finding;

void put_identity(Json& to, const cairn::Identity& identity) {
  to["version"] = identity.version.value;
  to["incarnation"] = identity.incarnation.value;
  to["run"] = cairn::names::hex(identity.run);
}

std::string identity_text(const cairn::Identity& identity) {
  return fmt::format("version {} (incarnation {}, run {})", identity.version.value, identity.incarnation.value,
                     cairn::names::hex(identity.run));
}

std::string levels_text(const cairn::SnapshotView& snapshot) {
  std::string text;
  for (const cairn::LevelId level : cairn::kAllLevels) {
    const cairn::Reach& reach = snapshot.at(level);
    if (reach.held == 0) continue;
    if (!text.empty()) text += " ";
    text += level_text(level);
    if (!reach.complete()) text += fmt::format(" ({}/{} nodes)", reach.held, reach.of);
  }
  return text.empty() ? "-" : text;
}

Json levels_json(const cairn::SnapshotView& snapshot) {
  Json levels = Json::object();
  for (const cairn::LevelId level : cairn::kAllLevels) levels[level_text(level)] = snapshot.at(level).complete();
  return levels;
}

void put_notes_json(Json& to, const cairn::SnapshotNotes& notes) {
  to["label"] = notes.label.empty() ? Json() : Json(notes.label);
  to["attributes"] = to["region_attributes"] = Json::object();
  for (const cairn::Attribute& attribute : notes.attributes) {
    Json& of = attribute.region.empty() ? to["attributes"] : to["region_attributes"][attribute.region];
    of[attribute.name] = cairn::json_of(attribute.value);
  }
}

Json numbers(const std::vector<cairn::Rank>& ranks) {
  Json all = Json::array();
  for (const cairn::Rank rank : ranks) all.push_back(rank.value);
  return all;
}

std::string_view state_text(Finding::State state) {
  switch (state) {
    case Finding::State::good: return "good";
    case Finding::State::damaged: return "damaged";
    case Finding::State::missing: return "missing";
    case Finding::State::retired: return "retired";
    case Finding::State::newer: return "newer";
    case Finding::State::untrusted: return "untrusted";
    case Finding::State::unreadable: return "unreadable";
  }
  return "unknown";
}

bool is_unknown(Finding::State state) {
  using enum Finding::State;
  return state == newer || state == untrusted || state == unreadable;
}

std::string finding_text(const Finding& finding) {
  std::string about = ranks_text(finding.ranks);
  if (finding.level && !finding.file.path.empty()) about += (about.empty() ? "" : ", ") + level_text(*finding.level);
  return fmt::format("{}{}: {}", finding.where, about.empty() ? "" : " (" + about + ")", finding.what);
}

ExitCode worse(ExitCode code, const Finding& finding) {
  if (is_unknown(finding.state) || code == kUnusable) return kUnusable;
  return finding.state == Finding::State::good ? code : kDamage;
}

std::string ignored_text(const OpenStores& opened, const cairn::Ignored& ignored) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> stores;
  for (const cairn::StoreId holder : ignored.holders) stores.push_back(opened.stores.at(holder).where());
  return fmt::format("{}: no manifest in {}", ignored.dir.path, cairn::first_few(stores, kShown));
}

Json ignored_json(const OpenStores& opened, const std::vector<cairn::Ignored>& all) {
  Json json = Json::array();
  for (const cairn::Ignored& ignored : all) {
    Json& one = json.emplace_back(Json{{"directory", ignored.dir.path}, {"version", ignored.version.value}});
    one["stores"] = Json::array();
    for (const cairn::StoreId holder : ignored.holders) one["stores"].push_back(opened.stores.at(holder).where());
  }
  return json;
}

cairn::Error no_snapshots(const OpenStores& opened, const std::vector<cairn::Ignored>& ignored) {
  cairn::Error error = opened.nothing("snapshots");
  if (ignored.empty()) return error;
  error.message += "; ignored: " + ignored_text(opened, ignored.front());
  if (ignored.size() > 1) error.message += fmt::format(", and {} more", ignored.size() - 1);
  return error;
}

cairn::Error no_such_version(const OpenStores& opened, std::uint32_t version, const cairn::Survey& survey) {
  std::set<std::uint32_t> there;
  for (const auto& snapshot : view_snapshots(survey)) there.insert(snapshot.identity.version.value);
  cairn::Error error{
      cairn::Code::not_found, fmt::format("no version {} of job {} in {}", version, opened.job, opened.places_text()),
      there.empty() ? "there are no snapshots at all" : fmt::format("there are: {}", fmt::join(there, ", "))};
  for (const cairn::Ignored& ignored : survey.ignored) {
    if (ignored.version.value == version) error.message += "; ignored: " + ignored_text(opened, ignored);
  }
  return error;
}

std::string sources_text(const std::map<cairn::LevelId, std::vector<cairn::Rank>>& sources) {
  std::string text;
  for (const auto& [level, ranks] : sources)
    text += fmt::format("{}{} from {}", text.empty() ? "" : ", ", count_text(ranks.size(), "rank"), level_text(level));
  return text;
}

void complain(const std::string& line) { fmt::print(stderr, "ckpt-tool: {}\n", line); }

}  // namespace ckpt_tool
