// A snapshot that is open for reading: any version that some store still has, while the job runs.
//
//     cairn::OpenSnapshot old = session.open_snapshot(7);
//     const std::vector<double> plate = old.read<double>("plate");
//     if (!old.close(is_good(plate))) ...  // some rank cannot use version 7: the next one that is opened is older
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include <cairn/attribute.hpp>
#include <cairn/element.hpp>
#include <cairn/storable.hpp>

struct cairn_reader;  // of the C API

namespace cairn {

class OpenSnapshotImpl;

// A region as this rank has it in a snapshot.
struct SnapshotRegion {
  std::string name;                   // of the region
  Element element = Element::opaque;  // type of its elements
  std::uint32_t element_bytes = 1;    // of one element
  std::string type;                   // for a person: "float64[100][20]", "object(123 B)"
  std::vector<std::uint64_t> shape;   // slowest dimension first, with ghosts; empty: one value
  std::uint64_t elements = 0;         // number of elements, with ghosts
  std::uint64_t bytes = 0;            // of the region
};

// An open snapshot. SessionBase::open_snapshot() has checked this rank's part of it. It keeps its contents until it is
// closed: snapshot() and restore() do not change them. It takes the room of one snapshot in the node's store, in
// addition to those that are kept, until the next snapshot() after close().
//
// It can be moved, but not copied. It belongs to the thread of its session, and may outlive it: then it is closed.
// Several may be open at once.
class OpenSnapshot {
 public:
  // Moves it. The other object is closed afterwards.
  OpenSnapshot(OpenSnapshot&&) noexcept;
  // Moves it. The snapshot that this object had is closed as in the destructor.
  OpenSnapshot& operator=(OpenSnapshot&&) noexcept;
  // Closes the snapshot, if it is open. Local, unlike close(): the other ranks need not do the same.
  ~OpenSnapshot();

  // Returns whether it has not been closed. Local.
  [[nodiscard]] bool is_open() const;
  // Returns the version. Local.
  // Throws: kind `usage` if it is closed. The functions below do the same.
  [[nodiscard]] std::uint32_t version() const;
  // Returns the number of the run that took the snapshot. Local.
  [[nodiscard]] std::uint32_t incarnation() const;
  // Returns the label; empty: none. Local.
  [[nodiscard]] const std::string& label() const;
  // Returns the attributes, by region and name. Local.
  [[nodiscard]] const std::vector<Attribute>& attributes() const;
  // Returns the regions of this rank in the snapshot, in the order in which they were protected. They need not be
  // protected now. Local.
  [[nodiscard]] const std::vector<SnapshotRegion>& regions() const;

  // Copies this rank's region into memory of the caller, which has room for `capacity` bytes, and returns the number of
  // bytes of the region. Of an object, these are the bytes that it was saved as; of a file, its contents. Each block is
  // checked. Ranks may read different regions.
  //
  // Local.
  // Throws: kind `usage` if it is closed, or if the region is larger than `capacity`. The same if the snapshot has no
  // such region on this rank; the text lists those that it has. Kind `corrupt` if the store has damaged the bytes.
  std::size_t read(const std::string& name, void* into, std::size_t capacity) const;
  // The same into a new vector. T is the type of the elements with which the region was protected.
  //
  // Local.
  // Throws: as above. Kind `mismatch` if the region has elements of another type.
  template <Storable T>
  requires(!std::is_same_v<T, bool>) [[nodiscard]] std::vector<T> read(const std::string& name) const {
    std::vector<T> elements(elements_of(name, {detail::element_of<T>(), sizeof(T), typeid(T).name()}));
    read(name, elements.data(), elements.size() * sizeof(T));
    return elements;
  }

  // Writes this rank's file or directory to `path`, as restore() would put it back at its own place. Files there are
  // replaced as a whole. After an error, they stay as they were. Of a directory, files that the snapshot does not have
  // stay. It needs no memory for the contents. Ranks may write different ones, each to a path of its own.
  //
  // Local.
  // Throws: kind `usage` if it is closed, or if the region is no file and no directory; also as read() does if there is
  // none. Kind `storage` if the files cannot be written. Kind `corrupt` if the store has damaged the bytes.
  void extract(const std::string& name, const std::string& path) const;

  // Closes the snapshot. `good` is whether this rank can use it. If a rank passes false, the snapshot is rejected: this
  // run neither opens nor restores it again. Later runs do so only if somebody chooses it. A run that has neither
  // restored nor taken a snapshot leaves no record, so the next one opens it again. Returns whether no rank has
  // rejected it.
  //
  // Collective. Unlike the destructor, it waits as open_snapshot() does.
  // Throws: on all ranks. Kind `mismatch` if ranks close different versions. The snapshot is closed also after an
  // error.
  bool close(bool good = true);

  friend class SessionBase;
  friend struct ::cairn_reader;

 private:
  explicit OpenSnapshot(std::unique_ptr<OpenSnapshotImpl> impl);
  struct Type {
    Element element;
    std::size_t bytes;
    const char* name;
  };
  [[nodiscard]] std::size_t elements_of(const std::string& name, const Type& type) const;
  [[nodiscard]] const OpenSnapshotImpl& open() const;
  std::unique_ptr<OpenSnapshotImpl> impl_;
};

}  // namespace cairn
