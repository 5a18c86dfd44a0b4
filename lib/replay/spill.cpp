#include "replay/spill.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace cairn::replay {
namespace {

constexpr std::uint64_t kMostTail = 256 * kKiB;

std::uint64_t tail_of(std::uint64_t most_bytes) { return std::min(most_bytes / 64, kMostTail); }

// So a cut leaves at most about a sixteenth of the room to what is not needed any more.
constexpr std::uint64_t kFiles = 16;
constexpr std::uint64_t kLeastFile = kMiB;

}  // namespace

void Spill::uses(std::uint64_t most_bytes, Open open) {
  most_bytes_ = most_bytes;
  open_ = std::move(open);
}

Result<std::uint64_t> Spill::append(std::uint64_t epoch, Bytes payload) {
  if (payload.size() > most_bytes_ - std::min(bytes_, most_bytes_))
    return fail(Code::no_space, fmt::format("{} of {} bytes are taken", bytes_, most_bytes_));
  const bool is_full = files_.empty() || files_.back().bytes >= std::max(most_bytes_ / kFiles, kLeastFile);
  if (is_full)
    if (auto opened = open_next(); !opened) return fail(opened.error());
  if (tail_.size() + payload.size() > tail_of(most_bytes_))
    if (auto written = write_tail(); !written) return fail(written.error());
  File& file = files_.back();
  if (payload.size() > tail_of(most_bytes_)) {
    if (auto written = file.writer->write(file.bytes, payload); !written) return fail(written.error());
  } else {
    tail_.insert(tail_.end(), payload.begin(), payload.end());
  }
  const std::uint64_t place = file.begin + file.bytes;
  file.bytes += payload.size();
  file.last_epoch = epoch;
  bytes_ += payload.size();
  return place;
}

Status Spill::open_next() {
  if (auto written = write_tail(); !written) return written;
  auto writer = open_();
  if (!writer) return fail(writer.error());
  const std::uint64_t begin = files_.empty() ? 0 : files_.back().begin + files_.back().bytes;
  files_.push_back({.writer = std::move(*writer), .begin = begin});
  return {};
}

Status Spill::write_tail() {
  if (tail_.empty()) return {};
  File& file = files_.back();
  auto written = file.writer->write(file.bytes - tail_.size(), tail_);
  if (written) tail_.clear();
  return written;
}

Status Spill::read(std::uint64_t place, MutableBytes into) const {
  const auto after = std::ranges::upper_bound(files_, place, {}, &File::begin);
  const File& file = *std::prev(after);
  const std::uint64_t offset = place - file.begin;
  const std::uint64_t written = after == files_.end() ? file.bytes - tail_.size() : file.bytes;
  if (offset < written) return file.writer->read(offset, into);
  copy_bytes(Bytes(tail_).subspan(offset - written, into.size()), into);
  return {};
}

void Spill::cut(std::uint64_t epoch) {
  while (!files_.empty() && files_.front().last_epoch < epoch) {
    bytes_ -= files_.front().bytes;
    if (files_.size() == 1) tail_.clear();
    files_.pop_front();
  }
}

}  // namespace cairn::replay
