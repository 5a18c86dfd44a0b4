#include "level/erasure_level.hpp"

#include <algorithm>
#include <memory>

#include "codec/reed_solomon.hpp"
#include "level/checked_volume.hpp"
#include "level/erasure_blame.hpp"
#include "level/erasure_decode.hpp"
#include "level/erasure_sources.hpp"
#include "level/exchange.hpp"
#include "level/parity_writer.hpp"
#include "level/volume.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// This node's seat in its group, under today's layout.
struct Seat {
  const std::vector<NodeId>& members;
  std::uint32_t index;
  ErasureShape shape;

  [[nodiscard]] Peer head(std::uint32_t member) const { return Peer{members[member].value}; }
  [[nodiscard]] Tag tag(std::uint32_t column, std::uint32_t row) const { return stream_tag(column * shape.m + row); }
};

Seat seat_of(const NodeContext& node) {
  const Layout::GroupPlace place = node.layout.place_in_group(node.me);
  const auto& members = node.layout.groups[place.group];
  return {members, place.index, node.layout.shape_of(place.group)};
}

// Every member's shard entries, by index in the group.
Result<std::vector<std::vector<ShardEntry>>> learn_members(Comm& heads, const NodeContext& node, const Seat& seat,
                                                           const std::vector<ShardEntry>& own) {
  std::vector<Peer> to;
  std::vector<Expected> from;
  for (std::uint32_t i = 0; i < seat.shape.n; ++i) {
    if (i == seat.index) continue;
    to.push_back(seat.head(i));
    from.push_back({seat.head(i), node.layout.ranks_on(seat.members[i]).size() * kEntryBytes});
  }
  auto messages = exchange_messages(heads, kEntriesTag, encode_entries(own), to, from);
  if (!messages) return fail(messages.error());

  std::vector<std::vector<ShardEntry>> members(seat.shape.n);
  members[seat.index] = own;
  for (std::size_t i = 0, next = 0; i < members.size(); ++i) {
    if (i == seat.index) continue;
    auto shards = decode_entries((*messages)[next++]);
    if (!shards) return fail(shards.error());
    members[i] = std::move(*shards);
  }
  return members;
}

std::vector<Outgoing> chunks_to_send(const NodeContext& node, const Seat& seat, const DirName& dir,
                                     const std::vector<ShardEntry>& own, std::uint64_t chunk) {
  std::vector<Outgoing> outgoing;
  const auto volume = std::make_shared<CheckedVolume>(*node.local, dir, own, node.sealer.has_key());
  for (std::uint32_t t = 0; t < seat.shape.chunks(seat.index); ++t) {
    const std::uint32_t column = seat.shape.column_of_chunk(seat.index, t);
    for (std::uint32_t row = 0; row < seat.shape.m; ++row) {
      outgoing.push_back({column * seat.shape.m + row, seat.head(seat.shape.parity_holder(column, row)),
                          seat.tag(column, row), chunk, CheckedVolume::stream(volume, t * chunk)});
    }
  }
  return outgoing;
}

using ParityWriters = std::vector<std::shared_ptr<ParityWriter>>;

// Afterwards `writers` has the encoded files, which have no names yet.
Status encode_group(Comm& heads, const NodeContext& node, NodeManifest& manifest, ParityWriters& writers) {
  const Seat seat = seat_of(node);
  Holding& holding = *manifest.find(node.layout.id());
  const DirName dir = node.dir(manifest.identity);
  auto members = learn_members(heads, node, seat, *holding.own);
  if (!members) return fail(members.error());
  std::vector<std::uint64_t> volumes;
  for (const auto& shards : *members) volumes.push_back(volume_bytes(shards));
  const std::uint64_t chunk = chunk_bytes(volumes, seat.shape);
  auto code = ReedSolomon::create(seat.shape.data(), seat.shape.m);
  if (!code) return fail(code.error());

  auto outgoing = chunks_to_send(node, seat, dir, *holding.own, chunk);
  std::vector<Incoming> incoming;
  const std::uint32_t rows = seat.shape.holds_parity(seat.index) ? seat.shape.m : 0;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::uint32_t column = seat.shape.column_of_parity(seat.index, row);
    ParityHeader header{manifest.identity, node.layout.id(), column, row, chunk};
    header.digest = digest_for(node.sealer.has_key(), holding.erasure ? &*holding.erasure : nullptr, header);
    auto writer = std::make_shared<ParityWriter>(*node.local, names::parity(dir, {column, row, header.layout}), header,
                                                 code->encode_row(row));
    Incoming stream{column * seat.shape.m + row, {}, chunk, [writer](std::uint64_t offset, std::span<const Bytes> in) {
                      return writer->consume(offset, in);
                    }};
    for (std::uint32_t d = 0; d < seat.shape.data(); ++d) {
      stream.inputs.push_back({seat.head(seat.shape.data_holder(column, d)), seat.tag(column, row), {}});
    }
    incoming.push_back(std::move(stream));
    writers.push_back(std::move(writer));
  }
  if (auto status = exchange(heads, outgoing, incoming, node.between, node.symptoms); !status) return status;

  for (const Outgoing& stream : outgoing) {
    if (!stream.status) return stream.status;
  }
  ErasureHolding erasure{chunk, std::move(*members), {}};
  for (std::size_t i = 0; i < incoming.size(); ++i) {
    if (!incoming[i].status) return incoming[i].status;
    auto entry = writers[i]->finish();
    if (!entry) return fail(entry.error());
    erasure.parity.push_back(*entry);
  }
  holding.erasure = std::move(erasure);
  return {};
}

}  // namespace

std::uint64_t chunk_bytes(const std::vector<std::uint64_t>& volume_bytes, const ErasureShape& shape) {
  std::uint64_t longest = 0;
  for (std::uint32_t member = 0; member < volume_bytes.size(); ++member) {
    const std::uint32_t chunks = shape.chunks(member);
    longest = std::max(longest, (volume_bytes[member] + chunks - 1) / chunks);
  }
  return round_up(longest, 64);
}

Status ErasureLevel::protect(Comm& heads, const NodeContext& node, NodeManifest& manifest, std::uint64_t /*turn*/) {
  const auto span = node.trace.span("encode", manifest.identity.version.value, node.own_bytes(manifest));
  // If a snapshot is protected again, its old parity is replaced only when all inputs are known to be right: a bad
  // input may have to be rebuilt from that old parity.
  ParityWriters writers;
  const Status encoded = agree(heads, encode_group(heads, node, manifest, writers), "node");
  if (!encoded) return encoded;
  Status committed;
  for (const auto& writer : writers) {
    if (committed) committed = writer->commit();
  }
  return agree(heads, committed, "node");
}

bool ErasureLevel::is_carried_by(const Layout& layout) const { return !layout.groups.empty(); }

bool ErasureLevel::survives(const Layout& layout, const std::vector<bool>& gone, std::uint64_t /*turn*/) const {
  return is_carried_by(layout) && std::ranges::all_of(layout.groups, [&](const auto& group) {
           return std::ranges::count_if(group, [&](NodeId node) { return gone[node.value]; }) <= layout.parity;
         });
}

std::uint64_t ErasureLevel::extra_bytes(std::uint64_t own_bytes, const Layout& layout, NodeId me) const {
  const auto place = layout.place_in_group(me);
  const ErasureShape shape = layout.shape_of(place.group);
  return shape.holds_parity(place.index) ? own_bytes * shape.m / shape.chunks(place.index) : 0;
}

std::unique_ptr<SourceFinder> ErasureLevel::sources(const KnownParts& known) const { return find_decodes(known); }

std::string ErasureLevel::describe(const Delivery& /*delivery*/) const { return "decoded"; }

Result<std::vector<Strike>> ErasureLevel::blame(Comm& heads, const NodeContext& node, const RestoreTask& task,
                                                const std::vector<std::size_t>& wrong, bool struck) const {
  return examine_decodes(heads, node, task, wrong, struck);
}

void ErasureLevel::note(KnownParts::Parts& parts, LevelId self, const HoldingSummary& part, Peer holder) const {
  parts.parity.add(self, part.node, holder);
}

bool ErasureLevel::is_in(const Holding& holding) const { return holding.erasure.has_value(); }
void ErasureLevel::forget(Holding& holding) const { holding.erasure.reset(); }

std::vector<NamedFile> ErasureLevel::files(const DirName& dir, const Holding& holding) const {
  std::vector<NamedFile> files;
  if (!holding.erasure) return files;
  const LayoutId layout = holding.layout.id();
  for (const ParityEntry& parity : holding.erasure->parity)
    files.push_back({names::parity(dir, {parity.column, parity.row, layout}), &holding, holding.node, parity});
  return files;
}

bool ErasureLevel::is_file(std::string_view name, LayoutId layout) const {
  const auto parity = names::parse_parity(name);
  return parity && parity->layout == layout;
}

Status ErasureLevel::verify(const Store& store, const Identity& snapshot, const NamedFile& file,
                            const std::function<void()>& between) const {
  const auto& parity = std::get<ParityEntry>(file.entry);
  const ParityHeader expected{snapshot, file.holding->layout.id(), parity.column, parity.row,
                              file.holding->erasure->chunk_bytes};
  return verify_parity_file(store, file.name, expected, parity, between);
}

bool ErasureLevel::begins_well(const Store& store, const Identity& snapshot, const NamedFile& file) const {
  const auto& parity = std::get<ParityEntry>(file.entry);
  const auto reader = store.open(file.name);
  Buffer bytes(kParityHeaderBytes);
  if (!reader || !(*reader)->read(0, bytes)) return false;
  const auto header = decode_parity_header(bytes);
  return header && header->identity == snapshot && header->layout == file.holding->layout.id() &&
         header->column == parity.column && header->row == parity.row;
}

Result<RestoreOutcome> ErasureLevel::restore(Comm& heads, const NodeContext& node, const RestoreTask& task) {
  const auto span = node.trace.span("decode", task.snapshot.version.value);
  return decode_deliveries(heads, node, task);
}

}  // namespace cairn
