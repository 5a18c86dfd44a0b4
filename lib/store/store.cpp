#include "store/store.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cairn {
namespace {

Status write_new(Store& store, const FileName& name, Bytes bytes, bool sync) {
  auto writer = store.create(name, bytes.size(), {});
  if (!writer) return fail(writer.error());

  const auto written = (*writer)->write(0, bytes);
  if (!written) return written;
  return (*writer)->commit(bytes.size(), sync);
}

}  // namespace

Result<std::string> Store::directory_of_files(const DirName& /*name*/) {
  return fail(Code::invalid_argument, fmt::format("{} has no directory for files of the application", where()));
}

bool has_entry(const std::vector<Entry>& entries, const FileName& name) {
  const std::string last = name.path.substr(name.path.find('/') + 1);  // all of it where there is no '/'
  return std::ranges::find(entries, last, &Entry::name) != entries.end();
}

Result<Bytes> view(const Reader& from, std::uint64_t offset, std::uint64_t bytes, Buffer& scratch) {
  const Bytes mapping = from.mapping();
  if (!mapping.empty()) return mapping.subspan(offset, bytes);
  scratch.resize(bytes);
  if (auto read = from.read(offset, scratch); !read) return fail(read.error());
  return Bytes(scratch);
}

Result<std::string> read_text(const Store& store, const FileName& name, std::uint64_t most_bytes) {
  auto reader = store.open(name);
  if (!reader) return fail(reader.error());

  const std::uint64_t size = (*reader)->size_bytes();
  if (size > most_bytes) {
    return fail_in_file(Code::corrupt, name.path,
                        fmt::format("it is {} bytes long, should be at most {}", size, most_bytes));
  }

  std::string text(size, '\0');
  const auto read = (*reader)->read(0, std::as_writable_bytes(std::span(text)));
  if (!read) return fail(read.error());
  return text;
}

Status write_text(Store& store, const FileName& name, std::string_view text) {
  return write_new(store, name, bytes_of(text), true);
}

Status write_unsynced(Store& store, const FileName& name, Bytes bytes) { return write_new(store, name, bytes, false); }

}  // namespace cairn
