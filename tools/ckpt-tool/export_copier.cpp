#include "export_copier.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "reshape/local_array.hpp"

namespace ckpt_tool {
namespace {

using cairn::Bytes;
using cairn::MutableBytes;
using cairn::RegionInfo;
using cairn::Status;

// As HDF5 does where a file of a virtual dataset is missing.
void fill_with_nothing(const RegionInfo& info, MutableBytes into) {
  const auto fill = [&](auto nothing) {
    const Bytes bytes = std::as_bytes(std::span(&nothing, 1));
    for (std::size_t at = 0; at < into.size(); at += bytes.size())
      cairn::copy_bytes(bytes, into.subspan(at, bytes.size()));
  };
  if (info.type == cairn::ElementType::float64) fill(std::numeric_limits<double>::quiet_NaN());
  if (info.type == cairn::ElementType::float32) fill(std::numeric_limits<float>::quiet_NaN());
}

cairn::reshape::Box box_of(const std::vector<std::uint64_t>& start, const std::vector<std::uint64_t>& extent) {
  return {{start.begin(), start.end()}, extent};
}

// The region as a box of the array. It is larger than its part of it where it has ghosts.
cairn::reshape::Box region_in_array(const ExportPart& part) {
  cairn::reshape::Box box = box_of(part.there.start, part.info.shape.empty() ? part.there.extent : part.info.shape);
  for (std::size_t d = 0; d < box.first.size(); ++d) box.first[d] -= static_cast<std::int64_t>(part.there.inner[d]);
  return box;
}

}  // namespace

Copier::Copier(cairn::SnapshotReader& reader, const std::vector<Export>& exports) : reader_(reader) {
  for (const Export& one : exports) {
    for (const ExportPart& part : one.parts) {
      by_rank_[part.rank].emplace_back(&one, &part);
      total_ += part.elements() * part.info.element_bytes;
    }
  }
  progress_ = bar_.follow();
}

Status Copier::run(const Sink& sink) {
  std::map<const Export*, MutableBytes> open;
  for (const auto& [rank, parts] : by_rank_) {
    for (const auto& [one, part] : parts) {
      if (!open.contains(one)) {
        const auto bytes = sink.begin(*one);
        if (!bytes) return cairn::fail(bytes.error());
        if (one->has_gaps) fill_with_nothing(one->info, *bytes);
        open.emplace(one, *bytes);
      }
      if (auto status = copy(*one, *part, open[one]); !status) return status;
      if (part != &one->parts.back()) continue;
      open.erase(one);
      if (auto status = sink.end(*one); !status) return status;
    }
  }
  return {};
}

Status Copier::copy(const Export& one, const ExportPart& part, MutableBytes into) {
  using cairn::reshape::LocalArray;
  constexpr std::uint64_t kPieceBytes = 16 * cairn::kMiB;
  const std::uint64_t element = one.info.element_bytes;
  const LocalArray array{cairn::reshape::whole(one.info.shape), element};
  const LocalArray region{region_in_array(part), element};
  const auto read = [&](std::span<const cairn::reshape::Run> runs) {
    return reader_.read(part.rank, part.info.name, runs);
  };
  const auto wanted = box_of(part.there.start, part.there.extent);
  if (wanted.empty()) return {};
  for (const auto& piece : pieces(wanted, std::max<std::uint64_t>(kPieceBytes / element, 1))) {
    if (auto status = read_part(region, read, array, into, piece); !status) return status;
    done_ += piece.elements() * element;
    if (progress_) progress_(done_, total_);
  }
  return {};
}

}  // namespace ckpt_tool
