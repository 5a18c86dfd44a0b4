#include "format/hdf5/hdf5_check.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "format/hdf5/hdf5_data.hpp"
#include "format/hdf5/hdf5_file.hpp"
#include "format/shard_codec.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

using hdf5::File;
using hdf5::Handle;

std::string last_component(const std::string& path) { return path.substr(path.rfind('/') + 1); }

template <class T>
Result<T> read_attribute(const File& file, const Handle& group, const char* name, const Handle& type) {
  T value{};
  const Handle attribute(H5Aopen(group.get(), name, H5P_DEFAULT), H5Aclose);
  const Handle space(attribute.good() ? H5Aget_space(attribute.get()) : -1, H5Sclose);
  if (!space.good() || H5Sget_simple_extent_npoints(space.get()) != 1 ||
      H5Aread(attribute.get(), type.get(), &value) < 0) {
    return file.error(fmt::format("reading the attribute {} of /cairn", name));
  }
  return value;
}

Status check_identity(const File& file, const Identity& expected) {
  const Handle group(H5Gopen2(file.id(), std::string(hdf5::kCairnGroup).c_str(), H5P_DEFAULT), H5Gclose);
  if (!group.good()) return file.error("opening /cairn");
  const Handle number(H5Tcopy(H5T_NATIVE_UINT32), H5Tclose);
  const Handle text(H5Tcopy(H5T_C_S1), H5Tclose);
  const std::string wanted = names::hex(expected.run);
  std::array<char, 16> run_id{};
  H5Tset_size(text.get(), run_id.size());
  const auto incarnation = read_attribute<std::uint32_t>(file, group, "incarnation", number);
  if (!incarnation) return fail(incarnation.error());
  const auto version = read_attribute<std::uint32_t>(file, group, "version", number);
  if (!version) return fail(version.error());
  const auto run = read_attribute<decltype(run_id)>(file, group, "run_id", text);
  if (!run) return fail(run.error());
  const std::string_view is(run->data(), run->size());
  if (*incarnation == expected.incarnation.value && *version == expected.version.value && is == wanted) return {};
  return fail(Code::corrupt, fmt::format("it is of version {}, incarnation {}, run {}; should be {}, {}, {}", *version,
                                         *incarnation, is, expected.version.value, expected.incarnation.value, wanted));
}

// The file and path that an external link leads to.
Result<std::pair<std::string, std::string>> target_of(const File& file, const std::string& link) {
  constexpr std::size_t kLongest = 64 * kKiB;
  H5L_info_t info{};
  const char* target_file = nullptr;
  const char* target = nullptr;
  if (H5Lget_info(file.id(), link.c_str(), &info, H5P_DEFAULT) < 0) return file.error("looking up " + link);
  if (info.type != H5L_TYPE_EXTERNAL || info.u.val_size == 0 || info.u.val_size > kLongest) {
    return fail(Code::corrupt, link + " is not an external link");
  }
  Buffer value(info.u.val_size);
  if (H5Lget_val(file.id(), link.c_str(), value.data(), value.size(), H5P_DEFAULT) < 0 ||
      H5Lunpack_elink_val(value.data(), value.size(), nullptr, &target_file, &target) < 0) {
    return file.error("reading the link " + link);
  }
  return std::pair<std::string, std::string>(target_file, target);
}

Status check_links(const File& file, const DirName& dir, const std::vector<NodeId>& node_of_rank) {
  for (std::uint32_t rank = 0; rank < node_of_rank.size(); ++rank) {
    const std::string link = "/" + hdf5::group_of(Rank{rank});
    const auto target = target_of(file, link);
    if (!target) return fail(target.error());
    const std::string wanted = last_component(names::node_file(dir, node_of_rank[rank]).path);
    if (target->first == wanted && target->second == link) continue;
    return fail(Code::corrupt, fmt::format("{} points to {} in {}, should point to {} in {}", link, target->second,
                                           target->first, link, wanted));
  }
  return {};
}

Status check_array(const File& file, const std::string& path, const std::set<std::string>& node_files) {
  constexpr std::size_t kLongest = 256;
  const Handle dataset(H5Dopen2(file.id(), path.c_str(), H5P_DEFAULT), H5Dclose);
  const Handle properties(dataset.good() ? H5Dget_create_plist(dataset.get()) : -1, H5Pclose);
  if (!properties.good()) return file.error("opening " + path);
  if (H5Pget_layout(properties.get()) != H5D_VIRTUAL) return {};  // an empty array
  std::size_t parts = 0;
  if (H5Pget_virtual_count(properties.get(), &parts) < 0) return file.error("reading the parts of " + path);
  for (std::size_t i = 0; i < parts; ++i) {
    std::array<char, kLongest> name{};
    if (H5Pget_virtual_filename(properties.get(), i, name.data(), name.size()) < 0) {
      return file.error("reading the parts of " + path);
    }
    if (node_files.contains(name.data())) continue;
    return fail(Code::corrupt, fmt::format("{} has a part in \"{}\", which is not a node file", path, name.data()));
  }
  return {};
}

// HDF5 calls it from C, so no exception may leave it.
herr_t take_name(hid_t /*group*/, const char* name, const H5L_info_t* /*info*/, void* names) noexcept {
  try {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

// The names in a group, sorted. In one pass: to look up the n-th name, HDF5 sorts all names first.
Result<std::vector<std::string>> names_in(const File& file, const std::string& path) {
  std::vector<std::string> names;
  const Handle group(H5Gopen2(file.id(), path.c_str(), H5P_DEFAULT), H5Gclose);
  if (!group.good()) return file.error("opening " + path);
  if (H5Literate(group.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, take_name, &names) < 0) {
    return file.error("listing " + path);
  }
  return names;
}

Status check_arrays(const File& file, const DirName& dir, const std::vector<NodeId>& node_of_rank) {
  std::set<std::string> node_files;
  for (const NodeId node : node_of_rank) node_files.insert(last_component(names::node_file(dir, node).path));
  const std::string path = fmt::format("/{}", hdf5::kArraysGroup);
  const auto arrays = names_in(file, path);
  if (!arrays) return fail(arrays.error());
  for (const std::string& name : *arrays) {
    auto checked = check_array(file, fmt::format("{}/{}", path, name), node_files);
    if (!checked) return checked;
  }
  return {};
}

}  // namespace

Status verify_master_file(const Store& global, const DirName& dir, const Identity& identity,
                          const std::vector<NodeId>& node_of_rank) {
  const hdf5::Quiet quiet;
  const FileName name = names::master_file(dir);
  const auto file = File::open(global, name);
  if (!file) return fail(file.error());
  auto checked =
      check_identity(*file, identity).and_then([&] { return check_links(*file, dir, node_of_rank); }).and_then([&] {
        return check_arrays(*file, dir, node_of_rank);
      });
  return checked ? checked : fail(checked.error().in_file(name.path));
}

bool begins_as_hdf5(const Store& store, const FileName& name) {
  constexpr std::array kSignature = {std::byte{0x89}, std::byte{'H'},  std::byte{'D'},  std::byte{'F'},
                                     std::byte{'\r'}, std::byte{'\n'}, std::byte{0x1a}, std::byte{'\n'}};
  std::array<std::byte, kSignature.size()> bytes{};
  const auto reader = store.open(name);
  return reader && (*reader)->read(0, bytes) && bytes == kSignature;
}

Result<std::vector<RegionInfo>> read_node_regions(const Store& global, const FileName& node_file, Rank rank) {
  const hdf5::Quiet quiet;
  const auto file = File::open(global, node_file);
  if (!file) return fail(file.error());
  auto bytes = hdf5::read_frame(*file, rank);
  if (!bytes) return fail(bytes.error().in_file(node_file.path));
  auto frame = ShardFrame::parse(std::move(*bytes));
  if (!frame) return fail(frame.error().in_file(node_file.path));
  std::vector<RegionInfo> regions;
  for (PlacedRegion& region : frame->regions) regions.push_back(std::move(region.info));
  return regions;
}

}  // namespace cairn
