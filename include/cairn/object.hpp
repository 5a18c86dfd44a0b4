// Objects: regions that are no plain memory, such as maps, trees and whole libraries. The program writes an object's
// state to a stream, and reads it back:
//
//     session.protect(
//         "mesh", [&](std::ostream& out) { mesh.write(out); }, [&](std::istream& in) { mesh.read(in); });
//
// For a type, the same is done once, and for containers of it, too, if <cairn/containers.hpp> is included:
//
//     template <> struct cairn::region_traits<Mesh> {
//       static void save(const Mesh& mesh, std::ostream& out) { mesh.write(out); }
//       static void load(Mesh& mesh, std::istream& in) { mesh.read(in); }
//     };
//     session.protect("mesh", mesh);
#pragma once

#include <concepts>
#include <functional>
#include <istream>
#include <ostream>

namespace cairn {

// Writes an object's state. An exception, or a stream that is left in a failed state, fails the snapshot.
using SaveObject = std::function<void(std::ostream& out)>;
// Reads what SaveObject has written, and replaces the object's state. An exception fails the restore, and so does a
// stream that is left in a failed state, as it is after an attempt to read more than was written.
using LoadObject = std::function<void(std::istream& in)>;

// How objects of a type are stored. Specialize it with save() and load(), as above.
template <class T>
struct region_traits {};

// A type for which region_traits is specialized.
template <class T>
concept HasRegionTraits = requires(const T& saved, T& loaded, std::ostream& out, std::istream& in) {
  region_traits<T>::save(saved, out);
  region_traits<T>::load(loaded, in);
};

}  // namespace cairn
