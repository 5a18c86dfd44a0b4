#include "format/hdf5/hdf5_array_file.hpp"

#include <fmt/format.h>

#include "format/hdf5/hdf5_data.hpp"

namespace cairn {
namespace {

using hdf5::Handle;

Error no_hdf5(const std::string& path, const std::string& what) {
  return {Code::io, fmt::format("{}: HDF5 cannot make {}", path, what), "use a directory that is writable"};
}

Handle with_groups() {
  Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links.get(), 1);
  H5Pset_char_encoding(links.get(), H5T_CSET_UTF8);
  return links;
}

// Allocated at once and never filled, so that its place is known.
std::optional<std::uint64_t> make_dataset(hid_t file, const ArrayDataset& dataset) {
  const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_layout(properties.get(), H5D_CONTIGUOUS);
  H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER);
  const Handle links = with_groups();
  const Handle type = hdf5::element_type(dataset.info);
  const Handle space = hdf5::space_of(dataset.info.shape);
  const Handle made(
      H5Dcreate2(file, dataset.path.c_str(), type.get(), space.get(), links.get(), properties.get(), H5P_DEFAULT),
      H5Dclose);
  if (!made.good() || !hdf5::put_type_name(made.get(), dataset.info.type_name)) return {};
  if (dataset.info.size_bytes() == 0) return 0;
  const haddr_t offset = H5Dget_offset(made.get());
  return offset == HADDR_UNDEF ? std::nullopt : std::optional<std::uint64_t>(offset);
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
    const auto place = make_dataset(file.get(), dataset);
    if (!place) return fail(no_hdf5(path, dataset.path));
    places.push_back(*place);
  }
  if (!file.reset()) return fail(no_hdf5(path, "the end of the file"));
  return places;
}

}  // namespace cairn
