#include "session/protected_directory.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "session/protected_file.hpp"
#include "session/scratch_file.hpp"

namespace cairn {
namespace {

// One call for a file system waits for what other programs have written there, too.
constexpr std::ptrdiff_t kManyFiles = 64;

}  // namespace

// Another tag than that of a file in it that is protected by itself.
ProtectedDirectory::ProtectedDirectory(const std::string& path, Rank self)
    : path_(absolute_path(path)), tag_(tag_of(self) + "d") {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
}

std::string ProtectedDirectory::text(const std::string& region) const {
  return fmt::format("directory \"{}\"", region);
}

Status ProtectedDirectory::open() {
  close();
  auto found = posix::walk(path_);
  if (!found) return fail(found.error());
  found_ = std::move(*found);
  std::vector<DirectoryEntry> entries;
  for (const posix::FoundEntry& entry : found_)
    entries.push_back({entry.path, entry.is_directory, entry.mode, entry.size_bytes});
  head_ = encode(entries);
  size_ = head_.size();
  for (std::size_t i = 0; i < found_.size(); ++i) {
    if (found_[i].size_bytes == 0) continue;
    files_.push_back(i);
    starts_.push_back(size_);
    size_ += found_[i].size_bytes;
  }
  return {};
}

Status ProtectedDirectory::read(std::uint64_t offset, MutableBytes into) {
  while (!into.empty()) {
    std::uint64_t count = 0;
    if (offset < head_.size()) {
      count = std::min<std::uint64_t>(into.size(), head_.size() - offset);
      copy_bytes(Bytes(head_).subspan(offset, count), into);
    } else {
      const auto after = std::ranges::upper_bound(starts_, offset);
      const auto file = static_cast<std::size_t>(after - starts_.begin()) - 1;
      const std::uint64_t end = after == starts_.end() ? size_ : *after;
      count = std::min<std::uint64_t>(into.size(), end - offset);
      if (auto done = read_file(file, offset - starts_[file], into.first(count)); !done) return done;
    }
    offset += count;
    into = into.subspan(count);
  }
  return offset == size_ ? check_same() : Status{};
}

Status ProtectedDirectory::read_file(std::size_t file, std::uint64_t offset, MutableBytes into) {
  const posix::FoundEntry& entry = found_[files_[file]];
  const std::string path = path_of(entry.path);
  if (open_ != file) {
    open_.reset();
    auto opened = posix::UserFile::open(path);
    if (!opened) return fail(opened.error());
    file_ = std::move(*opened);
    open_ = file;
  }
  if (file_->size() != entry.size_bytes) return fail(posix::has_changed(path));
  auto read = file_->read(offset, into);
  return read && offset + into.size() == entry.size_bytes ? file_->check_unchanged() : read;
}

// Nothing has appeared, disappeared or changed since open().
Status ProtectedDirectory::check_same() const {
  const auto now = posix::walk(path_);
  if (!now) return fail(now.error());
  const auto [was, is] = std::ranges::mismatch(found_, *now);
  if (was == found_.end() && is == now->end()) return {};
  return fail(posix::has_changed(path_of(was == found_.end() ? is->path : was->path)));
}

void ProtectedDirectory::close() {
  found_.clear();
  head_.clear();
  files_.clear();
  starts_.clear();
  open_.reset();
  file_.reset();
}

Status ProtectedDirectory::begin(std::uint64_t /*size_bytes*/, const RegionInfo* /*stored*/) {
  close();
  return {};
}

Status ProtectedDirectory::add(Bytes bytes) {
  while (!bytes.empty()) {
    auto added = entries_.empty() ? add_to_head(bytes) : add_to_file(bytes);
    if (!added) return added;
  }
  return {};
}

Status ProtectedDirectory::add_to_head(Bytes& bytes) {
  if (size_ < kDirectoryHeadBytes) return fail(Code::corrupt, "the region is too short for a directory");
  std::uint64_t want = kDirectoryHeadBytes;
  if (head_.size() >= kDirectoryHeadBytes) {
    const auto table = table_bytes_after(Bytes(head_).first(kDirectoryHeadBytes));
    if (!table) return fail(table.error());
    if (*table == 0 || *table > size_ - kDirectoryHeadBytes)
      return fail(Code::corrupt, "the table of the directory is not within the region");
    want += *table;
  }
  const std::uint64_t count = std::min<std::uint64_t>(bytes.size(), want - head_.size());
  head_.insert(head_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
  bytes = bytes.subspan(count);
  return head_.size() == want && want > kDirectoryHeadBytes ? take_table() : Status{};
}

Status ProtectedDirectory::take_table() {
  auto entries = decode_directory_table(Bytes(head_).subspan(kDirectoryHeadBytes));
  if (!entries) return fail(entries.error());
  std::uint64_t sum = head_.size();
  for (const DirectoryEntry& entry : *entries) {
    if (entry.size_bytes > size_ - sum)
      return fail(Code::corrupt, "the files of the directory are longer than the region");
    sum += entry.size_bytes;
  }
  if (sum != size_) return fail(Code::corrupt, "the files of the directory are shorter than the region");
  entries_ = std::move(*entries);
  for (const DirectoryEntry& entry : entries_) {
    if (!entry.is_directory) continue;
    if (auto made = made_.need(path_of(entry.path)); !made) return made;
  }
  const auto files = std::ranges::count(entries_, false, &DirectoryEntry::is_directory);
  if (files >= kManyFiles) sync_ = posix::FileSystemSync::open(path_);
  return next_file();
}

Status ProtectedDirectory::next_file() {
  for (; next_ < entries_.size(); ++next_) {
    const DirectoryEntry& entry = entries_[next_];
    if (entry.is_directory) continue;
    auto begun = posix::FileReplacement::begin(path_of(entry.path), tag_, entry.size_bytes, entry.mode);
    if (!begun) return fail(begun.error());
    replacements_.push_back(std::make_unique<posix::FileReplacement>(std::move(*begun)));
    left_ = entry.size_bytes;
    if (left_ > 0) return {};
    if (auto done = finish_file(); !done) return done;
  }
  return {};
}

Status ProtectedDirectory::finish_file() {
  using Sync = posix::FileReplacement::Sync;
  if (auto done = replacements_.back()->finish(sync_ ? Sync::by_caller : Sync::now); !done) return done;
  // Thousands of files must not need thousands of descriptors.
  replacements_.back()->rest();
  return {};
}

// Something below the directory may be of another file system, which is mounted there.
Status ProtectedDirectory::sync_files() {
  if (!sync_) return {};
  const bool synced = sync_->sync();
  for (const auto& replacement : replacements_) {
    if (synced && replacement->unsynced() == sync_->device()) continue;
    if (auto done = replacement->sync(); !done) return done;
    replacement->rest();
  }
  return {};
}

Status ProtectedDirectory::add_to_file(Bytes& bytes) {
  const Bytes part = bytes.first(std::min<std::uint64_t>(bytes.size(), left_));
  if (part.empty()) return fail(Code::corrupt, "the region is longer than the files of the directory");
  if (auto added = replacements_.back()->add(part); !added) return added;
  bytes = bytes.subspan(part.size());
  left_ -= part.size();
  if (left_ > 0) return {};
  if (auto done = finish_file(); !done) return done;
  ++next_;
  return next_file();
}

Status ProtectedDirectory::finish() {
  if (!entries_.empty() && next_ == entries_.size() && left_ == 0) return sync_files();
  return fail(Code::corrupt, "the region ends before the files of the directory");
}

// Permissions last, those of inner directories first: a directory may then no longer be writable.
Status ProtectedDirectory::apply() {
  for (const auto& replacement : replacements_) {
    if (auto done = replacement->apply(); !done) return done;
    replacement->rest();
  }
  made_.keep();
  for (std::size_t i = entries_.size(); i-- > 0;) {
    const DirectoryEntry& entry = entries_[i];
    if (!entry.is_directory) continue;
    if (auto set = posix::set_permissions(path_of(entry.path), entry.mode); !set) return set;
  }
  return {};
}

void ProtectedDirectory::drop() {
  replacements_.clear();
  made_.undo();
  sync_.reset();
  entries_.clear();
  head_.clear();
  next_ = 0;
  left_ = 0;
}

std::shared_ptr<ProtectedPath> make_protected_path(const std::string& path, detail::PathKind kind, Rank self) {
  switch (kind) {
    case detail::PathKind::file: break;
    case detail::PathKind::directory: return std::make_shared<ProtectedDirectory>(path, self);
    case detail::PathKind::scratch_file: return std::make_shared<ScratchFile>(path, self);
  }
  return std::make_shared<ProtectedFile>(path, self);
}

}  // namespace cairn
