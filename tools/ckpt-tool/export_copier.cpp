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

cairn::reshape::Box box_of(const std::vector<std::uint64_t>& start, const std::vector<std::uint64_t>& shape) {
  return {{start.begin(), start.end()}, shape};
}

}  // namespace

Copier::Copier(cairn::SnapshotReader& reader, const std::vector<Export>& exports) : reader_(reader) {
  for (const Export& one : exports) {
    for (const ExportPart& part : one.parts) {
      by_rank_[part.rank].emplace_back(&one, &part);
      total_ += part.info.size_bytes();
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
  const cairn::reshape::LocalArray array{cairn::reshape::whole(one.info.shape), one.info.element_bytes};
  auto shape = part.info.shape;
  if (shape.size() < part.start.size()) shape = {1};  // a scalar is one element
  Status status;
  held_ = {};
  read_ = 0;
  each_run(array, box_of(part.start, shape), [&](std::uint64_t offset, std::uint64_t bytes) {
    if (status) status = take(part, into.subspan(offset, bytes));
  });
  return status;
}

Status Copier::take(const ExportPart& part, MutableBytes into) {
  while (!into.empty()) {
    if (held_.empty()) {
      if (auto status = read_more(part); !status) return status;
    }
    const std::size_t count = std::min(into.size(), held_.size());
    cairn::copy_bytes(held_.first(count), into.first(count));
    held_ = held_.subspan(count);
    into = into.subspan(count);
  }
  return {};
}

Status Copier::read_more(const ExportPart& part) {
  constexpr std::uint64_t kPieceBytes = 16 * cairn::kMiB;
  buffer_.resize(std::min(kPieceBytes, part.info.size_bytes() - read_));
  if (auto status = reader_.read(part.rank, part.info.name, read_, buffer_); !status) return status;
  read_ += buffer_.size();
  done_ += buffer_.size();
  held_ = buffer_;
  if (progress_) progress_(done_, total_);
  return {};
}

}  // namespace ckpt_tool
