// The part of an audit that computes parity anew from the data it protects: a digest only shows that a parity file is
// what was written, not that it was right.
#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "codec/reed_solomon.hpp"
#include "format/parity_file.hpp"
#include "inspect/audit.hpp"
#include "level/volume.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

struct NodePart {
  StoreId holder;
  const Holding* holding;
};

// A group of one layout, with what its members' manifests say of it.
struct Group {
  const Layout& layout;
  const std::vector<NodeId>& members;
  ErasureShape shape;
  const ErasureHolding& tables;  // one member's; audit_files.cpp compares them
};

struct ParityFile {
  StoreId holder;
  FileName name;
  std::uint32_t row;
};

class ParityCheck {
 public:
  explicit ParityCheck(const AuditStep& step) : step_(step), dir_(names::snapshot(step.audit.view.identity)) {}

  void run() {
    for (const auto& [id, layout] : step_.survey.inventory.layouts) {
      for (std::uint32_t group = 0; group < layout.groups.size(); ++group) {
        const auto& members = layout.groups[group];
        const auto place = first_with_parity(layout, members);
        if (!place) continue;
        const Group checked{layout, members, layout.shape_of(group), *place->holding->erasure};
        for (std::uint32_t column = 0; column < checked.shape.columns(); ++column) check_column(checked, column);
      }
    }
  }

 private:
  [[nodiscard]] std::optional<NodePart> find_node(const Layout& layout, NodeId node) const {
    for (const StoreId holder : step_.survey.node_stores()) {
      const NodeManifest* manifest = find_manifest(step_.survey, holder, step_.audit.view.identity);
      const Holding* holding = manifest != nullptr ? manifest->find(layout.id()) : nullptr;
      if (holding != nullptr && holding->node == node) return NodePart{holder, holding};
    }
    return {};
  }

  [[nodiscard]] std::optional<NodePart> first_with_parity(const Layout& layout,
                                                          const std::vector<NodeId>& members) const {
    for (const NodeId node : members) {
      const auto place = find_node(layout, node);
      if (place && place->holding->erasure) return place;
    }
    return {};
  }

  [[nodiscard]] bool is_good(StoreId holder, const FileName& file) const {
    return std::ranges::any_of(step_.audit.findings, [&](const Finding& finding) {
      return finding.holder == holder && finding.file == file && finding.state == Finding::State::good;
    });
  }

  // A member's shards in volume order: its own or, where one of them is not good, copies of all of them in one store.
  [[nodiscard]] std::optional<VolumeReader> volume_of(const Group& group, std::uint32_t member) const {
    const NodeId node = group.members[member];
    for (const StoreId holder : step_.survey.node_stores()) {
      for (const bool copies : {false, true}) {
        std::vector<VolumeFile> files;
        for (const ShardEntry& shard : group.tables.members[member]) {
          const FileName name =
              copies ? names::copy(dir_, {node, shard.rank, group.layout.id()}) : names::shard(dir_, shard.rank);
          if (is_good(holder, name)) files.push_back({name, shard.bytes});
        }
        if (files.size() == group.tables.members[member].size())
          return VolumeReader(step_.stores.at(holder), std::move(files));
      }
    }
    return {};
  }

  // Parity files of a column whose bytes are those that were written.
  [[nodiscard]] std::vector<ParityFile> parity_of(const Group& group, std::uint32_t column) const {
    std::vector<ParityFile> files;
    for (std::uint32_t row = 0; row < group.shape.m; ++row) {
      const FileName name = names::parity(dir_, {column, row, group.layout.id()});
      const auto place = find_node(group.layout, group.members[group.shape.parity_holder(column, row)]);
      if (place && is_good(place->holder, name)) files.push_back({place->holder, name, row});
    }
    return files;
  }

  void check_column(const Group& group, std::uint32_t column) {
    const auto parity = parity_of(group, column);
    if (parity.empty()) return;
    std::vector<VolumeReader> volumes;
    for (std::uint32_t row = 0; row < group.shape.data(); ++row) {
      const std::uint32_t member = group.shape.data_holder(column, row);
      auto volume = volume_of(group, member);
      if (!volume) {
        step_.audit.notes.push_back(
            fmt::format("parity of column {} was checked by its digest only: some good shards of node {} are missing",
                        column, group.members[member].value));
        return;
      }
      volumes.push_back(std::move(*volume));
    }
    step_.progress.begin((parity.size() + volumes.size()) * group.tables.chunk_bytes);
    const Status compared = compare(group, column, volumes, parity);
    step_.progress.end();
    // A file that was good a moment ago and cannot be read now has been retired.
    if (!compared)
      step_.audit.notes.push_back(
          fmt::format("parity of column {} was not compared: {}", column, compared.error().text()));
  }

  Status compare(const Group& group, std::uint32_t column, std::vector<VolumeReader>& volumes,
                 const std::vector<ParityFile>& parity) {
    const auto code = ReedSolomon::create(group.shape.data(), group.shape.m);
    if (!code) return fail(code.error());
    std::vector<std::unique_ptr<Reader>> files;
    std::vector<Combination> rows;
    for (const ParityFile& file : parity) {
      auto opened = step_.stores.at(file.holder).open(file.name);
      if (!opened) return fail(opened.error());
      files.push_back(std::move(*opened));
      rows.push_back(code->encode_row(file.row));
    }
    std::vector<Buffer> buffers(volumes.size());
    Buffer computed(kMiB);
    Buffer stored(kMiB);
    std::vector<bool> told(parity.size());
    for (std::uint64_t at = 0; at < group.tables.chunk_bytes; at += kMiB) {
      const std::uint64_t count = std::min(kMiB, group.tables.chunk_bytes - at);
      std::vector<Bytes> inputs;
      for (std::uint32_t row = 0; row < volumes.size(); ++row) {
        const std::uint32_t chunk = group.shape.chunk_in_column(group.shape.data_holder(column, row), column);
        auto slice = volumes[row].read(chunk * group.tables.chunk_bytes + at, count, buffers[row]);
        if (!slice) return fail(slice.error());
        inputs.push_back(*slice);
      }
      for (std::size_t i = 0; i < parity.size(); ++i) {
        const MutableBytes is = MutableBytes(stored).first(count);
        const MutableBytes should = MutableBytes(computed).first(count);
        if (auto read = files[i]->read(kParityHeaderBytes + at, is); !read) return read;
        rows[i].apply(inputs, should);
        if (!told[i] && !std::ranges::equal(is, should)) {
          told[i] = true;
          tell(parity[i], kParityHeaderBytes + at +
                              static_cast<std::uint64_t>(std::ranges::mismatch(is, should).in1 - is.begin()));
        }
      }
      step_.progress.piece((parity.size() + volumes.size()) * count);
    }
    return {};
  }

  void tell(const ParityFile& file, std::uint64_t offset) {
    const auto& id = step_.audit.view.identity;
    const auto manifest =
        read_node_manifest(step_.stores.at(file.holder), names::snapshot(id), step_.stores.sealer_at(file.holder));
    const bool retired = !manifest && manifest.error().code == Code::not_found;
    for (Finding& finding : step_.audit.findings) {
      if (finding.holder != file.holder || finding.file != file.name) continue;
      finding.state = retired ? Finding::State::retired : Finding::State::damaged;
      finding.what =
          retired
              ? "retired while reading"
              : fmt::format("byte {} differs from the parity of the group's shards, but the digest is right", offset);
    }
  }

  const AuditStep& step_;
  DirName dir_;
};

}  // namespace

void AuditStep::parity_data() const { ParityCheck(*this).run(); }

std::uint64_t AuditStep::bytes() const {
  std::uint64_t sum = 0;
  for (const StoreId holder : survey.node_stores()) {
    const NodeManifest* manifest = find_manifest(survey, holder, audit.view.identity);
    if (manifest == nullptr) continue;
    for (const NamedFile& file : stores.levels.files(*manifest)) {
      if (survey.inventory.struck(holder, file.name)) continue;
      sum += file.bytes();
      // Counted once more for the comparison, with its share of the column's data.
      if (file.shard() != nullptr) continue;
      const ErasureHolding& erasure = *file.holding->erasure;
      const auto n = erasure.members.size();
      const auto m = std::max<std::size_t>(1, file.holding->layout.parity);
      sum += erasure.chunk_bytes + erasure.chunk_bytes * (n - m) / m;
    }
  }
  for (const auto& [level, snapshot] : survey.shared_of(audit.view.identity)) {
    for (const ShardEntry& shard : snapshot->shards()) sum += shard.bytes;
  }
  return sum;
}

}  // namespace cairn
