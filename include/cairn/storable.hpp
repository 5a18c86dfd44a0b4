// Which types can be protected. A snapshot contains the bytes of an object and copies them into another process, where
// addresses are meaningless. So pointers, references, views and iterators, and containers and arrays of them, do not
// compile as regions.
//
// The compiler does not know whether a struct contains pointers. If yours does, mark it, and Cairn refuses it, too:
//
//     template <> struct cairn::holds_addresses<Node> : std::true_type {};
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <ranges>
#include <type_traits>
#include <variant>

namespace cairn {

// True for types whose objects contain addresses. Specialize it for your own structs that contain pointers.
template <class T>
struct holds_addresses
    : std::bool_constant<std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_null_pointer_v<T> ||
                         std::ranges::view<T> || std::input_or_output_iterator<T>> {};
template <class T>
struct holds_addresses<const T> : holds_addresses<T> {};
template <class T, std::size_t n>
struct holds_addresses<T[n]> : holds_addresses<T> {};
template <class T, std::size_t n>
struct holds_addresses<const T[n]> : holds_addresses<T> {};
template <class T, std::size_t n>
struct holds_addresses<std::array<T, n>> : holds_addresses<T> {};
template <class T>
struct holds_addresses<std::optional<T>> : holds_addresses<T> {};
template <class... T>
struct holds_addresses<std::variant<T...>> : std::disjunction<holds_addresses<T>...> {};
template <class T>
struct holds_addresses<std::initializer_list<T>> : std::true_type {};
template <class T>
struct holds_addresses<std::reference_wrapper<T>> : std::true_type {};

// A type that a region can consist of: copying its bytes copies the object, and it is neither const nor
// volatile.

template <class T>
concept Storable =
    std::is_object_v<T> && !std::is_const_v<std::remove_all_extents_t<T>> &&
    !std::is_volatile_v<std::remove_all_extents_t<T>> && std::is_trivially_copyable_v<T> && !holds_addresses<T>::value;

}  // namespace cairn
