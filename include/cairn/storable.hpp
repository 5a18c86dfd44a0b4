// Which types can be protected as they lie in memory. A snapshot keeps a region's bytes and puts them back in another
// process, where an address is meaningless. So pointers, references, views and iterators are refused when the program
// is compiled, and so are containers and arrays of them.
//
// C++ cannot tell what a struct of your own holds. Mark a struct that holds pointers, and it is refused too:
//
//   template <> struct cairn::holds_addresses<Node> : std::true_type {};
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

// Whether objects of this type hold addresses. Specialise it for structs of your own; the types named here are true.
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

// What a region may consist of: its bytes are all there is to it, and restore() may write to it.
template <class T>
concept Storable =
    std::is_object_v<T> && !std::is_const_v<std::remove_all_extents_t<T>> &&
    !std::is_volatile_v<std::remove_all_extents_t<T>> && std::is_trivially_copyable_v<T> && !holds_addresses<T>::value;

}  // namespace cairn
