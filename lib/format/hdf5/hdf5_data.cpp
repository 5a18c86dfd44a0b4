#include "format/hdf5/hdf5_data.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/plain_text.hpp"
#include "format/shard_blocks.hpp"

namespace cairn::hdf5 {
namespace {

constexpr std::uint64_t kCopyPieceBytes = 4 * kMiB;
constexpr const char* kFrameTag = "cairn shard frame";
constexpr const char* kShaTag = "SHA-256 of a block";

hid_t number_type(ElementType type) {
  switch (type) {
    case ElementType::opaque: return -1;
    case ElementType::int8: return H5T_STD_I8LE;
    case ElementType::int16: return H5T_STD_I16LE;
    case ElementType::int32: return H5T_STD_I32LE;
    case ElementType::int64: return H5T_STD_I64LE;
    case ElementType::uint8: return H5T_STD_U8LE;
    case ElementType::uint16: return H5T_STD_U16LE;
    case ElementType::uint32: return H5T_STD_U32LE;
    case ElementType::uint64: return H5T_STD_U64LE;
    case ElementType::float32: return H5T_IEEE_F32LE;
    case ElementType::float64: return H5T_IEEE_F64LE;
  }
  return -1;
}

std::string shas_path(Rank rank) { return fmt::format("/{}/{}.sha256", kCairnGroup, group_of(rank)); }
std::string frame_path(Rank rank) { return fmt::format("/{}/{}", kCairnGroup, group_of(rank)); }

// Names may contain any UTF-8.
Handle link_properties() {
  Handle properties(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_char_encoding(properties.get(), H5T_CSET_UTF8);
  return properties;
}

// The dataset at `path`, whose bytes must lie in one place within the file.
struct Found {
  Handle dataset;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

Result<Found> find_bytes(const File& file, const std::string& path) {
  Found found{Handle(H5Dopen2(file.id(), path.c_str(), H5P_DEFAULT), H5Dclose), 0, 0};
  if (!found.dataset.good()) return file.error("opening " + path);
  const Handle properties(H5Dget_create_plist(found.dataset.get()), H5Pclose);
  if (!properties.good()) return file.error("looking at " + path);
  const Handle type(H5Dget_type(found.dataset.get()), H5Tclose);
  const Handle space(H5Dget_space(found.dataset.get()), H5Sclose);
  const hssize_t elements = H5Sget_simple_extent_npoints(space.get());
  if (!type.good() || elements < 0) return file.error("looking at " + path);
  found.bytes = static_cast<std::uint64_t>(elements) * H5Tget_size(type.get());
  if (found.bytes == 0) return found;
  const haddr_t offset = H5Dget_offset(found.dataset.get());
  const std::uint64_t size = file.reader().size_bytes();
  if (H5Pget_layout(properties.get()) != H5D_CONTIGUOUS || offset == HADDR_UNDEF) {
    return fail(Code::corrupt, path + " is not stored contiguously", "restore from the file as Cairn wrote it");
  }
  if (offset > size || found.bytes > size - offset) {
    return fail(Code::corrupt,
                fmt::format("{}: {} bytes at {} are not within the file's {}", path, found.bytes, offset, size));
  }
  found.offset = offset;
  return found;
}

Result<Buffer> read_opaque(const File& file, const std::string& path, const Handle& type) {
  auto found = find_bytes(file, path);
  if (!found) return fail(found.error());
  const Handle is(H5Dget_type(found->dataset.get()), H5Tclose);
  if (H5Tequal(is.get(), type.get()) <= 0)
    return fail(Code::corrupt, path + " has another type than Cairn writes there");
  Buffer bytes(found->bytes);
  if (auto read = file.read(found->offset, bytes); !read) return fail(read.error());
  return bytes;
}

bool same_shape(hid_t dataset, const std::vector<std::uint64_t>& shape) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const int dimensions = H5Sget_simple_extent_ndims(space.get());
  if (dimensions != static_cast<int>(shape.size())) return false;
  std::vector<hsize_t> lengths(shape.size());
  if (!lengths.empty()) H5Sget_simple_extent_dims(space.get(), lengths.data(), nullptr);
  return std::ranges::equal(lengths, shape);
}

bool put_attribute(hid_t group, const char* name, const Handle& type, const void* value) {
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle attribute(H5Acreate2(group, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  return attribute.good() && H5Awrite(attribute.get(), type.get(), value) >= 0;
}

bool put_number(hid_t group, const char* name, std::uint64_t value) {
  const Handle type(H5Tcopy(H5T_STD_U64LE), H5Tclose);
  return put_attribute(group, name, type, &value);
}

bool put_identity_of(hid_t group, const Identity& identity) {
  const Handle text(H5Tcopy(H5T_C_S1), H5Tclose);
  const std::string run = fmt::format("{:016x}", identity.run.value);
  H5Tset_size(text.get(), run.size());
  return put_number(group, "incarnation", identity.incarnation.value) &&
         put_number(group, "version", identity.version.value) && put_attribute(group, "run_id", text, run.data());
}

bool copy_attribute(hid_t from, hid_t to, const char* name) {
  const Handle attribute(H5Aopen(from, name, H5P_DEFAULT), H5Aclose);
  const Handle type(H5Aget_type(attribute.get()), H5Tclose);
  Buffer value(attribute.good() && type.good() ? H5Tget_size(type.get()) : 0);
  return !value.empty() && H5Aread(attribute.get(), type.get(), value.data()) >= 0 &&
         put_attribute(to, name, type, value.data());
}

}  // namespace

std::string group_of(Rank rank) { return fmt::format("rank{:06}", rank.value); }

std::string path_of(Rank rank, const RegionInfo& info) { return fmt::format("/{}/{}", group_of(rank), info.name); }

Handle element_type(const RegionInfo& info) {
  if (info.type == ElementType::opaque) return opaque_type(info.element_bytes, {});
  return {H5Tcopy(number_type(info.type)), H5Tclose};
}

bool put_type_name(hid_t dataset, const std::string& name) {
  if (name.empty()) return true;
  const Handle text(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(text.get(), name.size());
  return put_attribute(dataset, "type", text, name.data());
}

void fill_with_nothing(const Handle& properties, const RegionInfo& info) {
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  if (info.type == ElementType::float32 || info.type == ElementType::float64)
    H5Pset_fill_value(properties.get(), H5T_NATIVE_DOUBLE, &nothing);
}

Handle opaque_type(std::size_t bytes, const std::string& tag) {
  Handle type(H5Tcreate(H5T_OPAQUE, bytes), H5Tclose);
  H5Tset_tag(type.get(), tag.c_str());
  return type;
}

Handle space_of(const std::vector<std::uint64_t>& shape) {
  if (shape.empty()) return {H5Screate(H5S_SCALAR), H5Sclose};
  const std::vector<hsize_t> lengths(shape.begin(), shape.end());
  return {H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr), H5Sclose};
}

Result<Handle> create_group(const File& file, const std::string& path) {
  Handle group(H5Gcreate2(file.id(), path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  if (!group.good()) return file.error("making " + path);
  return group;
}

std::optional<std::uint64_t> make_dataset(hid_t file, const std::string& path, const Handle& type,
                                          const std::vector<std::uint64_t>& shape, const std::string& type_name) {
  const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_layout(properties.get(), H5D_CONTIGUOUS);
  H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER);
  const Handle links = link_properties();
  H5Pset_create_intermediate_group(links.get(), 1);
  const Handle space = space_of(shape);
  const Handle dataset(
      H5Dcreate2(file, path.c_str(), type.get(), space.get(), links.get(), properties.get(), H5P_DEFAULT), H5Dclose);
  if (!dataset.good() || !put_type_name(dataset.get(), type_name)) return {};
  if (H5Sget_simple_extent_npoints(space.get()) == 0) return 0;
  const haddr_t offset = H5Dget_offset(dataset.get());
  return offset == HADDR_UNDEF ? std::nullopt : std::optional<std::uint64_t>(offset);
}

Result<std::uint64_t> create_dataset(const File& file, const std::string& path, const Handle& type,
                                     const std::vector<std::uint64_t>& shape, const std::string& type_name) {
  const auto place = make_dataset(file.id(), path, type, shape, type_name);
  if (!place) return file.error("making " + path);
  return *place;
}

Result<std::uint64_t> create_region(const File& file, const std::string& path, const RegionInfo& info) {
  return create_dataset(file, path, element_type(info), info.shape, info.type_name);
}

Result<std::uint64_t> find_dataset(const File& file, const std::string& path, const RegionInfo& info) {
  auto found = find_bytes(file, path);
  if (!found) return fail(found.error());
  const Handle is(H5Dget_type(found->dataset.get()), H5Tclose);
  // Before format 2 the type's name was its tag.
  const bool same_type = H5Tequal(is.get(), element_type(info).get()) > 0 ||
                         (info.type == ElementType::opaque &&
                          H5Tequal(is.get(), opaque_type(info.element_bytes, info.type_name).get()) > 0);
  if (!same_type || !same_shape(found->dataset.get(), info.shape)) {
    return fail(Code::corrupt, fmt::format("{} has another type or shape than {}", path, info.type_text()));
  }
  return found->offset;
}

Result<std::uint64_t> create_frame(const File& file, Rank rank, std::uint64_t bytes) {
  return create_dataset(file, frame_path(rank), opaque_type(1, kFrameTag), {bytes});
}

Result<std::uint64_t> create_places(const File& file, std::uint64_t places) {
  return create_dataset(file, fmt::format("/{}/places", kCairnGroup), {H5Tcopy(H5T_STD_U64LE), H5Tclose}, {places, 2});
}

Result<Buffer> read_frame(const File& file, Rank rank) {
  return read_opaque(file, frame_path(rank), opaque_type(1, kFrameTag));
}

Result<ShardFrame> frame_of(const File& file, const ShardEntry& expected) {
  auto bytes = read_frame(file, expected.rank);
  if (!bytes) return fail(bytes.error());
  auto frame = ShardFrame::parse(std::move(*bytes));
  Status good = frame ? check_entry(frame->header, expected) : fail(frame.error());
  if (good) {
    const Sha256 is = sha256(frame->bytes);
    if (is != expected.digest) good = fail(wrong_digest(is, expected.digest));
  }
  if (!good) return fail(good.error().in(fmt::format("the frame of rank {}", expected.rank.value)));
  return frame;
}

Result<std::uint64_t> create_shas(const File& file, Rank rank, std::uint64_t blocks) {
  return create_dataset(file, shas_path(rank), opaque_type(kShaBytes, kShaTag), {blocks});
}

Result<Buffer> read_shas(const File& file, Rank rank, std::uint64_t blocks) {
  if (blocks == 0) return Buffer{};
  auto shas = read_opaque(file, shas_path(rank), opaque_type(kShaBytes, kShaTag));
  if (shas && shas->size() != blocks * kShaBytes) {
    return fail(Code::corrupt, fmt::format("{} has {} bytes, should have {} of {} blocks", shas_path(rank),
                                           shas->size(), blocks * kShaBytes, blocks));
  }
  return shas;
}

bool put_identity(hid_t file, const Identity& identity) {
  const Handle group(H5Gcreate2(file, std::string(kCairnGroup).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                     H5Gclose);
  return group.good() && put_identity_of(group.get(), identity);
}

Status write_attributes(const File& file, const Identity& identity, std::uint64_t safe_point) {
  const Handle group(H5Gopen2(file.id(), std::string(kCairnGroup).c_str(), H5P_DEFAULT), H5Gclose);
  const bool done = put_number(group.get(), "format", kHdf5Format) && put_identity_of(group.get(), identity) &&
                    put_number(group.get(), "safe_point", safe_point);
  if (!done) return file.error("writing the attributes of /cairn");
  return {};
}

Status copy_attributes(const File& from, const File& to) {
  const std::string path(kCairnGroup);
  const Handle source(H5Gopen2(from.id(), path.c_str(), H5P_DEFAULT), H5Gclose);
  const Handle target(H5Gopen2(to.id(), path.c_str(), H5P_DEFAULT), H5Gclose);
  for (const char* name : {"format", "incarnation", "version", "run_id", "safe_point"}) {
    if (!copy_attribute(source.get(), target.get(), name)) {
      return from.error(fmt::format("reading the attribute {} of /cairn", name));
    }
  }
  return {};
}

bool has_object(const File& file, const std::string& path) {
  return path == "/" || H5Lexists(file.id(), path.c_str(), H5P_DEFAULT) > 0;
}

bool put_value(const File& file, const std::string& path, const std::string& name, const AttributeValue& value) {
  const Handle object(H5Oopen(file.id(), path.c_str(), H5P_DEFAULT), H5Oclose);
  const std::string plain = escaped(name);
  if (!object.good()) return false;
  if (H5Aexists(object.get(), plain.c_str()) > 0) return true;
  if (const auto* text = std::get_if<std::string>(&value)) {
    const std::string bytes = escaped(*text);
    // Of variable length: h5py reads others as bytes.
    const char* const data = bytes.c_str();
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), H5T_VARIABLE);
    H5Tset_cset(type.get(), H5T_CSET_UTF8);
    return put_attribute(object.get(), plain.c_str(), type, &data);
  }
  const auto* number = std::get_if<double>(&value);
  const Handle type(H5Tcopy(number != nullptr ? H5T_IEEE_F64LE : H5T_STD_I64LE), H5Tclose);
  const void* data = number;
  if (number == nullptr) data = &std::get<std::int64_t>(value);
  return put_attribute(object.get(), plain.c_str(), type, data);
}

void Pacer::did(std::uint64_t bytes) {
  since_ += bytes + kDatasetWork;
  if (since_ < kCopyPieceBytes) return;
  since_ = 0;
  if (between_) between_();
}

Status pump(const Reader& from, std::uint64_t offset, std::uint64_t bytes, Pacer& pacer,
            const std::function<Status(Bytes)>& take) {
  Buffer scratch;
  for (std::uint64_t at = 0; at < bytes;) {
    const std::uint64_t count = std::min(bytes - at, kCopyPieceBytes);
    const auto piece = view(from, offset + at, count, scratch);
    if (!piece) return fail(piece.error());
    if (auto done = take(*piece); !done) return done;
    at += count;
    pacer.did(count);
  }
  return {};
}

}  // namespace cairn::hdf5
