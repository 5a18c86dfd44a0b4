#include "format/hdf5/node_file_check.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace cairn {
namespace {

constexpr std::uint64_t kCheckPieceBytes = kMiB;

// The work of reading a short stretch, counted in bytes, in addition to its own bytes.
constexpr std::uint64_t kStretchWork = 4 * kKiB;

class OutsideDigest {
 public:
  OutsideDigest(const ReadBytes& read, const std::function<void()>& between) : read_(read), between_(between) {}

  Status take(const Stretch& stretch) {
    for (std::uint64_t done = 0; done < stretch.bytes;) {
      piece_.resize(std::min(stretch.bytes - done, kCheckPieceBytes));
      if (auto read = read_(stretch.offset + done, piece_); !read) return read;
      sha_.update(piece_);
      done += piece_.size();
      pace(piece_.size());
    }
    return {};
  }
  Sha256 finish() { return sha_.finish(); }

 private:
  void pace(std::uint64_t bytes) {
    since_ += bytes + kStretchWork;
    if (since_ < 4 * kCheckPieceBytes) return;
    since_ = 0;
    if (between_) between_();
  }

  const ReadBytes& read_;
  const std::function<void()>& between_;
  Sha256Stream sha_;
  Buffer piece_;
  std::uint64_t since_ = 0;
};

Error damaged(const FileName& name, std::string_view what) {
  return Error{Code::corrupt, std::string(what), {}}.in_file(name.path);
}

Result<Buffer> read_table(const Reader& reader, const FileName& name, const NodeFileCheck& expected) {
  const std::uint64_t size = reader.size_bytes();
  if (expected.places > size / kPlaceBytes || expected.table > size - expected.places * kPlaceBytes) {
    return fail(damaged(name, fmt::format("{} places of data at byte {} are not within its {} bytes", expected.places,
                                          expected.table, size)));
  }
  Buffer table(expected.places * kPlaceBytes);
  if (auto read = reader.read(expected.table, table); !read) return fail(read.error());
  return table;
}

}  // namespace

Buffer encode_places(std::vector<Stretch> places) {
  std::ranges::sort(places, {}, &Stretch::offset);
  std::vector<Stretch> joined;
  for (const Stretch& place : places) {
    if (!joined.empty() && joined.back().offset + joined.back().bytes == place.offset)
      joined.back().bytes += place.bytes;
    else
      joined.push_back(place);
  }
  ByteWriter out;
  for (const Stretch& place : joined) {
    out.put(place.offset);
    out.put(place.bytes);
  }
  return out.take();
}

Result<Sha256> digest_outside(std::uint64_t file_bytes, Bytes table, const ReadBytes& read,
                              const std::function<void()>& between) {
  OutsideDigest digest(read, between);
  ByteReader in(table);
  std::uint64_t at = 0;
  while (in.remaining() >= kPlaceBytes) {
    const auto offset = in.get<std::uint64_t>();
    const auto bytes = in.get<std::uint64_t>();
    if (offset < at || offset > file_bytes || bytes > file_bytes - offset) {
      return fail(Code::corrupt,
                  fmt::format("its table of places has {} bytes of data at {}, should be after {} and within {}", bytes,
                              offset, at, file_bytes));
    }
    if (auto taken = digest.take({at, offset - at}); !taken) return fail(taken.error());
    at = offset + bytes;
  }
  if (auto taken = digest.take({at, file_bytes - at}); !taken) return fail(taken.error());
  return digest.finish();
}

Status check_node_file(const Store& global, const FileName& name, std::uint64_t bytes, const NodeFileCheck& expected,
                       const std::function<void()>& between) {
  const auto reader = global.open(name);
  if (!reader) return fail(reader.error());
  const std::uint64_t size = (*reader)->size_bytes();
  if (size != bytes) return fail(damaged(name, fmt::format("it is {} bytes long, should be {}", size, bytes)));
  const auto table = read_table(**reader, name, expected);
  if (!table) return fail(table.error());
  const auto is = digest_outside(
      size, *table, [&](std::uint64_t offset, MutableBytes into) { return (*reader)->read(offset, into); }, between);
  if (!is) return fail(is.error().in_file(name.path));
  if (*is == expected.digest) return {};
  return fail(damaged(name, fmt::format("the SHA-256 of its bytes outside the data is {}, should be {}", is->hex(),
                                        expected.digest.hex())));
}

}  // namespace cairn
