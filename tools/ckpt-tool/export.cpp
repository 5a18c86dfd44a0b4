#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "commands.hpp"
#include "export_write.hpp"
#include "exports.hpp"
#include "inspect/snapshot_reader.hpp"
#include "progress_bar.hpp"
#include "text.hpp"

namespace ckpt_tool {
namespace {

using cairn::Code;
using cairn::Rank;
using cairn::RegionInfo;
using cairn::SnapshotReader;
using cairn::SnapshotView;

cairn::Result<RegionsByName> regions_of(SnapshotReader& reader, std::optional<std::uint32_t> only) {
  RegionsByName regions;
  for (const Rank rank : reader.ranks()) {
    if (only && rank.value != *only) continue;
    auto infos = reader.regions(rank);
    if (!infos) return cairn::fail(infos.error());
    for (RegionInfo& info : *infos) {
      const std::string name = info.name;
      regions[name].push_back({rank, std::move(info), {}});
    }
  }
  return regions;
}

void report(const ExportRequest& request, const SnapshotView& snapshot, const SnapshotReader& reader,
            const std::vector<Export>& exports) {
  auto sources = reader.sources();
  if (request.rank) {
    for (auto& [level, ranks] : sources) std::erase_if(ranks, [&](Rank rank) { return rank.value != *request.rank; });
    std::erase_if(sources, [](const auto& source) { return source.second.empty(); });
  }
  fmt::print("{}: {}, {}\n", request.to, identity_text(snapshot.identity), sources_text(sources));
  for (const Export& one : exports) {
    const std::string of = one.whole ? "" : fmt::format(" of rank {}", one.parts.front().rank.value);
    fmt::print("  {}{}: {}\n", one.name, of, one.info.type_text());
  }
}

}  // namespace

cairn::Result<ExitCode> export_regions(const ExportRequest& request) {
  const auto opened = open_stores(request.target);
  if (!opened) return cairn::fail(opened.error());
  const auto survey = take_survey(opened->stores);
  if (!survey) return cairn::fail(survey.error());
  const auto snapshot = find_snapshot(*opened, *survey, request.version);
  if (!snapshot) {
    for (const cairn::Finding& finding : survey->findings) complain(finding_text(finding));
    return cairn::fail(snapshot.error());
  }
  const std::size_t ranks = snapshot->layout.node_of_rank.size();
  if (request.rank && *request.rank >= ranks)
    return cairn::fail(Code::invalid_argument,
                       fmt::format("version {} has no rank {}", snapshot->identity.version.value, *request.rank),
                       fmt::format("it has the ranks 0 to {}", ranks - 1));
  ProgressBar bar;
  auto reader = SnapshotReader::open(opened->stores, *survey, *snapshot, request.partial || request.rank, bar.follow());
  if (!reader) {
    cairn::Error error = reader.error();
    if (error.code == Code::unrecoverable) error.hint += "; --partial leaves these ranks out";
    return cairn::fail(std::move(error));
  }
  const auto regions = regions_of(*reader, request.rank);
  bar.clear();
  if (!regions) return cairn::fail(regions.error());
  if (regions->empty())
    return cairn::fail(Code::unrecoverable,
                       fmt::format("version {} has no region that can be read{}{}", snapshot->identity.version.value,
                                   reader->why_missing().empty() ? "" : ": ", reader->why_missing()));
  const bool all = reader->missing().empty();
  const auto how = request.rank ? JoinRanks::none : all ? JoinRanks::all : JoinRanks::by_place;
  const auto exports = plan_exports(*regions, request.regions, how);
  if (!exports) return cairn::fail(exports.error());
  if (auto status = write_exports(*reader, *exports, request.to, snapshot->identity); !status)
    return cairn::fail(status.error());
  report(request, *snapshot, *reader, *exports);
  if (all || request.rank) return kGood;
  complain(fmt::format("left out: {}: {}", ranks_text(reader->missing()), reader->why_missing()));
  return kDamage;
}

}  // namespace ckpt_tool
