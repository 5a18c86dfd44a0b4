#include "level/global_messages.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "level/volume.hpp"

namespace cairn {
namespace {

constexpr std::size_t kFileBytes = 3 * sizeof(std::uint64_t) + sizeof(Sha256::bytes);

void put(ByteWriter& out, const WrittenFile& file) {
  out.put(file.bytes);
  out.put(file.check.table);
  out.put(file.check.places);
  out.put(Bytes(file.check.digest.bytes));
}

WrittenFile get_file(ByteReader& in) {
  WrittenFile file;
  file.bytes = in.get<std::uint64_t>();
  file.check.table = in.get<std::uint64_t>();
  file.check.places = in.get<std::uint64_t>();
  std::ranges::copy(in.get_bytes(file.check.digest.bytes.size()), file.check.digest.bytes.begin());
  return file;
}

Buffer encode(const NodeReport& report) {
  ByteWriter out;
  put(out, report.file);
  out.put(static_cast<std::uint32_t>(report.shards.size()));
  out.put(encode_entries(report.shards));
  for (std::size_t i = 0; i < report.shards.size(); ++i) {
    const Buffer table = encode(report.tables[i]);
    out.put(report.headers[i].regions);
    out.put(report.headers[i].data_offset);
    out.put(report.headers[i].data_bytes);
    out.put(report.headers[i].table_crc);
    out.put(static_cast<std::uint64_t>(table.size()));
    out.put(Bytes(table));
  }
  out.put(Bytes(encode(report.notes)));
  return out.take();
}

constexpr std::size_t kPartBytes = sizeof(std::uint32_t) + kEntryBytes + sizeof(bool) + kFileBytes;

GlobalPart part_of(const GlobalManifest& manifest, Rank rank) {
  GlobalPart part{manifest.layout.node_of_rank[rank.value], manifest.shards[rank.value]};
  part.file.bytes = manifest.node_file_bytes[part.node.value];
  part.has_check = !manifest.node_files.empty();
  if (part.has_check) part.file.check = manifest.node_files[part.node.value];
  return part;
}

std::vector<Rank> ranks_for(const RestoreTask& task, Peer head) {
  std::vector<Rank> ranks;
  for (const Delivery& delivery : task.deliveries) {
    if (delivery.to == head) ranks.push_back(delivery.rank);
  }
  return ranks;
}

// One part a rank; nothing: the manifest has none of them.
Buffer encode_parts(const std::optional<GlobalManifest>& manifest, const std::vector<Rank>& ranks) {
  ByteWriter out;
  out.put(manifest.has_value());
  for (const Rank rank : ranks) {
    const bool there = manifest && rank.value < manifest->shards.size();
    const GlobalPart part = there ? part_of(*manifest, rank) : GlobalPart{};
    out.put(part.node.value);
    out.put(encode_entries({part.shard}));
    out.put(part.has_check);
    put(out, part.file);
  }
  return out.take();
}

Result<std::vector<GlobalPart>> decode_parts(Bytes bytes) {
  ByteReader in(bytes);
  std::vector<GlobalPart> parts;
  if (!in.get<bool>()) return parts;
  while (in.good() && in.remaining() > 0) {
    GlobalPart part;
    part.node.value = in.get<std::uint32_t>();
    auto entries = decode_entries(in.get_bytes(kEntryBytes));
    if (!entries) return fail(entries.error());
    part.shard = entries->front();
    part.has_check = in.get<bool>();
    part.file = get_file(in);
    parts.push_back(part);
  }
  return parts;
}

}  // namespace

Result<NodeReport> decode_report(Bytes bytes, NodeId node) {
  ByteReader in(bytes);
  NodeReport report;
  report.file = get_file(in);
  const auto count = in.get<std::uint32_t>();
  auto shards = decode_entries(in.get_bytes(count * kEntryBytes));
  if (!shards) return fail(shards.error());
  report.shards = std::move(*shards);
  for (std::size_t i = 0; i < report.shards.size(); ++i) {
    ShardHeader header;
    header.regions = in.get<std::uint32_t>();
    header.data_offset = in.get<std::uint64_t>();
    header.data_bytes = in.get<std::uint64_t>();
    header.table_crc = in.get<std::uint32_t>();
    header.table_bytes = in.get<std::uint64_t>();
    auto table = decode_region_table(in.get_bytes(header.table_bytes), header);
    if (!table || !in.good()) {
      return fail_internal(Code::communication,
                           "node " + std::to_string(node.value) + " sent a damaged list of regions");
    }
    report.headers.push_back(header);
    report.tables.push_back(std::move(table->regions));
  }
  auto notes = decode_notes(in.get_bytes(in.remaining()));
  if (!notes) return fail(notes.error());
  report.notes = std::move(*notes);
  return report;
}

Result<std::vector<Buffer>> gather_reports(Comm& heads, const NodeReport& mine) {
  constexpr Tag kSize{1};
  constexpr Tag kReport{2};
  const Buffer report = encode(mine);
  std::vector<Buffer> reports;
  if (heads.rank().value != 0) {
    const std::uint64_t size = report.size();
    if (auto status = heads.send(Peer{0}, kSize, std::as_bytes(std::span(&size, 1))); !status)
      return fail(status.error());
    if (auto status = heads.send(Peer{0}, kReport, report); !status) return fail(status.error());
    return reports;
  }
  reports.push_back(report);
  for (std::uint32_t i = 1; i < heads.size(); ++i) {
    std::uint64_t size = 0;
    if (auto status = heads.recv(Peer{i}, kSize, std::as_writable_bytes(std::span(&size, 1))); !status)
      return fail(status.error());
    reports.emplace_back(size);
    if (auto status = heads.recv(Peer{i}, kReport, reports.back()); !status) return fail(status.error());
  }
  return reports;
}

Result<std::vector<GlobalPart>> share_parts(Comm& heads, const RestoreTask& task,
                                            const std::function<std::optional<GlobalManifest>()>& read) {
  constexpr Tag kParts{3};
  const std::vector<Rank> mine = ranks_for(task, heads.rank());
  if (heads.rank().value != 0) {
    if (mine.empty()) return std::vector<GlobalPart>{};
    Buffer bytes(sizeof(bool) + mine.size() * kPartBytes);
    if (auto status = heads.recv(Peer{0}, kParts, bytes); !status) return fail(status.error());
    return decode_parts(bytes);
  }
  const std::optional<GlobalManifest> manifest = read();
  for (std::uint32_t head = 1; head < heads.size(); ++head) {
    const std::vector<Rank> ranks = ranks_for(task, Peer{head});
    if (ranks.empty()) continue;
    if (auto status = heads.send(Peer{head}, kParts, encode_parts(manifest, ranks)); !status)
      return fail(status.error());
  }
  return decode_parts(encode_parts(manifest, mine));
}

}  // namespace cairn
