#include "exports.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/list_text.hpp"

namespace ckpt_tool {
namespace {

using cairn::RegionInfo;

std::vector<const RegionInfo*> infos_of(const std::vector<ExportPart>& parts) {
  std::vector<const RegionInfo*> infos;
  for (const ExportPart& part : parts) infos.push_back(&part.info);
  return infos;
}

std::optional<Export> join_parts(const std::string& name, const std::vector<ExportPart>& parts, JoinRanks how) {
  if (how == JoinRanks::none) return {};
  const auto infos = infos_of(parts);
  const auto joined = cairn::join(infos);
  if (!joined || (how == JoinRanks::by_place && !joined->placed)) return {};
  Export whole{name, true, parts.front().info, parts, false};
  whole.info.shape = joined->shape;
  std::uint64_t elements = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    whole.parts[i].there = joined->parts[i];
    elements += whole.parts[i].elements();
  }
  whole.has_gaps = joined->placed && (elements != whole.info.elements() || have_common_elements(*joined));
  return whole;
}

void add(std::vector<Export>& exports, const std::string& name, const std::vector<ExportPart>& parts, JoinRanks how) {
  if (auto whole = join_parts(name, parts, how)) return exports.push_back(std::move(*whole));
  for (const ExportPart& part : parts) {
    Export one{name, false, part.info, {part}, false};
    const std::vector<std::uint64_t> zeros(part.info.shape.size(), 0);
    one.parts.front().there = {zeros, part.info.shape, zeros};
    exports.push_back(std::move(one));
  }
}

std::string rank_text(const Export& one) { return fmt::format("rank{:06}", one.parts.front().rank.value); }

}  // namespace

std::uint64_t ExportPart::elements() const {
  std::uint64_t product = 1;
  for (const std::uint64_t length : there.extent) product *= length;
  return product;
}

std::string Export::path_in_hdf5() const { return fmt::format("/{}/{}", whole ? "arrays" : rank_text(*this), name); }

std::string Export::file_in_directory() const {
  return whole ? name + ".npy" : fmt::format("{}.{}.npy", name, rank_text(*this));
}

cairn::Result<std::vector<Export>> plan_exports(const RegionsByName& regions, const std::vector<std::string>& names,
                                                JoinRanks how) {
  std::vector<Export> exports;
  for (const std::string& name : names) {
    if (regions.contains(name)) continue;
    constexpr std::size_t kShown = 32;
    std::vector<std::string> there;
    for (const auto& [known, parts] : regions) there.push_back(known);
    return cairn::fail(cairn::Code::not_found, fmt::format("there is no region {}", name),
                       "there are: " + cairn::first_few(there, kShown));
  }
  for (const auto& [name, parts] : regions) {
    if (names.empty() || std::ranges::find(names, name) != names.end()) add(exports, name, parts, how);
  }
  return exports;
}

}  // namespace ckpt_tool
