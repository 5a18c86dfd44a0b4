#include "door/veloc/job.hpp"

#include <utility>

#include <fmt/format.h>

namespace cairn::door {
namespace {

constexpr const char* kVersions = "versions";  // the region that has the history

// Only digits would be one of Cairn's versions.
std::string label_of(int version) { return fmt::format("v{}", version); }

}  // namespace

std::string region_of(int id) { return fmt::format("id{}", id); }

Job::Job(const Meeting& meeting, std::string name, const std::string& config, std::size_t most_versions)
    : name_(std::move(name)), most_versions_(most_versions), session_(Session::open(meeting.comm(), config)) {
  if (!session_ || session_->size() != static_cast<std::uint32_t>(meeting.size())) {
    if (session_) session_->finalize();
    throw Exception(ErrorKind::config,
                    "heads are among the ranks of the communicator that the program gave to VELOC_Init: start the job "
                    "with ckpt-run, or set mode = sync");
  }
  session_->protect(kVersions, table_);
  learn_history();
}

void Job::learn_history() {
  table_.clear();
  const RestoreReport report = session_->restore(kVersions);
  branch_ = History::decode(table_);
  branch_.number_last(report.version);
  history_ = branch_;
}

// Regions of the last call that are the same stay as they are: otherwise their plan would be made again.
void Job::protect(const Content& content) {
  std::map<std::string, Piece> now;
  for (const Piece& piece : content.pieces) {
    if (piece.bytes > 0) now.emplace(region_of(piece.id), piece);
  }
  for (const auto& [name, piece] : protected_) {
    if (!now.contains(name)) session_->unprotect(name);
  }
  for (const auto& [name, piece] : now) {
    const auto known = protected_.find(name);
    if (known != protected_.end() && known->second == piece) continue;
    session_->protect_raw(name, piece.data, Element::uint8, 1, "", {piece.bytes});
  }
  protected_ = std::move(now);
  if (file_ == content.file) return;
  if (content.file.empty())
    session_->unprotect(kFileRegion);
  else
    session_->protect_file(kFileRegion, content.file);
  file_ = content.file;
}

void Job::take(int version, const Content& content) {
  StoredVersion taken{.version = version, .snapshot = 0, .has_file = !content.file.empty(), .memory = {}};
  for (const Piece& piece : content.pieces) taken.memory.push_back({piece.id, piece.bytes});
  branch_.add(std::move(taken), most_versions_);
  history_ = branch_;
  table_ = branch_.encode();
  protect(content);
  session_->label(label_of(version));
  newest_ = session_->snapshot(LevelId::local);
  branch_.number_last(newest_);
  history_.number_last(newest_);
}

// By Cairn's number: another branch may have a snapshot of this version, too.
OpenSnapshot Job::open(int version) {
  const StoredVersion* const stored = history_.find(version);
  try {
    if (stored == nullptr || stored->snapshot == 0)
      throw Exception(ErrorKind::unrecoverable, fmt::format("version {} was not taken", version));
    return session_->open_snapshot(stored->snapshot);
  } catch (const Exception&) {
    history_.drop(version);
    throw;
  }
}

void Job::continue_from(const OpenSnapshot& open) {
  branch_ = History::decode(open.read<std::int64_t>(kVersions));
  branch_.number_last(open.version());
}

// A session would return the error of its newest snapshot each time, so that a program could take no other.
void Job::wait() {
  if (newest_ == reported_) return;
  try {
    for (const LevelId level : {LevelId::local, LevelId::partner, LevelId::erasure, LevelId::global})
      session_->wait(level);
  } catch (const Exception&) {
    reported_ = newest_;
    throw;
  }
}

void Job::finalize() { session_->finalize(); }

bool Job::has_reached(LevelId level) { return session_->safe_version(level) >= newest_; }

}  // namespace cairn::door
