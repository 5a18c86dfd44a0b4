#include "format/hdf5/hdf5_array_file.hpp"

#include <fmt/format.h>

#include "format/hdf5/hdf5_data.hpp"

namespace cairn {
namespace {

using hdf5::Handle;

Error no_hdf5(const std::string& path, const std::string& what) {
  return {Code::io, fmt::format("{}: HDF5 cannot make {}", path, what), "use a directory that is writable"};
}

}  // namespace

Result<std::vector<std::uint64_t>> create_array_file(const std::string& path, const std::vector<ArrayDataset>& datasets,
                                                     const Identity& snapshot) {
  const hdf5::Quiet quiet;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110);
  Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  if (!file.good()) return fail(no_hdf5(path, "the file"));
  if (!hdf5::put_identity(file.get(), snapshot)) return fail(no_hdf5(path, "/cairn"));
  std::vector<std::uint64_t> places;
  for (const ArrayDataset& dataset : datasets) {
    const RegionInfo& info = dataset.info;
    const auto place =
        hdf5::make_dataset(file.get(), dataset.path, hdf5::element_type(info), info.shape, info.type_name);
    if (!place) return fail(no_hdf5(path, dataset.path));
    places.push_back(*place);
  }
  if (!file.reset()) return fail(no_hdf5(path, "the end of the file"));
  return places;
}

}  // namespace cairn
