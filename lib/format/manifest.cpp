#include "format/manifest.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "format/layout_json.hpp"
#include "format/notes_json.hpp"
#include "format/parity_file.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

constexpr std::string_view kNodeKind = "node manifest";

Json json_of(const PartnerHolding& partner) {
  Json held = Json::array();
  for (const auto& copies : partner.held) {
    held.push_back(Json{{"owner", copies.owner.value}, {"shards", cairn::json_of(copies.shards)}});
  }
  return Json{{"k", partner.turn}, {"held", std::move(held)}};
}

Json json_of(const ErasureHolding& erasure) {
  Json members = Json::array();
  for (const auto& shards : erasure.members) members.push_back(cairn::json_of(shards));
  Json parity = Json::array();
  for (const auto& entry : erasure.parity) {
    parity.push_back(
        Json{{"column", entry.column}, {"row", entry.row}, {"bytes", entry.bytes}, {"sha256", entry.digest.hex()}});
  }
  return Json{{"chunk_bytes", erasure.chunk_bytes}, {"members", std::move(members)}, {"parity", std::move(parity)}};
}

PartnerHolding partner_of(const JsonView& from, const Layout& layout, NodeId node) {
  PartnerHolding partner;
  partner.turn = from["k"].number();
  const JsonView held = from["held"];
  std::set<NodeId> owners;
  for (std::size_t i = 0; i < held.size() && held.good(); ++i) {
    const JsonView copies = held.at(i);
    const NodeId owner{copies["owner"].below(layout.nodes)};
    if (owner == node) copies["owner"].complain("is this node itself");
    if (!owners.insert(owner).second) copies["owner"].complain(fmt::format("repeats node {}", owner.value));
    partner.held.push_back({owner, shards_of(copies["shards"], layout)});
  }
  return partner;
}

ParityEntry parity_of(const JsonView& from, const ErasureShape& shape, std::uint64_t chunk_bytes) {
  ParityEntry entry;
  entry.column = from["column"].below(shape.columns());
  entry.row = from["row"].below(shape.m);
  entry.bytes = from["bytes"].number();
  const ParityHeader with_crcs{.chunk_bytes = chunk_bytes, .digest = BlockDigest::crc32c};
  const ParityHeader whole{.chunk_bytes = chunk_bytes, .digest = BlockDigest::sha256};
  if (from.good() && entry.bytes != with_crcs.file_bytes() && entry.bytes != whole.file_bytes()) {
    from["bytes"].complain(fmt::format("is {}, should be {} or, without CRCs, {} for {} bytes of parity", entry.bytes,
                                       with_crcs.file_bytes(), whole.file_bytes(), chunk_bytes));
  }
  entry.digest = digest_of(from["sha256"]);
  return entry;
}

ErasureHolding erasure_of(const JsonView& from, const Layout& layout, NodeId node) {
  ErasureHolding erasure;
  erasure.chunk_bytes = from["chunk_bytes"].number();
  if (layout.groups.empty()) from.complain("exists, but the layout has no groups");
  if (!from.good()) return erasure;
  const auto place = layout.place_in_group(node);
  const ErasureShape shape = layout.shape_of(place.group);
  const JsonView members = from["members"];
  members.expect_size(shape.n);
  for (std::size_t i = 0; i < members.size() && members.good(); ++i) {
    erasure.members.push_back(shards_of(members.at(i), layout));
  }
  const JsonView parity = from["parity"];
  if (!shape.holds_parity(place.index)) parity.expect_size(0);
  std::set<std::pair<std::uint32_t, std::uint32_t>> places;
  for (std::size_t i = 0; i < parity.size() && parity.good(); ++i) {
    erasure.parity.push_back(parity_of(parity.at(i), shape, erasure.chunk_bytes));
    const auto& entry = erasure.parity.back();
    if (!places.emplace(entry.column, entry.row).second) parity.at(i).complain("repeats a column and row");
  }
  return erasure;
}

Holding holding_of(const JsonView& from) {
  Holding holding;
  holding.layout = layout_of(from["layout"]);
  holding.node = {from["node"].below(holding.layout.nodes)};
  if (!from.good()) return holding;
  if (from.has("own")) holding.own = shards_of(from["own"], holding.layout);
  if (from.has("partner")) holding.partner = partner_of(from["partner"], holding.layout, holding.node);
  if (from.has("erasure")) holding.erasure = erasure_of(from["erasure"], holding.layout, holding.node);
  return holding;
}

// Calls `parse` on the text of the directory's manifest; refuses a manifest of another directory.
template <class Manifest>
Result<Manifest> read_manifest(const Store& store, const DirName& dir, const Sealer& sealer,
                               Result<Manifest> (*parse)(const std::string&, const Sealer&)) {
  const FileName name = names::manifest(dir);
  auto text = read_text(store, name, kMostManifestBytes);
  if (!text) return fail(text.error());
  auto manifest = parse(*text, sealer);
  if (!manifest) return fail(manifest.error().in_file(name.path));
  const Identity& is = manifest->identity;
  if (names::snapshot(is) != dir) {
    return fail_in_file(Code::corrupt, name.path, fmt::format("it is the manifest of {}", names::snapshot(is).path));
  }
  return manifest;
}

}  // namespace

Holding* NodeManifest::find(LayoutId layout) {
  const auto found = std::ranges::find(holdings, layout, [](const Holding& holding) { return holding.layout.id(); });
  return found == holdings.end() ? nullptr : &*found;
}

const Holding* NodeManifest::find(LayoutId layout) const {
  const auto found = std::ranges::find(holdings, layout, [](const Holding& holding) { return holding.layout.id(); });
  return found == holdings.end() ? nullptr : &*found;
}

std::string to_json(const NodeManifest& manifest, const Sealer& sealer) {
  const bool avoids =
      std::ranges::any_of(manifest.holdings, [](const Holding& holding) { return !holding.layout.avoided.empty(); });
  Json json{{"kind", kNodeKind}, {"format", sealer.format(avoids ? kAvoidingFormats : kManifestFormats)}};
  put_identity(json, manifest.identity);
  json["safe_point"] = manifest.safe_point;
  put_notes(json, manifest.notes);
  Json holdings = Json::array();
  for (const auto& holding : manifest.holdings) {
    Json here{{"layout", cairn::json_of(holding.layout)}, {"node", holding.node.value}};
    if (holding.own) here["own"] = cairn::json_of(*holding.own);
    if (holding.partner) here["partner"] = json_of(*holding.partner);
    if (holding.erasure) here["erasure"] = json_of(*holding.erasure);
    holdings.push_back(std::move(here));
  }
  json["holdings"] = std::move(holdings);
  return sealer.seal(json);
}

Result<NodeManifest> parse_node_manifest(const std::string& text, const Sealer& sealer) {
  return read_json<NodeManifest>(text, kNodeKind, sealer, [](const JsonView& root) {
    NodeManifest manifest;
    manifest.identity = identity_of(root);
    manifest.safe_point = root["safe_point"].number();
    manifest.notes = notes_of(root);
    const JsonView holdings = root["holdings"];
    std::set<LayoutId> layouts;
    for (std::size_t i = 0; i < holdings.size() && holdings.good(); ++i) {
      manifest.holdings.push_back(holding_of(holdings.at(i)));
      const bool first = layouts.insert(manifest.holdings.back().layout.id()).second;
      if (!first) holdings.at(i)["layout"].complain("repeats the layout of an earlier element");
    }
    return manifest;
  });
}

Result<std::uint64_t> write_manifest(Store& store, const NodeManifest& manifest, const Sealer& sealer) {
  const DirName dir = names::snapshot(manifest.identity);
  const std::string text = to_json(manifest, sealer);
  if (auto status = write_json_text(store, names::manifest(dir), text, kMostManifestBytes); !status)
    return fail(status.error());
  return text.size();
}

Result<NodeManifest> read_node_manifest(const Store& store, const DirName& dir, const Sealer& sealer) {
  return read_manifest(store, dir, sealer, parse_node_manifest);
}

Result<GlobalManifest> read_global_manifest(const Store& global, const DirName& dir, const Sealer& sealer) {
  return read_manifest(global, dir, sealer, parse_global_manifest);
}

}  // namespace cairn
