// The calls of a Session that protect regions, take snapshots and restore them. Applications include <cairn/cairn.hpp>,
// which adds the calls that open a session.
//
// Every application rank makes its calls in this order:
//
//     open -> protect ... -> restore -> { compute -> snapshot } ... -> finalize
//
// A region is a variable, array or container whose contents are in snapshots. A snapshot has a version, a number that
// grows. It contains the regions of all ranks at one safe point: a place in the program where no message of the
// application is in flight. A shard is the part of a snapshot that one rank writes.
//
// Collective calls: all application ranks make the same collective calls in the same order, at safe points. Local calls
// do not communicate; ranks may protect different regions. All calls of a session come from one thread.
//
// Errors: calls throw cairn::Exception. The next call that reports errors (snapshot, wait or finalize) throws an error
// of background work. It does not undo what that call did. Where the job repairs itself, a call that communicates may
// throw kind `rollback`; see run().
//
// Storage errors: snapshot() does not throw if a snapshot fails because of storage, such as a full disk. The failure is
// logged once, storage_error() returns its text, and the last good snapshot remains. wait() and finalize() throw its
// error if the newest snapshot did not reach the level that was requested. With [job] on_storage_error = throw,
// snapshot() throws storage errors, too.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <cairn/attribute.hpp>
#include <cairn/element.hpp>
#include <cairn/error.hpp>
#include <cairn/level_id.hpp>
#include <cairn/lost_part.hpp>
#include <cairn/object.hpp>
#include <cairn/open_snapshot.hpp>
#include <cairn/region_kind.hpp>
#include <cairn/storable.hpp>
#include <cairn/version.hpp>

struct cairn_session;  // of the C API

namespace cairn {

// A container that restore() resized.
struct ResizedRegion {
  std::string name;                   // of the region
  std::uint64_t elements_before = 0;  // before restore(); never 0
  std::uint64_t elements_now = 0;     // as in the snapshot
};

// The type of fixed_size.
struct FixedSize {
  // Makes a tag; use fixed_size.
  explicit FixedSize() = default;
};
// An argument of protect(): restore() must not resize this container.
inline constexpr FixedSize fixed_size{};

// What restore() did.
struct RestoreReport {
  bool restored = false;                      // false: a fresh start, nothing was restored
  std::uint32_t incarnation = 0;              // number of the run that took the restored snapshot
  std::uint32_t version = 0;                  // of the restored snapshot
  std::array<std::uint32_t, 4> ranks_from{};  // application ranks of the job whose shard came from L1, L2, L3, L4
  LevelId my_level = LevelId::local;          // level from which this rank's shard came
  std::string my_source;                      // the same as text: "L2, copy on node 2"
  std::vector<std::string> lost_nodes;        // nodes that took part in the snapshot and whose store is missing
  double seconds = 0;                         // that the restore took
  // This rank's containers that had elements before restore() and now have a different number of them, in the order of
  // protection. Often the job was started with another problem size. Containers that were empty are not listed: the
  // application had not given them a size.
  std::vector<ResizedRegion> resized;
  std::uint32_t resized_ranks = 0;  // ranks of the whole job with such containers; the same on all ranks
  std::uint32_t old_ranks = 0;      // application ranks of the job that took the restored snapshot
  // Bytes of messages between nodes that the restore took, of the whole job: shards that nodes sent to others, and
  // elements that ranks sent to ranks of other nodes. Reads of L4 do not count.
  std::uint64_t bytes_moved = 0;
  std::string label;                  // of the restored snapshot; empty: none
  std::vector<Attribute> attributes;  // the same, by region and name
};

// Where a region lies in a global array that spans ranks. L4 files show that array as one. If the snapshot has other
// places, restore() moves the elements between ranks; with [restart] elastic = off, it throws kind `mismatch`. If the
// place changes during a run, protect the region without a place, restore it, and protect it again with its place. Each
// member has one number per dimension of the region, slowest dimension first.
//
// Ghosts are elements around the rank's own ones: copies of other ranks' elements, or a border outside the array. They
// are part of the region and its shape, and are saved with it. If elements move between ranks, ghosts are filled with
// the elements that their owners get. Ghosts outside the array stay as they are.
struct GlobalPlace {
  std::vector<std::uint64_t> shape;               // of the global array, in elements
  std::vector<std::uint64_t> offset;              // of the region's first own element in the global array, in elements
  std::vector<std::uint64_t> ghosts_before = {};  // in the region, before its own elements; empty: none
  std::vector<std::uint64_t> ghosts_after = {};   // the same after them
};

namespace detail {

template <class C>
concept Resizable = requires(C& c, std::size_t n) {
  c.resize(n);
  { c.data() } -> std::same_as<typename C::value_type*>;
  { c.size() } -> std::convertible_to<std::size_t>;
};

// Which objects are stored how.
template <class C>
concept PlainContainer = Resizable<C> && Storable<typename C::value_type> && !HasRegionTraits<C>;
template <class T>
concept PlainObject = Storable<T> && !HasRegionTraits<T>;
template <class T>
concept Unknown =
    std::is_class_v<T> && !std::ranges::view<T> && !PlainContainer<T> && !PlainObject<T> && !HasRegionTraits<T>;

// What a path names.
enum class PathKind { file, directory, scratch_file };

// How the session reaches memory that may move, or may have another size: by plain functions, so that each of many
// regions takes little memory. They get RegionAccess::object, and are called at each snapshot and restore.
struct RegionCalls {
  void* (*data)(void* object) = nullptr;                         // where the elements are now
  std::size_t (*elements)(void* object) = nullptr;               // how many there are now; null: as the shape says
  void (*resize)(void* object, std::size_t elements) = nullptr;  // null: the size cannot change
};

// Of a resizable container, which `object` is.
template <class C>
inline constexpr RegionCalls kContainerCalls{
    [](void* object) -> void* { return static_cast<C*>(object)->data(); },
    [](void* object) { return static_cast<std::size_t>(static_cast<C*>(object)->size()); },
    [](void* object, std::size_t elements) { static_cast<C*>(object)->resize(elements); }};
// Of an array behind a pointer, which `object` is.
template <class T>
inline constexpr RegionCalls kPointerCalls{[](void* object) -> void* { return *static_cast<T**>(object); }};

// How the session reaches a region's bytes.
struct RegionAccess {
  Element element = Element::opaque;
  std::uint32_t element_bytes = 1;
  std::string type_name;             // for opaque elements
  std::vector<std::uint64_t> shape;  // fixed part; a resizable region's first extent is filled in
  std::optional<GlobalPlace> place;
  void* object = nullptr;              // the elements; with `calls`, what these get
  const RegionCalls* calls = nullptr;  // live as long as the program; null: the elements are at `object`
  bool fixed_size = false;             // restore() must not resize it
  std::optional<PathKind> path_kind;   // of a file or directory: what `file` names. There is no `object` then
  std::string file;                    // its path
  bool is_saved = false;               // it is an object with the functions below, and there is no `object` either
  SaveObject save;                     // of such an object
  LoadObject load;                     // the same
  AnyKind kind;                        // what it is to the whole job; of a part of a global array none
};

}  // namespace detail

class SessionImpl;

// The calls of a session that need no MPI. Applications use the class Session.
class SessionBase {
 public:
  // Moves the session. The other object may then only be destroyed or assigned to.
  SessionBase(SessionBase&&) noexcept;
  // Moves the session. The session that this object had ends as in the destructor.
  SessionBase& operator=(SessionBase&&) noexcept;
  // Ends the session. After finalize() this only frees memory. Without finalize(), snapshots that are not complete are
  // lost, complete ones remain, and the destructor does not wait for other ranks. Calls of other ranks that need this
  // rank throw an error that names it. With [head] mode = thread or inline, one rank of each node is also its head. Its
  // destructor first completes the promotion in progress; afterwards all calls of other ranks throw.
  virtual ~SessionBase();

  // Protects a resizable container with contiguous elements of a Storable type, such as std::vector or std::string. It
  // may have another size at each snapshot. restore() gives it the size that it has in the snapshot;
  // RestoreReport::resized lists the containers that changed. If `place` has several dimensions, the container consists
  // of whole rows of the global array. A region with this name that is protected already is replaced.
  //
  // Names are 1 to 255 bytes long, without '/' and control characters, and not ".".
  //
  // Local.
  // Requires: the container outlives the session or is unprotected first. The caller owns it; the session keeps a
  // reference.
  // Throws: kind `usage` if the name, type or place is not valid.
  template <detail::PlainContainer C>
  void protect(const std::string& name, C& container, std::optional<GlobalPlace> place = {}) {
    protect_access(name, access_to(container, std::move(place)));
  }
  // The same for a container that is no part of a global array. `kind` is what it is to the whole job. Local.
  // Throws: kind `usage` as above.
  template <detail::PlainContainer C, RegionKind K>
  void protect(const std::string& name, C& container, K kind) {
    protect_access(name, of_kind(access_to(container, {}), std::move(kind)));
  }

  // Protects a container that restore() must not resize, since the problem size determines its size. The application
  // may still resize it between snapshots. Otherwise the same as above.
  //
  // Local.
  // Requires: the container has its size when restore() is called.
  // Throws: kind `usage` as above. restore() throws kind `mismatch` on all ranks if the snapshot has another size; the
  // text names rank, container and both sizes. That rank's containers then stay as they were.
  template <detail::PlainContainer C>
  void protect(const std::string& name, C& container, FixedSize /*tag*/, std::optional<GlobalPlace> place = {}) {
    auto access = access_to(container, std::move(place));
    access.fixed_size = true;
    protect_access(name, std::move(access));
  }
  // The same with a kind. Local.
  template <detail::PlainContainer C, RegionKind K>
  void protect(const std::string& name, C& container, FixedSize /*tag*/, K kind) {
    auto access = access_to(container, {});
    access.fixed_size = true;
    protect_access(name, of_kind(std::move(access), std::move(kind)));
  }

  // Protects one object of a Storable type: a number, an enum, a struct, a std::array.
  //
  // Local.
  // Requires: the object outlives the session or is unprotected first. The caller owns it.
  // Throws: kind `usage` if the name is not valid.
  template <detail::PlainObject T>
  void protect(const std::string& name, T& object) {
    protect_access(name, access_to_object(object));
  }
  // The same with a kind. One object is no sequence. Local.
  // Throws: kind `usage` as above, and for a sequence.
  template <detail::PlainObject T, RegionKind K>
  void protect(const std::string& name, T& object, K kind) {
    protect_access(name, of_kind(access_to_object(object), std::move(kind)));
  }

  // Protects an object that is no plain memory, by two functions of the program. snapshot() calls `save` once on each
  // rank, if it takes a snapshot. The bytes of all objects of a rank are in its memory until they are written. The
  // size may differ at each snapshot. restore() calls `load` once, after all ranks have read the same snapshot: for all
  // objects, in the order of protection, after all other regions have their contents. On a fresh start, it is not
  // called. The functions make no calls of Cairn and of MPI.
  //
  // Local.
  // Requires: what the functions refer to outlives the session, or the object is unprotected first.
  // Throws: kind `usage` if the name is not valid, or if a function is empty. If `save` throws, the snapshot fails on
  // all ranks as after a storage error. If `load` throws, restore() throws kind `mismatch` on all ranks; the text names
  // rank and object.
  void protect(const std::string& name, SaveObject save, LoadObject load) {
    protect_access(name, access_to_saved(std::move(save), std::move(load)));
  }
  // The same with a kind. An object is no sequence: the kind is `same`, if all ranks save the same bytes, or of_rank().
  // Local.
  // Throws: kind `usage` as above, and for a sequence.
  template <RegionKind K>
  void protect(const std::string& name, SaveObject save, LoadObject load, K kind) {
    protect_access(name, of_kind(access_to_saved(std::move(save), std::move(load)), std::move(kind)));
  }

  // Protects an object whose type says how it is stored: see region_traits. <cairn/containers.hpp> does this for the
  // containers of the standard library. Otherwise like the functions above. Local.
  // Requires: the object outlives the session or is unprotected first. The caller owns it.
  template <HasRegionTraits T>
  void protect(const std::string& name, T& object) {
    protect_access(name, access_to_saved(object));
  }
  // The same with a kind. Local.
  template <HasRegionTraits T, RegionKind K>
  void protect(const std::string& name, T& object, K kind) {
    protect_access(name, of_kind(access_to_saved(object), std::move(kind)));
  }
  template <detail::Unknown T>
  void protect(const std::string& name, T& object) = delete;  // include cairn/containers.hpp or use region_traits

  // Protects a file that this rank writes, such as a log or a result, with its length and permissions. A snapshot
  // contains the file as it is then. It fails on all ranks if the file is missing, cannot be read, or changes
  // meanwhile. The same holds for links, and for all that is no regular file. restore() puts the file back, after all
  // ranks have read the same snapshot: all files are first written beside the old ones, and then renamed. So an error,
  // such as a full disk, leaves all files as they were. A file that begins with the stored bytes is truncated in place
  // instead: a log that is open for appending stays right. Objects are loaded after that. On a fresh start, files stay
  // as they are.
  //
  // Write what is in buffers before snapshot(), as by std::flush. Open other files than logs after restore(). One file
  // is protected by one rank. `path` may be relative to the working directory of this moment.
  //
  // Local.
  // Throws: kind `usage` if the name or the path is not valid. If a file cannot be put back, restore() throws kind
  // `storage` on all ranks, and the text names rank and file.
  void protect_file(const std::string& name, const std::string& path) { protect_access(name, access_to_file(path)); }
  // The same with a kind, for another number of ranks: of_rank(), or `same` if all ranks have the same file, each at
  // its own path. The files are in memory then, and keep the permissions of the files that are there. Local.
  // Throws: kind `usage` as above, and for a sequence.
  template <RegionKind K>
  void protect_file(const std::string& name, const std::string& path, K kind) {
    protect_access(name, of_kind(access_to_file(path), std::move(kind)));
  }

  // Protects a directory that this rank writes to, with all files and directories in it, as one region. What holds for
  // protect_file() holds for each of its files: restore() prepares all of them before it changes any, and permissions
  // are restored, too. Directories that are missing are made. Files that have appeared since the snapshot stay. A
  // snapshot fails on all ranks if there is a link in the directory, or a special file, or if anything changes
  // meanwhile; the error names it.
  //
  // Local.
  // Throws: as protect_file().
  void protect_directory(const std::string& name, const std::string& path) {
    protect_access(name, access_to_directory(path));
  }
  // The same with a kind, as for a file. Local.
  // Throws: kind `usage` as above, and for a sequence.
  template <RegionKind K>
  void protect_directory(const std::string& name, const std::string& path, K kind) {
    protect_access(name, of_kind(access_to_directory(path), std::move(kind)));
  }

  // Protects a file in the node's own store, and returns its path. It is for a program that writes a file for each
  // snapshot, as by a library, and then needs it no more. The program writes the file before snapshot(), and closes
  // it. When the snapshot has been taken, or has failed, the file is removed: its contents are in the snapshot. If
  // due() is false, the next snapshot() needs no file. restore() puts the file there, to be read; it stays until the
  // next snapshot. On a fresh start it is missing. The file takes room in the node's store, which may be its memory.
  //
  // The name of the file is that of the region, so that it may end with ".h5". The path stays the same as long as the
  // region is protected. Another call with this name returns it, and changes nothing. unprotect(), another region with
  // this name, and the end of the session remove the file.
  //
  // Local. Called before restore(), like protect().
  // Throws: kind `usage` if the name is not valid, or begins with '.'. Kind `storage` if the node's store cannot be
  // written. A snapshot fails on all ranks if a rank has not written its file since the last one, or since restore().
  [[nodiscard]] std::string scratch_file(const std::string& name) { return make_scratch_file(name, {}); }
  // The same with a kind, as for a file. Local.
  // Throws: kind `usage` as above, and for a sequence.
  template <RegionKind K>
  [[nodiscard]] std::string scratch_file(const std::string& name, K kind) {
    return make_scratch_file(name, std::move(kind));
  }

  // Gives a file, or a scratch file, that is protected as `name` a destination: when a snapshot reaches L4, the file is
  // also written there, plainly, for other programs. "{version}" and "{rank}" in the path stand for their numbers:
  // "/project/run7/state-{version}.h5". The directory must exist on all nodes. The file is complete when it has that
  // name; one that is there is replaced. The session removes no file there, so files with a version in their names stay
  // until somebody removes them. restore() does not read them. An empty path ends it, as does protecting the name
  // again.
  //
  // Local. Each rank's destination is a file of its own.
  // Throws: kind `usage` if no file is protected as `name`, or if the path is that file's own. If the file cannot be
  // written there, the snapshot does not reach L4, which is reported like other storage errors.
  void destination(const std::string& name, const std::string& path);

  // Protects the elements that a span refers to. The session does not keep the span itself. Their number is fixed:
  // restore() throws kind `mismatch` if the snapshot has another number.
  //
  // Local.
  // Requires: the elements outlive the session or are unprotected first. The caller owns them.
  // Throws: kind `usage` if the name is not valid.
  template <Storable T, std::size_t extent>
  void protect(const std::string& name, std::span<T, extent> elements) {
    protect(name, elements.data(), elements.size());
  }
  // The same with a kind. Local.
  template <Storable T, std::size_t extent, RegionKind K>
  void protect(const std::string& name, std::span<T, extent> elements, K kind) {
    protect(name, elements.data(), elements.size(), std::move(kind));
  }

  // Protects `count` elements at `data`; otherwise like a span. The session keeps the address, not the variable. If the
  // program swaps two pointers, use protect_pointer(). Local.
  template <Storable T>
  void protect(const std::string& name, T* data, std::size_t count) {
    protect(name, data, std::vector<std::uint64_t>{count});
  }
  // The same with a kind. Local.
  template <Storable T, RegionKind K>
  void protect(const std::string& name, T* data, std::size_t count, K kind) {
    protect(name, data, std::vector<std::uint64_t>{count}, std::move(kind));
  }

  // Protects the array at `data`, which has the given shape: one number of elements per dimension, slowest dimension
  // first. The shape is fixed. `place` says which part of a global array it is.
  //
  // Local.
  // Requires: the array outlives the session or is unprotected first. The caller owns it.
  // Throws: kind `usage` if name, shape or place is not valid.
  template <Storable T>
  void protect(const std::string& name, T* data, std::vector<std::uint64_t> shape,
               std::optional<GlobalPlace> place = {}) {
    auto access = access_to_array(describe<T>(), std::move(shape), data);
    access.place = std::move(place);
    protect_access(name, std::move(access));
  }
  // The same for an array that is no part of a global array, with a kind. Local.
  template <Storable T, RegionKind K>
  void protect(const std::string& name, T* data, std::vector<std::uint64_t> shape, K kind) {
    auto access = access_to_array(describe<T>(), std::move(shape), data);
    protect_access(name, of_kind(std::move(access), std::move(kind)));
  }

  // Protects `count` elements at the address that `pointer` has at each snapshot and restore. So the program may swap
  // the pointer with another, or allocate the array again. Otherwise like the array at a fixed address.
  //
  // Local.
  // Requires: the pointer variable outlives the session or the region is unprotected first. The caller owns the
  // elements.
  // Throws: kind `usage` if the name is not valid. A snapshot or restore throws it while the pointer is null, unless
  // there are no elements.
  template <Storable T>
  void protect_pointer(const std::string& name, T*& pointer, std::size_t count) {
    protect_pointer(name, pointer, std::vector<std::uint64_t>{count});
  }
  // The same with a kind. Local.
  template <Storable T, RegionKind K>
  void protect_pointer(const std::string& name, T*& pointer, std::size_t count, K kind) {
    protect_pointer(name, pointer, std::vector<std::uint64_t>{count}, std::move(kind));
  }

  // The same for an array with a shape, which may be part of a global array.
  //
  // Local.
  // Throws: kind `usage` as above, and if shape or place is not valid.
  template <Storable T>
  void protect_pointer(const std::string& name, T*& pointer, std::vector<std::uint64_t> shape,
                       std::optional<GlobalPlace> place = {}) {
    auto access = access_to_array(describe<T>(), std::move(shape), std::addressof(pointer), &detail::kPointerCalls<T>);
    access.place = std::move(place);
    protect_access(name, std::move(access));
  }
  // The same for an array that is no part of a global array, with a kind. Local.
  template <Storable T, RegionKind K>
  void protect_pointer(const std::string& name, T*& pointer, std::vector<std::uint64_t> shape, K kind) {
    auto access = access_to_array(describe<T>(), std::move(shape), std::addressof(pointer), &detail::kPointerCalls<T>);
    protect_access(name, of_kind(std::move(access), std::move(kind)));
  }

  // Protects an array whose type is known only at run time: for bindings to other languages. `element_bytes` is the
  // size of an element in bytes. `type_name` is the name of an opaque type, which restore() compares, and empty for
  // others. Otherwise like an array with a shape; an empty shape is a scalar. Local.
  void protect_raw(const std::string& name, void* data, Element element, std::uint32_t element_bytes,
                   const std::string& type_name, std::vector<std::uint64_t> shape,
                   std::optional<GlobalPlace> place = {});

  // Ends the protection of a region: later snapshots do not contain it.
  //
  // Local.
  // Throws: kind `usage` if no region has this name.
  void unprotect(const std::string& name);

  // Lets spares help to recompute the steps of this rank after its loss ([replay] helpers). `split` cuts the restored
  // state in so many parts. `merge` gets the parts, in order, after that many steps, and writes the state into the
  // regions, with all that has changed in these steps, such as a step counter. Both run inside restore() of a
  // replacement, before it returns. run() gets the function that computes a part. If not all parts can be computed, or
  // if their messages are not those of the lost rank, `merge` is not called, and the replacement computes alone.
  //
  // Local. To be called before restore(). Replaces the functions of an earlier call.
  // Requires: what the functions refer to outlives restore().
  // Throws: kind `usage` if a function is empty. restore() throws what `merge` throws.
  void on_loss(SplitState split, MergeState merge);

  // Returns how many elements this rank's region of this name has in the snapshot that restore() will restore. Returns
  // nothing if the region is not in that snapshot, or on a fresh start. Use it for memory that must have its size
  // before it is protected. If that snapshot is lost before restore(), another one is restored; a region whose size
  // differs there is a `mismatch`. On another number of ranks, it is the number that this rank will get, by the kind or
  // place with which the region is protected now. A region that is not protected counts as a sequence.
  //
  // The first call of stored() or stored_total() is collective, later calls are local.
  // Requires: neither restore() nor snapshot() was called before the first call.
  // Throws: as restore() does. Kind `usage` for a region of_rank() on another number of ranks.
  [[nodiscard]] std::optional<std::uint64_t> stored(const std::string& name);
  // Returns how many elements the regions of this name of all ranks have together in that snapshot. Use it for a
  // sequence that the program cuts itself. Otherwise like stored().
  [[nodiscard]] std::optional<std::uint64_t> stored_total(const std::string& name);

  // Copies the newest recoverable snapshot into the protected regions, and returns a report. On a fresh start it
  // changes nothing, and the report says `restored = false`: there are no snapshots, or [restart] mode = fresh.
  //
  // Unless [restart] elastic = off, the snapshot may be of another number of ranks, or of other parts of global arrays.
  // Then ranks exchange elements by the kinds of their regions (region_kind.hpp) and by their places. A container with
  // a place keeps its size, which tells how large its part is. The parts of all ranks cover each element exactly once.
  // The next snapshot() call takes a snapshot, due or not. Until then, the old snapshot remains the job's state.
  //
  // Collective.
  // Requires: the same regions are protected as in the snapshot, with the same types, shapes and places. Containers may
  // have another size. A region without a place fits any place.
  // Throws: on all ranks. Kind `unrecoverable`: snapshots exist, but none can be restored; the text names versions and
  // missing ranks. Kind `mismatch`: ranks or regions differ; the text lists the differences. After an error, the
  // contents of the regions are undefined, except where protect() says otherwise. snapshot() throws until a later
  // restore() succeeds.
  RestoreReport restore();
  // Restores this version, which need not be the newest. Then the job is on the branch of this version: newer versions
  // are not restored any more, and are removed when one of the branch has reached the same levels. Later runs repeat
  // the program's first call. So that call does not choose the version that was the last to be chosen at a start: it
  // restores the newest of the job's branch. A later call restores this version in any case.
  //
  // The version may be of a job that has finished. A version that the user chooses at the start ([restart] version)
  // comes before that of the first call, and a fresh start ([restart] mode = fresh) before both.
  //
  // Collective. All ranks pass the same version.
  // Throws: as above. Kind `usage` if the version is 0. Kind `unrecoverable` if this version cannot be restored; the
  // text lists those that can.
  RestoreReport restore(std::uint32_t version);
  // The same for the newest snapshot with this label: `session.restore(cairn::Label{"peak"})`.
  //
  // Collective. All ranks pass the same label.
  // Throws: as above. Kind `usage` if the text cannot be a label. Kind `unrecoverable` if no snapshot has it; the text
  // lists the labels that there are.
  RestoreReport restore(const Label& label);
  // Does the same as restore() for one region; other regions keep their contents. All ranks pass the same name. It is a
  // `mismatch` if ranks would have to exchange elements.
  //
  // Collective.
  // Throws: as above. Kind `usage` if the name is empty.
  RestoreReport restore(const std::string& name);
  // Returns the report of the last restore() of this session. Local.
  [[nodiscard]] const RestoreReport& last_restore() const;

  // Opens the newest snapshot, to read it: the one that restore() would restore, if it is called at the same time.
  // Nothing is restored, and protected regions keep their contents. It comes from any level, as a restore does. It may
  // be called before restore(), and between snapshot() calls; it waits until earlier snapshots have reached their
  // levels. With [recovery] rollback = lost, all ranks roll back after a failure in a job that has called it.
  //
  // Collective.
  // Requires: the job has as many ranks as the one that took the snapshot.
  // Throws: on all ranks. Kind `unrecoverable`: there is none that can be read. Kind `mismatch`: it has another number
  // of ranks. After an error, the session can be used as before.
  [[nodiscard]] OpenSnapshot open_snapshot();
  // The same for this version, which need not be the newest, nor of the branch or the chain that the job is on. The job
  // does not change its branch.
  //
  // Collective. All ranks pass the same version.
  // Throws: as above. Kind `usage` if the version is 0. Kind `unrecoverable` if this version cannot be read; the text
  // lists those that can.
  [[nodiscard]] OpenSnapshot open_snapshot(std::uint32_t version);
  // The same for the newest snapshot with this label.
  //
  // Collective. All ranks pass the same label.
  // Throws: as above. Kind `usage` if the text cannot be a label. Kind `unrecoverable` if no snapshot has it; the text
  // lists the labels that there are.
  [[nodiscard]] OpenSnapshot open_snapshot(const Label& label);

  // Takes a snapshot if one is due by [levels]. Returns its version, or nothing if none was due. It returns as soon as
  // the regions are copied into the node's store; promotion to higher levels happens in the background. With [head]
  // mode = inline it returns when the snapshot has reached all its levels. It blocks while the head still needs all
  // older copies on the node, at most for [head] wait_limit. A version that fails because of storage is not used again.
  //
  // Collective, but not a barrier: unless [head] mode = inline, a rank waits only for ranks that are more than one
  // call behind.
  // Throws: kind `usage` after finalize(); the error of a restore() that failed; errors of background work. See above
  // for storage errors.
  std::optional<std::uint32_t> snapshot();
  // Returns whether the next snapshot() will take one; the result is the same on all ranks. Use it before expensive
  // preparations, such as a copy from a GPU. It makes the decision of that snapshot() in advance: calling it again
  // before snapshot() changes nothing. A restore() cancels the decision.
  //
  // Collective like snapshot(), at a safe point.
  // Throws: as snapshot() does.
  [[nodiscard]] bool due();
  // Takes a snapshot now, whether or not one is due, and has it promoted to `level`. Returns its version.
  //
  // Collective like snapshot().
  // Throws: as snapshot() does. Kind `usage` if `level` is off in this job.
  std::uint32_t snapshot(LevelId level);

  // Gives the next snapshot that is taken a label, which can then be restored by it, and which ckpt-tool lists. Another
  // call before that snapshot replaces the label. If that snapshot fails, the next one gets the label, except where
  // ranks have set different ones, or have already taken the next one when they learn of the failure. The label has 1
  // to 255 bytes, without control characters. It is not what [restart] version takes for a version: a number, "newest"
  // or a text that ends with " again".
  //
  // Local. All ranks set the same label. A rank may set none, but then its node does not know the label if the other
  // nodes are lost.
  // Throws: kind `usage` if the label is not valid. If ranks set different ones, the snapshot fails, and a later call
  // throws kind `mismatch`.
  void label(const std::string& text);
  // Pins the next snapshot that is taken: it is also written to L4, even with [levels] l4 = off. It stays there until
  // ckpt-tool unpin, in addition to the [storage] keep_global newest ones. In node stores it is kept like others. It is
  // pinned once it has reached L4.
  //
  // Local. All ranks call it before the same snapshot; otherwise that snapshot fails.
  void pin();
  // Sets an attribute of this snapshot and of later ones, such as the simulated time: a whole number, a number or a
  // text. Setting it again replaces the value. Attributes are listed by ckpt-tool, and are in the HDF5 files of L4.
  // restore() sets those of the snapshot again, and reports them; set what belongs to this run after it. A snapshot has
  // at most 64 attributes. A name has 1 to 255 bytes, without control characters, a text at most 1024, without zeros.
  //
  // Local. All ranks set the same attributes, or none.
  // Throws: kind `usage` if name or value are not valid. If ranks set different ones, the snapshot fails, and a later
  // call throws kind `mismatch`.
  template <class T>
  requires std::integral<T> || std::floating_point<T>
  void attribute(const std::string& name, T value) { set_attribute({{}, name, attribute_value(value)}); }
  // The same for a text. Local.
  void attribute(const std::string& name, const std::string& text) { set_attribute({{}, name, text}); }
  // Sets an attribute of a region, such as its unit. The region need not be protected. Otherwise the same. Local.
  template <class T>
  requires std::integral<T> || std::floating_point<T>
  void attribute(const std::string& region, const std::string& name, T value) {
    set_attribute({region, name, attribute_value(value)});
  }
  // The same for a text. Local.
  void attribute(const std::string& region, const std::string& name, const std::string& text) {
    set_attribute({region, name, text});
  }

  // Blocks until the newest snapshot that was to reach `level` has reached it. Returns at once if there is none.
  //
  // Collective.
  // Throws: the error of that snapshot if it failed; errors of background work.
  void wait(LevelId level);
  // Returns the newest version that has reached `level`, as far as this rank knows, or 0. Local.
  [[nodiscard]] std::uint32_t safe_version(LevelId level);

  // Returns why a snapshot last failed because of storage, as far as this rank knows. Empty if none failed in this
  // session. Local.
  [[nodiscard]] std::string storage_error() const;

  // Returns whether the job has been asked to stop: SIGUSR1, or [restart] stop_signal, has arrived at any rank. The
  // snapshot() call that notices it takes a snapshot for L4 and changes the result, in the same call on all ranks. That
  // is at most 66 calls after the signal; mostly 2, if a step takes 0.1 s or more. Local.
  [[nodiscard]] bool should_stop() const;

  // Reports that something seems to be wrong with this rank or its node, for example that a check of a result fails.
  // `text` says what, in a few words for a person; of a text of more than 200 bytes, the beginning is used. The log has
  // it, and fault localization examines the rank and its node: ckpt-tool health shows what it finds. The report alone
  // has no other effect. If a probe confirms a fault, [localize] act sets what follows. The call costs one short
  // message to the head.
  //
  // Local.
  // Throws: kind `usage` if the text is empty, or after finalize().
  void suspect(const std::string& text);

  // Waits for background work, writes the newest snapshot to L4, and ends the job as [restart] at_end says. After a
  // restore that failed, or without any restore or snapshot, all snapshots stay as they are, so that a later run can
  // use them. Afterwards only the destructor and calls that do not communicate may be used.
  //
  // Collective.
  // Requires: no snapshot is open.
  // Throws: errors of background work that no call has thrown yet; the error of the newest snapshot, if it reached
  // neither the requested levels nor higher ones.
  void finalize();

  [[nodiscard]] std::uint32_t rank() const;         // Number of this application rank, from 0. Local.
  [[nodiscard]] std::uint32_t size() const;         // Number of application ranks. Local.
  [[nodiscard]] std::uint32_t incarnation() const;  // Number of this run, from 1. Local.
  // Returns the seconds that this rank has waited for its head in snapshot() so far. Local.
  [[nodiscard]] double waited_seconds() const;

  friend struct ::cairn_session;

 protected:
  // Makes a session of the library's internal one, which it owns then.
  explicit SessionBase(std::unique_ptr<SessionImpl> impl);
  // Returns the library's internal session.
  [[nodiscard]] SessionImpl& impl() { return *impl_; }
  // Ends the session, as the destructor does. A class that owns the session's communicators calls this before it frees
  // them.
  void close();

 private:
  template <class T>
  static detail::RegionAccess describe() {
    detail::RegionAccess access;
    access.element = detail::element_of<T>();
    access.element_bytes = sizeof(T);
    if (access.element == Element::opaque) access.type_name = typeid(T).name();
    return access;
  }
  static std::uint64_t ghosts_of(const GlobalPlace& place, std::size_t dimension) {
    std::uint64_t ghosts = 0;
    if (dimension < place.ghosts_before.size()) ghosts += place.ghosts_before[dimension];
    if (dimension < place.ghosts_after.size()) ghosts += place.ghosts_after[dimension];
    return ghosts;
  }
  template <class C>
  static detail::RegionAccess access_to(C& container, std::optional<GlobalPlace> place) {
    auto access = describe<typename C::value_type>();
    // Part of an array of several dimensions: whole rows of it, one after another.
    if (place) {
      for (std::size_t i = 1; i < place->shape.size(); ++i)
        access.shape.push_back(place->shape[i] + ghosts_of(*place, i));
    }
    access.place = std::move(place);
    access.object = std::addressof(container);
    access.calls = &detail::kContainerCalls<C>;
    return access;
  }
  template <class T>
  static detail::RegionAccess access_to_object(T& object) {
    auto access = describe<T>();
    access.object = std::addressof(object);
    return access;
  }
  static detail::RegionAccess access_to_array(detail::RegionAccess type, std::vector<std::uint64_t> shape, void* object,
                                              const detail::RegionCalls* calls = nullptr) {
    type.shape = std::move(shape);
    type.object = object;
    type.calls = calls;
    return type;
  }
  static detail::RegionAccess access_to_file(const std::string& path) {
    detail::RegionAccess access;
    access.path_kind = detail::PathKind::file;
    access.file = path;
    return access;
  }
  static detail::RegionAccess access_to_directory(const std::string& path) {
    detail::RegionAccess access = access_to_file(path);
    access.path_kind = detail::PathKind::directory;
    return access;
  }
  static detail::RegionAccess access_to_saved(SaveObject save, LoadObject load) {
    detail::RegionAccess access;
    access.is_saved = true;
    access.save = std::move(save);
    access.load = std::move(load);
    return access;
  }
  template <HasRegionTraits T>
  static detail::RegionAccess access_to_saved(T& object) {
    return access_to_saved([&object](std::ostream& out) { region_traits<T>::save(object, out); },
                           [&object](std::istream& in) { region_traits<T>::load(object, in); });
  }
  static detail::RegionAccess of_kind(detail::RegionAccess access, detail::AnyKind kind) {
    access.kind = std::move(kind);
    return access;
  }
  void protect_access(const std::string& name, detail::RegionAccess access);
  std::string make_scratch_file(const std::string& name, detail::AnyKind kind);
  template <class T>
  static AttributeValue attribute_value(T value) {
    if constexpr (std::integral<T>) {
      if (!std::in_range<std::int64_t>(value)) throw Exception(ErrorKind::usage, "attribute: a number is too large");
      return static_cast<std::int64_t>(value);
    } else {
      return static_cast<double>(value);
    }
  }
  void set_attribute(Attribute attribute);

  std::unique_ptr<SessionImpl> impl_;
};

}  // namespace cairn
