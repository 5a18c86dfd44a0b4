#include "export_write.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "export_copier.hpp"
#include "format/hdf5/hdf5_array_file.hpp"
#include "npy.hpp"
#include "output_file.hpp"

namespace ckpt_tool {
namespace {

using cairn::Code;
using cairn::MutableBytes;
using cairn::Status;
namespace fs = std::filesystem;

enum class Format : std::uint8_t { hdf5, npy, directory };

Format format_of(const std::string& path) {
  if (path.ends_with(".h5") || path.ends_with(".hdf5")) return Format::hdf5;
  return path.ends_with(".npy") ? Format::npy : Format::directory;
}

// As files of numpy's; `name`: of an array's file.
Status write_npy(Copier& copier, const std::function<std::string(const Export&)>& name) {
  std::map<const Export*, OutputFile> files;
  const auto begin = [&](const Export& one) -> cairn::Result<MutableBytes> {
    const std::string header = npy_header(one.info);
    auto file = OutputFile::open(name(one), header.size() + one.info.size_bytes());
    if (!file) return cairn::fail(file.error());
    cairn::copy_bytes(cairn::bytes_of(header), file->bytes().first(header.size()));
    return files.emplace(&one, std::move(*file)).first->second.bytes().subspan(header.size());
  };
  const auto end = [&](const Export& one) {
    const auto file = files.find(&one);
    const Status status = file->second.commit();
    files.erase(file);
    return status;
  };
  return copier.run({begin, end});
}

Status write_hdf5(Copier& copier, const std::vector<Export>& exports, const std::string& path,
                  const cairn::Identity& snapshot) {
  std::vector<cairn::ArrayDataset> datasets;
  for (const Export& one : exports) datasets.push_back({one.path_in_hdf5(), one.info});
  const auto places = cairn::create_array_file(part_of(path), datasets, snapshot);
  std::error_code error;
  const auto size = places ? fs::file_size(part_of(path), error) : 0;
  auto file = places ? OutputFile::open(path, size, OutputFile::Part::take) : cairn::fail(places.error());
  if (!file) fs::remove(part_of(path), error);
  if (!file) return cairn::fail(file.error());
  const auto begin = [&](const Export& one) -> cairn::Result<MutableBytes> {
    const auto number = static_cast<std::size_t>(&one - exports.data());
    return file->bytes().subspan((*places)[number], one.info.size_bytes());
  };
  const Status status = copier.run({begin, [](const Export&) { return Status{}; }});
  return status ? file->commit() : status;
}

// Into a directory that gets its name at the end.
Status write_directory(Copier& copier, const std::string& path) {
  std::error_code error;
  if (!fs::create_directories(part_of(path), error))
    return cairn::fail(Code::io, fmt::format("{}: cannot make the directory: {}", part_of(path), error.message()));
  Status status = write_npy(copier, [&](const Export& one) { return part_of(path) + "/" + one.file_in_directory(); });
  if (status) fs::rename(part_of(path), path, error);
  if (status && error) status = cairn::fail(Code::io, fmt::format("{}: cannot name it: {}", path, error.message()));
  if (!status) fs::remove_all(part_of(path), error);
  return status;
}

}  // namespace

Status write_exports(cairn::SnapshotReader& reader, const std::vector<Export>& exports, const std::string& path,
                     const cairn::Identity& snapshot) {
  for (const std::string& name : {path, part_of(path)})
    if (auto free = check_is_free(name); !free) return free;
  Copier copier(reader, exports);
  switch (format_of(path)) {
    case Format::hdf5: return write_hdf5(copier, exports, path, snapshot);
    case Format::directory: return write_directory(copier, path);
    case Format::npy: break;
  }
  if (exports.size() == 1) return write_npy(copier, [&](const Export&) { return path; });
  const bool one_region = std::ranges::all_of(exports, [&](const Export& one) { return one.name == exports[0].name; });
  return cairn::fail(Code::invalid_argument,
                     one_region ? fmt::format("{} has one array, but the regions {} of the ranks do not make up one",
                                              path, exports.front().name)
                                : fmt::format("{} has one array, but there are {} regions", path, exports.size()),
                     one_region ? "choose a rank with --rank, or write a directory or an .h5 file"
                                : "name one region, or write a directory or an .h5 file");
}

}  // namespace ckpt_tool
