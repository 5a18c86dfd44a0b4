// What Cairn's HDF5 files are made of: datasets that are contiguous and allocated early, so that their bytes lie at one
// place that can be written and read without HDF5, and the attributes that say which snapshot they belong to. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <cairn/attribute.hpp>

#include "format/hdf5/hdf5_store.hpp"
#include "format/shard_codec.hpp"

namespace cairn::hdf5 {

inline constexpr std::uint32_t kHdf5Format = 2;
inline constexpr std::string_view kCairnGroup = "cairn";
inline constexpr std::string_view kArraysGroup = "arrays";

// "rank000007": a rank's group, and the name of its frame.
[[nodiscard]] std::string group_of(Rank rank);
// "/rank000007/plate": a region's dataset.
[[nodiscard]] std::string path_of(Rank rank, const RegionInfo& info);

// The type of a region's elements in the file; little-endian whatever the machine. Opaque elements have no tag: with
// one, other programs' types are not theirs, and h5py reads nothing. The attribute "type" names them.
[[nodiscard]] Handle element_type(const RegionInfo& info);
[[nodiscard]] bool put_type_name(hid_t dataset, const std::string& name);  // no attribute for an empty one
// What reads of a dataset give where its bytes are missing: NaN for floating-point elements, else zeros.
void fill_with_nothing(const Handle& properties, const RegionInfo& info);
// Bytes that mean nothing to HDF5, named by `tag`.
[[nodiscard]] Handle opaque_type(std::size_t bytes, const std::string& tag);
[[nodiscard]] Handle space_of(const std::vector<std::uint64_t>& shape);

[[nodiscard]] Result<Handle> create_group(const File& file, const std::string& path);

// Makes a dataset, with its groups, and returns where in the file its bytes go (0 when there are none). Nothing: HDF5
// could not.
[[nodiscard]] std::optional<std::uint64_t> make_dataset(hid_t file, const std::string& path, const Handle& type,
                                                        const std::vector<std::uint64_t>& shape,
                                                        const std::string& type_name);
// The same.
[[nodiscard]] Result<std::uint64_t> create_dataset(const File& file, const std::string& path, const Handle& type,
                                                   const std::vector<std::uint64_t>& shape,
                                                   const std::string& type_name = {});
// The same for a region.
[[nodiscard]] Result<std::uint64_t> create_region(const File& file, const std::string& path, const RegionInfo& info);
// Where the bytes of a region are. Code::corrupt if it does not have this type and shape.
[[nodiscard]] Result<std::uint64_t> find_dataset(const File& file, const std::string& path, const RegionInfo& info);

// A rank's frame: one-dimensional, one opaque byte an element.
[[nodiscard]] Result<std::uint64_t> create_frame(const File& file, Rank rank, std::uint64_t bytes);
[[nodiscard]] Result<Buffer> read_frame(const File& file, Rank rank);
// The same, if it is the frame that the manifest speaks of.
[[nodiscard]] Result<ShardFrame> frame_of(const File& file, const ShardEntry& expected);
// The SHA-256 of each block of a rank's data section, where its frame has none.
[[nodiscard]] Result<std::uint64_t> create_shas(const File& file, Rank rank, std::uint64_t blocks);
[[nodiscard]] Result<Buffer> read_shas(const File& file, Rank rank, std::uint64_t blocks);

// Where a node file's data lies, `places` pairs of offset and length: the table of format/hdf5/node_file_check.
[[nodiscard]] Result<std::uint64_t> create_places(const File& file, std::uint64_t places);

// Makes the group /cairn with those of its attributes that name a snapshot.
[[nodiscard]] bool put_identity(hid_t file, const Identity& identity);
// Writes the attributes of the group /cairn, which must exist.
[[nodiscard]] Status write_attributes(const File& file, const Identity& identity, std::uint64_t safe_point);
// Copies these attributes from another file.
[[nodiscard]] Status copy_attributes(const File& from, const File& to);

// The work of creating or finding a dataset, counted in bytes, in addition to its own bytes.
inline constexpr std::uint64_t kDatasetWork = 16 * kKiB;

// Whether the file has something there.
[[nodiscard]] bool has_object(const File& file, const std::string& path);
// Writes an attribute of a group or dataset; one of this name that is there already stays. A text is UTF-8; bytes that
// are not are escaped.
[[nodiscard]] bool put_value(const File& file, const std::string& path, const std::string& name,
                             const AttributeValue& value);

// Calls `between` every few MiB of work.
class Pacer {
 public:
  explicit Pacer(const std::function<void()>& between) : between_(between) {}
  void did(std::uint64_t bytes);

 private:
  const std::function<void()>& between_;
  std::uint64_t since_ = 0;
};

// Hands `bytes` bytes of a file at `offset` to `take`, in order and in pieces of a few MiB.
[[nodiscard]] Status pump(const Reader& from, std::uint64_t offset, std::uint64_t bytes, Pacer& pacer,
                          const std::function<Status(Bytes)>& take);

}  // namespace cairn::hdf5
