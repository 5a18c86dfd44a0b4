#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "format/hdf5/hdf5_data.hpp"
#include "format/hdf5/hdf5_file.hpp"
#include "format/joined_regions.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

using hdf5::File;
using hdf5::Handle;

// A region on one rank.
struct Part {
  Rank rank;
  NodeId node;
  const RegionInfo* info;
};

// A relative name: node files lie beside the master file, and their directory may be renamed.
std::string file_beside(const DirName& dir, NodeId node) {
  const std::string path = names::node_file(dir, node).path;
  return path.substr(path.rfind('/') + 1);
}

// HDF5 takes "%b" in the name of a virtual dataset's source for a block number.
std::string without_patterns(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '%') out += c;
  }
  return out;
}

// Maps the region's own elements in its node file to where they lie in the array.
bool map_part(const Handle& properties, const Handle& array, const Part& part, const JoinedRegions::Part& there,
              const DirName& dir) {
  const std::vector<hsize_t> start(there.start.begin(), there.start.end());
  const std::vector<hsize_t> count(there.extent.begin(), there.extent.end());
  const std::vector<hsize_t> inner(there.inner.begin(), there.inner.end());
  const Handle source = hdf5::space_of(part.info->shape);
  const std::string path = fmt::format("/{}/{}", hdf5::group_of(part.rank), without_patterns(part.info->name));
  const bool of_scalar = part.info->shape.empty();
  return H5Sselect_hyperslab(array.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0 &&
         (of_scalar ||
          H5Sselect_hyperslab(source.get(), H5S_SELECT_SET, inner.data(), nullptr, count.data(), nullptr) >= 0) &&
         H5Pset_virtual(properties.get(), array.get(), file_beside(dir, part.node).c_str(), path.c_str(),
                        source.get()) >= 0;
}

Status write_array(const File& file, const std::vector<Part>& parts, const JoinedRegions& joined, const DirName& dir) {
  const RegionInfo& first = *parts.front().info;
  const std::string path = fmt::format("/{}/{}", hdf5::kArraysGroup, first.name);
  if (std::ranges::find(joined.shape, 0U) != joined.shape.end()) {
    RegionInfo empty = first;
    empty.shape = joined.shape;
    auto made = hdf5::create_region(file, path, empty);
    return made ? Status() : fail(made.error());
  }

  const Handle type = hdf5::element_type(first);
  const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  hdf5::fill_with_nothing(properties, first);
  const Handle array = hdf5::space_of(joined.shape);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& extent = joined.parts[i].extent;
    const bool empty = std::ranges::find(extent, 0U) != extent.end();
    if (!empty && !map_part(properties, array, parts[i], joined.parts[i], dir)) return file.error("mapping " + path);
  }
  H5Sselect_all(array.get());
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_char_encoding(links.get(), H5T_CSET_UTF8);
  const Handle dataset(
      H5Dcreate2(file.id(), path.c_str(), type.get(), array.get(), links.get(), properties.get(), H5P_DEFAULT),
      H5Dclose);
  if (!dataset.good() || !hdf5::put_type_name(dataset.get(), first.type_name)) return file.error("making " + path);
  return {};
}

// A virtual dataset has each element from one place, so blocks with common elements are joined in rank order.
std::optional<JoinedRegions> join_parts(const std::vector<Part>& parts) {
  std::vector<const RegionInfo*> regions;
  for (const Part& part : parts) regions.push_back(part.info);
  auto joined = join(regions);
  if (joined && joined->placed && have_common_elements(*joined)) return join_in_order(regions);
  return joined;
}

Status write_links(const File& file, const std::vector<RankRegions>& ranks, const DirName& dir) {
  for (const auto& rank : ranks) {
    const std::string path = "/" + hdf5::group_of(rank.rank);
    const std::string node = file_beside(dir, rank.node);
    if (H5Lcreate_external(node.c_str(), path.c_str(), file.id(), path.c_str(), H5P_DEFAULT, H5P_DEFAULT) < 0) {
      return file.error("linking " + path);
    }
  }
  return {};
}

Status write_arrays(const File& file, const std::vector<RankRegions>& ranks, const DirName& dir) {
  std::map<std::string_view, std::vector<Part>> regions;
  for (const auto& rank : ranks) {
    for (const auto& info : rank.regions) regions[info.name].push_back({rank.rank, rank.node, &info});
  }
  for (auto& [name, parts] : regions) {
    std::ranges::sort(parts, {}, &Part::rank);
    const auto joined = join_parts(parts);
    if (!joined) continue;
    if (auto written = write_array(file, parts, *joined, dir); !written) return written;
  }
  return {};
}

// Copied from a node file: the node files exist already, and have the identity of the snapshot.
Status write_identity(const Store& global, const File& file, const std::vector<RankRegions>& ranks,
                      const DirName& dir) {
  if (ranks.empty()) return {};
  auto node_file = File::open(global, names::node_file(dir, ranks.front().node));
  if (!node_file) return fail(node_file.error());
  return hdf5::copy_attributes(*node_file, file);
}

// A region that is no array in /arrays has no place for them.
Status write_notes(const File& file, const SnapshotNotes& notes) {
  const std::string arrays = fmt::format("/{}/", hdf5::kArraysGroup);
  const auto put = [&](const std::string& path, const std::string& name, const AttributeValue& value) -> Status {
    return hdf5::put_value(file, path, name, value) ? Status{} : file.error("writing the attribute " + name);
  };
  for (const Attribute& attribute : notes.attributes) {
    const std::string path = attribute.region.empty() ? "/" : arrays + attribute.region;
    if (attribute.region.find('/') != std::string::npos || !hdf5::has_object(file, path)) continue;
    if (auto status = put(path, attribute.name, attribute.value); !status) return status;
  }
  return notes.label.empty() ? Status{} : put("/", "label", notes.label);
}

}  // namespace

Status write_master_file(Store& global, const DirName& dir, const std::vector<RankRegions>& ranks,
                         const SnapshotNotes& notes) {
  const hdf5::Quiet quiet;
  auto file = File::create(global, names::master_file(dir), kMiB);
  if (!file) return fail(file.error());
  for (const auto& name : {hdf5::kCairnGroup, hdf5::kArraysGroup}) {
    if (auto made = hdf5::create_group(*file, fmt::format("/{}", name)); !made) return fail(made.error());
  }
  auto written = write_identity(global, *file, ranks, dir)
                     .and_then([&] { return write_links(*file, ranks, dir); })
                     .and_then([&] { return write_arrays(*file, ranks, dir); })
                     .and_then([&] { return write_notes(*file, notes); })
                     .and_then([&]() -> Status {
                       auto size = file->finish();
                       return size ? Status() : fail(size.error());
                     });
  return written;
}

}  // namespace cairn
