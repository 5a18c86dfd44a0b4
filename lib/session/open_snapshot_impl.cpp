#include "session/open_snapshot_impl.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "format/directory_table.hpp"
#include "session/protected_directory.hpp"
#include "session/region_texts.hpp"
#include "session/session_impl.hpp"

namespace cairn {

// The numbers of both types agree.
static_assert(static_cast<int>(ElementType::opaque) == static_cast<int>(Element::opaque));
static_assert(static_cast<int>(ElementType::float64) == static_cast<int>(Element::float64));

Error closed_snapshot() { return {Code::invalid_argument, "the snapshot is closed", "open_snapshot() opens it again"}; }

OpenSnapshotImpl::OpenSnapshotImpl(SessionImpl& session, const Identity& snapshot, SnapshotNotes notes, Shard shard)
    : session_(&session),
      recoverable_(session.recoverable()),
      snapshot_(snapshot),
      notes_(std::move(notes)),
      shard_(std::move(shard)) {
  for (const auto& [info, offset] : shard_->regions())
    regions_.push_back({info.name, static_cast<Element>(info.type), info.element_bytes, info.type_text(), info.shape,
                        info.elements(), info.size_bytes()});
}

OpenSnapshotImpl::~OpenSnapshotImpl() {
  if (session_ != nullptr) session_->drop(*this);
}

void OpenSnapshotImpl::end(const Error& why) {
  session_ = nullptr;
  closed_ = why;
  shard_.reset();
}

Result<std::size_t> OpenSnapshotImpl::find(const std::string& name) const {
  const auto found = std::ranges::find(regions_, name, &SnapshotRegion::name);
  if (found != regions_.end()) return static_cast<std::size_t>(found - regions_.begin());
  std::vector<std::string> names;
  for (const SnapshotRegion& region : regions_) names.push_back(region.name);
  return fail(Code::invalid_argument, fmt::format("version {} has no region \"{}\" on this rank; it has: {}",
                                                  snapshot_.version.value, name, list_text(names)));
}

Result<std::size_t> OpenSnapshotImpl::read(const std::string& name, MutableBytes into) const {
  const auto region = find(name);
  if (!region) return fail(region.error());
  const std::size_t bytes = regions_[*region].bytes;
  if (bytes > into.size())
    return fail(Code::invalid_argument, fmt::format("region \"{}\" of version {} has {} bytes, but the buffer has {}",
                                                    name, snapshot_.version.value, bytes, into.size()));
  const Shard::Target target{*region, into.first(bytes)};
  if (auto status = shard_->read({&target, 1}); !status) return fail(status.error().in_file(shard_->name()));
  return bytes;
}

Status OpenSnapshotImpl::extract(const std::string& name, const std::string& path) const {
  const auto region = find(name);
  if (!region) return fail(region.error());
  const PlacedRegion& there = shard_->regions()[*region];
  if (!there.info.is_file() && !is_directory(there.info))
    return fail(Code::invalid_argument, fmt::format("region \"{}\" of version {} is {}: it is no file and no directory",
                                                    name, snapshot_.version.value, there.info.type_text()));
  if (path.empty())
    return fail(Code::invalid_argument, fmt::format("region \"{}\" cannot be written: the path is empty", name));
  using detail::PathKind;
  const PathKind kind = is_directory(there.info) ? PathKind::directory : PathKind::file;
  const auto made = make_protected_path(path, kind, session_->rank());
  const auto done = made->prepare(*shard_, there).and_then([&] { return made->put_back(); });
  if (!done) return fail(done.error().in(made->text(name)));
  return {};
}

Result<std::size_t> OpenSnapshotImpl::elements_of(const std::string& name, const RegionInfo& wanted) const {
  const auto region = find(name);
  if (!region) return fail(region.error());
  const RegionInfo& there = shard_->regions()[*region].info;
  if (same_type(there, wanted)) return there.elements();
  return fail(Code::mismatch, fmt::format("region \"{}\" of version {} is {}, and is read as {}", name,
                                          snapshot_.version.value, there.type_text(), wanted.type_text()));
}

Result<bool> OpenSnapshotImpl::close(bool good) {
  SessionImpl& session = *session_;
  auto closed = session.close_snapshot(*this, good);
  end(closed_snapshot());
  return closed;
}

}  // namespace cairn
