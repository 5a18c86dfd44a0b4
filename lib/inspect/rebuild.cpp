#include "inspect/rebuild.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/log.hpp"
#include "codec/reed_solomon.hpp"
#include "inspect/snapshot_reader.hpp"
#include "level/checked_volume.hpp"
#include "level/parity_writer.hpp"
#include "level/volume.hpp"
#include "recover/belonging.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

class Rebuilder {
 public:
  Rebuilder(const RebuildPlan& plan, const RebuildSources& sources, const std::function<void(std::uint64_t)>& done)
      : plan_(plan),
        sources_(sources),
        has_key_(sources.stores.sealer.has_key()),
        dir_(names::snapshot(plan.snapshot)),
        reader_(SnapshotReader::of_audited(sources.stores, sources.survey, sources.audit.view, sources.audit.recovery)),
        done_(done) {}

  Status write(const RebuiltPart& part, Store& store) {
    if (auto status = mark(store); !status) return status;
    NodeManifest manifest = part.manifest;
    const NodeManifest before = manifest;
    for (const NamedFile& file : sources_.stores.levels.files(part.manifest)) {
      if (std::ranges::find(part.files, file.name) == part.files.end()) continue;
      const Status status = file.shard() != nullptr ? write_shard(file, store) : write_parity(file, store, manifest);
      if (!status) return fail(status.error().in_file(store.where() + "/" + file.name.path));
    }
    if (!part.changes_manifest && manifest == before) return {};
    return write_manifest(store, manifest, sealer_of(store, sources_.stores.sealer)).map([](std::uint64_t) {});
  }

 private:
  // Before anything else: what lies in a store without a mark belongs to no chain.
  Status mark(Store& store) const {
    const auto entries = store.list(DirName{});
    if (!entries) return fail(entries.error());
    const auto has = read_chain_mark(store, *entries, Log::silent(), sources_.stores.sealer);
    if (has) return {};
    const bool lost = has.error().code == Code::not_found || has.error().code == Code::corrupt;
    if (!lost) return fail(has.error().in(store.where()));
    if (!sources_.mark && sources_.mark.error().code == Code::not_found) return {};
    if (!sources_.mark) return fail(sources_.mark.error());
    return write_chain_mark(store, *sources_.mark, sources_.stores.sealer);
  }

  [[nodiscard]] std::shared_ptr<CheckedVolume> volume_of(const std::vector<ShardEntry>& shards) const {
    return std::make_shared<CheckedVolume>(
        dir_, shards, [this](const ShardEntry& shard) { return reader_.checked(shard.rank, has_key_); });
  }

  void tell(std::uint64_t bytes) {
    done_bytes_ += bytes;
    if (done_) done_(done_bytes_);
  }

  // A shard, or a copy of one.
  Status write_shard(const NamedFile& file, Store& store) {
    const ShardEntry& shard = *file.shard();
    const ReadAt read = CheckedVolume::stream(volume_of({shard}), 0);
    VolumeWriter writer(store, {{file.name, shard.bytes}}, names::owner_head());
    Buffer scratch;
    for (std::uint64_t offset = 0; offset < shard.bytes;) {
      const std::uint64_t count = std::min(kSliceBytes, shard.bytes - offset);
      const auto bytes = read(offset, count, scratch);
      if (!bytes) return fail(bytes.error());
      if (auto status = writer.write(*bytes); !status) return status;
      offset += count;
      tell(count);
    }
    for (const PendingFile& written : writer.take()) {
      if (auto status = written.commit(); !status) return status;
    }
    return {};
  }

  // Notes in the manifest what the file has.
  Status write_parity(const NamedFile& file, Store& store, NodeManifest& manifest) {
    const auto& parity = std::get<ParityEntry>(file.entry);
    const Layout& layout = file.holding->layout;
    const ErasureHolding& tables = *file.holding->erasure;
    const std::uint32_t group = layout.place_in_group(file.holding->node).group;
    const ErasureShape shape = layout.shape_of(group);
    const auto code = ReedSolomon::create(shape.data(), shape.m);
    if (!code) return fail(code.error());
    ParityHeader header{plan_.snapshot, layout.id(), parity.column, parity.row, tables.chunk_bytes};
    header.digest = digest_for(has_key_, &tables, header);
    ParityWriter writer(store, file.name, header, code->encode_row(parity.row));
    if (auto status = encode(shape, tables, parity.column, writer); !status) return status;
    const auto entry = writer.finish();
    if (!entry) return fail(entry.error());
    if (auto status = writer.commit(); !status) return status;
    for (ParityEntry& named : manifest.find(layout.id())->erasure->parity) {
      if (named.column == entry->column && named.row == entry->row) named = *entry;
    }
    return {};
  }

  Status encode(const ErasureShape& shape, const ErasureHolding& tables, std::uint32_t column, ParityWriter& writer) {
    std::vector<ReadAt> rows;
    for (std::uint32_t row = 0; row < shape.data(); ++row) {
      const std::uint32_t member = shape.data_holder(column, row);
      rows.push_back(CheckedVolume::stream(volume_of(tables.members.at(member)),
                                           shape.chunk_in_column(member, column) * tables.chunk_bytes));
    }
    std::vector<Buffer> scratch(rows.size());
    for (std::uint64_t offset = 0; offset < tables.chunk_bytes;) {
      const std::uint64_t count = std::min(kSliceBytes, tables.chunk_bytes - offset);
      std::vector<Bytes> inputs;
      for (std::size_t row = 0; row < rows.size(); ++row) {
        const auto bytes = rows[row](offset, count, scratch[row]);
        if (!bytes) return fail(bytes.error());
        inputs.push_back(*bytes);
      }
      if (auto status = writer.consume(offset, inputs); !status) return status;
      offset += count;
      tell(count);
    }
    return {};
  }

  const RebuildPlan& plan_;
  const RebuildSources& sources_;
  bool has_key_;
  DirName dir_;
  SnapshotReader reader_;
  const std::function<void(std::uint64_t)>& done_;
  std::uint64_t done_bytes_ = 0;
};

}  // namespace

Result<ChainMark> common_mark(const JobStores& stores) {
  std::optional<ChainMark> common;
  std::string first;
  const auto look = [&](const Store& store) -> Status {
    const auto entries = store.list(DirName{});
    if (!entries) return fail(entries.error());
    const auto mark = read_chain_mark(store, *entries, Log::silent(), stores.sealer);
    if (!mark) return {};
    if (common && common->id != mark->id)
      return fail(Code::mismatch, fmt::format("{} and {} have snapshots of different jobs", first, store.where()),
                  "name the stores of one job only");
    if (!common) first = store.where();
    common = *mark;
    return {};
  };
  for (const auto& store : stores.nodes) {
    if (auto status = look(*store); !status) return fail(status.error());
  }
  if (stores.global) {
    if (auto status = look(*stores.global); !status) return fail(status.error());
  }
  if (common) return *common;
  return fail(Code::not_found, "no store has the mark of a chain");
}

Status rebuild(const RebuildPlan& plan, const RebuildSources& sources, const WritableStores& stores,
               const std::function<void(std::uint64_t)>& done) {
  Rebuilder rebuilder(plan, sources, done);
  for (const RebuiltPart& part : plan.parts) {
    if (auto status = rebuilder.write(part, *stores.at(part.holder)); !status) return status;
  }
  return {};
}

}  // namespace cairn
