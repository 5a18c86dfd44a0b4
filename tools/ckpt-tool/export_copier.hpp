// Copies the regions of a snapshot into the arrays of an export.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "exports.hpp"
#include "inspect/snapshot_reader.hpp"
#include "progress_bar.hpp"

namespace ckpt_tool {

// Where the bytes of an array go: all of it, from begin() to end().
struct Sink {
  std::function<cairn::Result<cairn::MutableBytes>(const Export&)> begin;
  std::function<cairn::Status(const Export&)> end;
};

// Rank by rank, so that each shard is opened once. Refers to the reader and the exports.
class Copier {
 public:
  Copier(cairn::SnapshotReader& reader, const std::vector<Export>& exports);
  ~Copier() { bar_.clear(); }
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  [[nodiscard]] cairn::Status run(const Sink& sink);

 private:
  [[nodiscard]] cairn::Status copy(const Export& one, const ExportPart& part, cairn::MutableBytes into);

  cairn::SnapshotReader& reader_;
  std::map<cairn::Rank, std::vector<std::pair<const Export*, const ExportPart*>>> by_rank_;
  ProgressBar bar_;
  std::function<void(std::uint64_t, std::uint64_t)> progress_;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace ckpt_tool
