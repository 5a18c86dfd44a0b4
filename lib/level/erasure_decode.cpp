#include "level/erasure_decode.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "codec/reed_solomon.hpp"
#include "format/parity_file.hpp"
#include "level/erasure_blame.hpp"
#include "level/erasure_group.hpp"
#include "level/exchange.hpp"
#include "level/volume.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// The length that a parity file must have in this node's store, if it is the one that the manifest names.
std::uint64_t parity_bytes(const RestoreTask& task, const ParityHeader& wanted) {
  const Holding* holding = task.manifest != nullptr ? task.manifest->find(wanted.layout) : nullptr;
  if (holding != nullptr && holding->erasure) {
    for (const ParityEntry& parity : holding->erasure->parity) {
      const bool named = parity.column == wanted.column && parity.row == wanted.row;
      if (named && parity.bytes == wanted.file_bytes()) return parity.bytes;
    }
  }
  return wanted.crc_offset();
}

// The files behind a piece, in this node's store.
std::vector<VolumeFile> piece_files(const NodeContext& node, const RestoreTask& task, const GroupCode& code,
                                    const Piece& piece, std::uint32_t column, LayoutId layout,
                                    const GroupTables& tables) {
  const DirName dir = node.dir(task.snapshot);
  if (piece.row >= code.shape.data()) {
    const ParityHeader wanted{task.snapshot, layout, column, piece.row - code.shape.data(), tables.chunk_bytes};
    return {{names::parity(dir, {column, wanted.row, layout}), parity_bytes(task, wanted)}};
  }
  const std::uint32_t member = code.shape.data_holder(column, piece.row);
  if (!piece.copies) return shard_files(dir, tables.members[member]);
  std::vector<VolumeFile> files;
  for (const ShardEntry& shard : tables.members[member]) {
    files.push_back({names::copy(dir, {code.members[member], shard.rank, layout}), shard.bytes});
  }
  return files;
}

// A shard being put together from several chunks.
struct Sink {
  std::unique_ptr<Writer> writer;  // null: could not be made, and what arrives is dropped
  std::uint64_t bytes = 0;

  // Decodes straight into the mapped file, if the store maps.
  [[nodiscard]] Status decode(const Combination& row, std::span<const Bytes> inputs, std::uint64_t at) const {
    if (!writer) return {};
    const std::uint64_t length = inputs.front().size();
    const MutableBytes mapping = writer->mapping();
    if (!mapping.empty()) {
      row.apply(inputs, mapping.subspan(at, length));
      return {};
    }
    Buffer slice(length);
    row.apply(inputs, slice);
    return writer->write(at, slice);
  }
};

// One delivery: where its shard lies in the owner's volume.
struct Span {
  std::uint32_t owner_index = 0;
  std::uint64_t begin = 0;
  ShardEntry shard;
};

std::optional<Span> find_span(const GroupCode& code, const Delivery& delivery, const GroupTables& tables) {
  Span span;
  span.owner_index = code.layout.place_in_group(decode_of(delivery).owner).index;
  if (span.owner_index >= tables.members.size()) return {};
  for (const ShardEntry& shard : tables.members[span.owner_index]) {
    span.shard = shard;
    if (shard.rank == delivery.rank) return span;
    span.begin += shard.bytes;
  }
  return {};
}

// Builds the streams of all deliveries that touch this node.
class Decoder {
 public:
  Decoder(const NodeContext& node, const RestoreTask& task, const Tables& tables)
      : node_(node), task_(task), tables_(tables) {}

  // Every head has the same tables, so all of them leave out the same deliveries.
  Status add(std::size_t index) {
    const Delivery& delivery = task_.deliveries[index];
    const DecodedShard& decode = decode_of(delivery);
    const GroupCode code(task_, decode);
    const auto found = tables_.find({decode.layout, code.group(decode)});
    const auto span = found == tables_.end() ? std::nullopt : find_span(code, delivery, found->second);
    if (!span) {
      const auto tables = suspect_tables(node_, task_, delivery);
      strikes_.insert(strikes_.end(), tables.begin(), tables.end());
      return {};
    }
    const GroupTables& tables = found->second;

    std::shared_ptr<Sink> sink;
    Status created;
    if (delivery.to.value == node_.me.value) {
      sink = std::make_shared<Sink>();
      sink->bytes = span->shard.bytes;
      auto writer = node_.local->create(task_.home(node_, delivery), sink->bytes, names::owner_rank(delivery.rank));
      if (writer)
        sink->writer = std::move(*writer);
      else
        created = fail(writer.error());
      sinks_.emplace_back(index, span->shard, sink);
    }
    for (std::uint32_t t = 0; t < decode.chunks.size(); ++t) {
      const std::uint64_t lo = std::max(span->begin, t * tables.chunk_bytes);
      const std::uint64_t hi = std::min(span->begin + span->shard.bytes, (t + 1) * tables.chunk_bytes);
      if (lo >= hi) continue;
      if (auto status = add_chunk(code, delivery, tables, *span, t, lo, hi, sink); !status) return status;
    }
    return created;
  }

  [[nodiscard]] Result<RestoreOutcome> run(Comm& heads);

 private:
  Status add_chunk(const GroupCode& code, const Delivery& delivery, const GroupTables& tables, const Span& span,
                   std::uint32_t t, std::uint64_t lo, std::uint64_t hi, const std::shared_ptr<Sink>& sink) {
    const std::uint32_t column = code.shape.column_of_chunk(span.owner_index, t);
    const std::uint64_t in_chunk = lo - t * tables.chunk_bytes;
    Incoming stream{order_, {}, hi - lo, {}};
    std::vector<std::uint32_t> have;
    Volumes volumes;
    for (const Piece& piece : decode_of(delivery).chunks[t]) {
      const Tag tag = stream_tag(next_tag_++);
      const bool mine = piece.holder.value == node_.me.value;
      Incoming::Input input{piece.holder, tag, {}};
      if (mine) {
        const LocalInput local = local_input(code, piece, column, decode_of(delivery).layout, tables, in_chunk);
        if (sink) {
          input = {{}, tag, local.read};
        } else {
          outgoing_.push_back({order_, delivery.to, tag, hi - lo, local.read});
          senders_.emplace_back(&delivery, local.volume);
        }
        volumes.push_back(local.volume);
      } else {
        volumes.push_back(nullptr);
      }
      stream.inputs.push_back(std::move(input));
      have.push_back(piece.row);
    }
    ++order_;
    if (!sink) return {};

    auto rs = ReedSolomon::create(code.shape.data(), code.shape.m);
    if (!rs) return fail(rs.error());
    // The sources send whatever happens here, so the stream must carry the failure to its end.
    auto row = rs->decode_row(code.shape.data_row(span.owner_index, column), have);
    const std::uint64_t at = lo - span.begin;
    stream.consume = [sink, at, code_row = std::move(row)](std::uint64_t offset, std::span<const Bytes> in) -> Status {
      if (!code_row) return fail(code_row.error());
      return sink->decode(*code_row, in, at + offset);
    };
    incoming_.push_back(std::move(stream));
    receivers_.push_back(std::move(volumes));
    sink_of_stream_.push_back(sinks_.size() - 1);
    return {};
  }

  // An input in this node's store.
  struct LocalInput {
    std::shared_ptr<VolumeReader> volume;
    ReadAt read;
  };
  using Volumes = std::vector<std::shared_ptr<VolumeReader>>;

  LocalInput local_input(const GroupCode& code, const Piece& piece, std::uint32_t column, LayoutId layout,
                         const GroupTables& tables, std::uint64_t in_chunk) const {
    auto volume =
        std::make_shared<VolumeReader>(*node_.local, piece_files(node_, task_, code, piece, column, layout, tables));
    std::uint64_t start = kParityHeaderBytes + in_chunk;
    if (piece.row < code.shape.data()) {
      const std::uint32_t member = code.shape.data_holder(column, piece.row);
      start = code.shape.chunk_in_column(member, column) * tables.chunk_bytes + in_chunk;
    }
    return {volume, [volume, start](std::uint64_t offset, std::uint64_t length, Buffer& scratch) {
              return volume->read(start + offset, length, scratch);
            }};
  }

  struct Target {
    Target(std::size_t i, ShardEntry s, std::shared_ptr<Sink> k) : delivery(i), shard(s), sink(std::move(k)) {}
    std::size_t delivery;
    ShardEntry shard;
    std::shared_ptr<Sink> sink;
  };

  const NodeContext& node_;
  const RestoreTask& task_;
  const Tables& tables_;
  std::uint64_t order_ = 0;
  std::uint32_t next_tag_ = 0;
  std::vector<Outgoing> outgoing_;
  std::vector<std::pair<const Delivery*, std::shared_ptr<VolumeReader>>> senders_;  // of outgoing_
  std::vector<Incoming> incoming_;
  std::vector<Volumes> receivers_;  // of incoming_, by input; null: it comes from elsewhere
  std::vector<Target> sinks_;
  std::vector<std::size_t> sink_of_stream_;
  std::vector<Strike> strikes_;
};

Result<RestoreOutcome> Decoder::run(Comm& heads) {
  if (auto status = exchange(heads, outgoing_, incoming_, node_.between, node_.symptoms); !status)
    return fail(status.error());
  RestoreOutcome outcome;
  outcome.strikes = std::move(strikes_);
  // Wrong tables can make a good file look missing or of another length, so the files are checked first.
  const auto strike = [&](const Delivery& delivery, const VolumeReader& volume, const Error& error) {
    std::vector<Strike> bad;
    if (error.code == Code::corrupt || error.code == Code::not_found) {
      bad = bad_inputs(node_, task_, delivery);
      if (bad.empty()) bad = suspect_tables(node_, task_, delivery);
    } else if (volume.bad_file()) {
      bad.push_back({StoreId::node(node_.me.value), volume.bad_file()->path});
    }
    outcome.strikes.insert(outcome.strikes.end(), bad.begin(), bad.end());
  };
  for (std::size_t i = 0; i < outgoing_.size(); ++i) {
    if (!outgoing_[i].status) strike(*senders_[i].first, *senders_[i].second, outgoing_[i].status.error());
  }
  std::vector<bool> whole(sinks_.size(), true);
  for (std::size_t i = 0; i < incoming_.size(); ++i) {
    const Status& status = incoming_[i].status;
    if (status) continue;
    if (!incoming_[i].bad_input) return fail(status.error());
    whole[sink_of_stream_[i]] = false;
    strike(task_.deliveries[sinks_[sink_of_stream_[i]].delivery], *receivers_[i][*incoming_[i].bad_input],
           status.error());
  }
  for (std::size_t s = 0; s < sinks_.size(); ++s) {
    if (!whole[s] || !sinks_[s].sink->writer) continue;
    PendingFile file{std::move(sinks_[s].sink->writer), sinks_[s].shard.bytes};
    outcome.arrived.push_back({sinks_[s].shard, sinks_[s].delivery, std::move(file)});
  }
  return outcome;
}

}  // namespace

Result<RestoreOutcome> decode_deliveries(Comm& heads, const NodeContext& node, const RestoreTask& task) {
  auto tables = share_tables(heads, node, task);
  if (!tables) return fail(tables.error());
  Decoder decoder(node, task, *tables);
  Status created;
  for (std::size_t i = 0; i < task.deliveries.size(); ++i) {
    if (auto status = decoder.add(i); !status && created) created = status;
  }
  auto outcome = decoder.run(heads);
  if (!created) return fail(created.error());
  return outcome;
}

}  // namespace cairn
