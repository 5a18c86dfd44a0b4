#include "level/file_transfer.hpp"

#include <memory>

#include "level/exchange.hpp"
#include "level/volume.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// Tells each destination the size and digest of the file that it will get. An entry of zero bytes: the holder does not
// know them.
Result<std::vector<ShardEntry>> announce(Comm& heads, const NodeContext& node, const RestoreTask& task,
                                         RestoreOutcome& outcome) {
  std::vector<ShardEntry> entries(task.deliveries.size());
  std::vector<Buffer> messages(task.deliveries.size());
  std::vector<std::unique_ptr<Request>> requests;
  for (std::size_t i = 0; i < task.deliveries.size(); ++i) {
    const Delivery& delivery = task.deliveries[i];
    const bool holds = delivery.holder()->value == node.me.value;
    const bool needs = delivery.to.value == node.me.value;
    if (holds) {
      entries[i].rank = delivery.rank;
      auto entry = task.manifest != nullptr ? entry_of(*task.manifest, delivery)
                                            : Result<ShardEntry>(fail(Code::not_found, "no manifest"));
      if (entry)
        entries[i] = *entry;
      else
        outcome.strikes.push_back({StoreId::node(node.me.value), delivery.file(node.dir(task.snapshot))->path});
    }
    if (holds == needs) continue;
    messages[i] = holds ? encode_entries({entries[i]}) : Buffer(kEntryBytes);
    requests.push_back(holds ? heads.isend(delivery.to, kEntriesTag, messages[i])
                             : heads.irecv(*delivery.holder(), kEntriesTag, messages[i]));
  }
  for (auto& request : requests) {
    if (auto status = heads.wait(*request); !status) return fail(status.error());
  }
  for (std::size_t i = 0; i < task.deliveries.size(); ++i) {
    if (messages[i].empty() || task.deliveries[i].to.value != node.me.value) continue;
    auto received = decode_entries(messages[i]);
    if (!received) return fail(received.error());
    entries[i] = received->front();
  }
  return entries;
}

}  // namespace

Result<ShardEntry> entry_of(const NodeManifest& manifest, const Delivery& delivery) {
  const auto* copy = std::get_if<CopiedShard>(&delivery.source);
  for (const Holding& holding : manifest.holdings) {
    if (copy == nullptr && holding.own) {
      for (const ShardEntry& shard : *holding.own) {
        if (shard.rank == delivery.rank) return shard;
      }
    }
    if (copy != nullptr && holding.partner && holding.layout.id() == copy->layout) {
      for (const HeldCopies& held : holding.partner->held) {
        for (const ShardEntry& shard : held.shards) {
          if (shard.rank == delivery.rank) return shard;
        }
      }
    }
  }
  const DirName dir = names::snapshot(manifest.identity);
  return fail(Code::not_found, "no manifest names " + delivery.file(dir)->path);
}

Result<RestoreOutcome> transfer_files(Comm& heads, const NodeContext& node, const RestoreTask& task) {
  RestoreOutcome outcome;
  auto entries = announce(heads, node, task, outcome);
  if (!entries) return fail(entries.error());

  const DirName dir = node.dir(task.snapshot);
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  std::vector<std::size_t> sent;
  std::vector<std::size_t> received;
  std::vector<std::shared_ptr<VolumeWriter>> writers;  // of `received`
  for (std::size_t i = 0; i < task.deliveries.size(); ++i) {
    const Delivery& delivery = task.deliveries[i];
    const ShardEntry& entry = (*entries)[i];
    const bool holds = delivery.holder()->value == node.me.value;
    const bool needs = delivery.to.value == node.me.value;
    if ((!holds && !needs) || entry.bytes == 0) continue;
    if (delivery.in_place()) {
      outcome.arrived.push_back({entry, i, {}});
      continue;
    }
    const FileName home = task.home(node, delivery);
    auto reader =
        std::make_shared<VolumeReader>(*node.local, std::vector<VolumeFile>{{*delivery.file(dir), entry.bytes}});
    const ReadAt read = [reader](std::uint64_t offset, std::uint64_t length, Buffer& scratch) {
      return reader->read(offset, length, scratch);
    };
    if (holds && !needs) {
      outgoing.push_back({i, delivery.to, stream_tag(i), entry.bytes, read});
      sent.push_back(i);
    }
    if (needs) {
      auto writer = std::make_shared<VolumeWriter>(*node.local, std::vector<VolumeFile>{{home, entry.bytes}},
                                                   names::owner_rank(delivery.rank));
      Incoming::Input input{{}, stream_tag(i), read};
      if (!holds) input = {delivery.holder(), stream_tag(i), {}};
      incoming.push_back(
          {i,
           {input},
           entry.bytes,
           [writer](std::uint64_t, std::span<const Bytes> in) { return writer->write(in.front()); },
           [writer](std::uint64_t offset, std::uint64_t length) { return writer->place(offset, length); }});
      received.push_back(i);
      writers.push_back(std::move(writer));
    }
  }
  if (auto status = exchange(heads, outgoing, incoming, node.between, node.symptoms); !status)
    return fail(status.error());

  for (std::size_t s = 0; s < sent.size(); ++s) {
    if (!outgoing[s].status)
      outcome.strikes.push_back({StoreId::node(node.me.value), task.deliveries[sent[s]].file(dir)->path});
  }
  for (std::size_t r = 0; r < received.size(); ++r) {
    const std::size_t i = received[r];
    if (incoming[r].bad_input) {
      outcome.strikes.push_back({StoreId::node(node.me.value), task.deliveries[i].file(dir)->path});
      continue;
    }
    if (!incoming[r].status) return fail(incoming[r].status.error());
    outcome.arrived.push_back({(*entries)[i], i, std::move(writers[r]->take().front())});
  }
  return outcome;
}

}  // namespace cairn
