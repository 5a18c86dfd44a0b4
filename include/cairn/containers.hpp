// Containers of the standard library that are no plain memory, as objects: maps, sets, lists, double-ended queues,
// pairs, tuples, optionals, and vectors and arrays of strings or of each other. Elements are Storable types, such
// containers again, or types for which region_traits is specialized.
//
//     #include <cairn/containers.hpp>
//     std::map<std::string, std::vector<double>> fields;
//     session.protect("fields", fields);
//
// Random engines and distributions of the standard library need no such header: they are plain memory.
//
// An unordered container has the same elements after a restore; their order may be another one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <istream>
#include <list>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <cairn/object.hpp>
#include <cairn/storable.hpp>

namespace cairn {
namespace detail {

template <class T>
struct is_sequence : std::false_type {};
template <class T, class A>
struct is_sequence<std::vector<T, A>> : std::true_type {};
template <class T, class A>
struct is_sequence<std::deque<T, A>> : std::true_type {};
template <class T, class A>
struct is_sequence<std::list<T, A>> : std::true_type {};
template <class T, class C, class A>
struct is_sequence<std::basic_string<T, C, A>> : std::true_type {};

template <class T>
struct is_lookup : std::false_type {};
template <class K, class C, class A>
struct is_lookup<std::set<K, C, A>> : std::true_type {};
template <class K, class C, class A>
struct is_lookup<std::multiset<K, C, A>> : std::true_type {};
template <class K, class T, class C, class A>
struct is_lookup<std::map<K, T, C, A>> : std::true_type {};
template <class K, class T, class C, class A>
struct is_lookup<std::multimap<K, T, C, A>> : std::true_type {};
template <class K, class H, class E, class A>
struct is_lookup<std::unordered_set<K, H, E, A>> : std::true_type {};
template <class K, class H, class E, class A>
struct is_lookup<std::unordered_multiset<K, H, E, A>> : std::true_type {};
template <class K, class T, class H, class E, class A>
struct is_lookup<std::unordered_map<K, T, H, E, A>> : std::true_type {};
template <class K, class T, class H, class E, class A>
struct is_lookup<std::unordered_multimap<K, T, H, E, A>> : std::true_type {};

template <class T>
struct is_tuple : std::false_type {};
template <class... T>
struct is_tuple<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct is_tuple<std::pair<A, B>> : std::true_type {};
template <class T, std::size_t n>
struct is_tuple<std::array<T, n>> : std::true_type {};

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

// What can be read into: the keys of maps are const.
template <class T>
struct without_const {
  using type = std::remove_const_t<T>;
};
template <class K, class T>
struct without_const<std::pair<const K, T>> {
  using type = std::pair<K, T>;
};

template <class T>
concept StandardContainer =
    !Storable<T> && (is_sequence<T>::value || is_lookup<T>::value || is_tuple<T>::value || is_optional<T>::value);
// A vector or string that is a plain region.
template <class T>
struct is_plain_sequence : std::false_type {};
template <class T, class A>
struct is_plain_sequence<std::vector<T, A>> : std::bool_constant<Storable<T> && !std::is_same_v<T, bool>> {};
template <class T, class C, class A>
struct is_plain_sequence<std::basic_string<T, C, A>> : std::true_type {};

template <class T>
void save_value(const T& value, std::ostream& out);
template <class T>
void load_value(T& value, std::istream& in);

inline std::uint64_t load_count(std::istream& in) {
  std::uint64_t count = 0;
  load_value(count, in);
  return count;
}

template <class T>
void save_container(const T& value, std::ostream& out) {
  if constexpr (is_tuple<T>::value) {
    std::apply([&](const auto&... members) { (save_value(members, out), ...); }, value);
  } else if constexpr (is_optional<T>::value) {
    save_value(value.has_value(), out);
    if (value) save_value(*value, out);
  } else {
    save_value(static_cast<std::uint64_t>(value.size()), out);
    if constexpr (is_plain_sequence<T>::value)
      out.write(reinterpret_cast<const char*>(value.data()),
                static_cast<std::streamsize>(value.size() * sizeof(typename T::value_type)));
    else
      for (const auto& element : value) save_value(static_cast<const typename T::value_type&>(element), out);
  }
}

// In pieces: the memory grows only as far as there are bytes.
template <class T>
void load_plain_sequence(T& value, std::istream& in) {
  constexpr std::uint64_t kMostAtOnce = 1U << 16U;
  for (std::uint64_t left = load_count(in); left > 0;) {
    const auto count = static_cast<std::size_t>(std::min(left, kMostAtOnce));
    value.resize(value.size() + count);
    in.read(reinterpret_cast<char*>(value.data() + (value.size() - count)),
            static_cast<std::streamsize>(count * sizeof(typename T::value_type)));
    if (!in) throw std::runtime_error("the saved container is too short");
    left -= count;
  }
}

template <class T>
void load_container(T& value, std::istream& in) {
  if constexpr (is_tuple<T>::value) {
    std::apply([&](auto&... members) { (load_value(members, in), ...); }, value);
  } else if constexpr (is_optional<T>::value) {
    bool has_value = false;
    load_value(has_value, in);
    value.reset();
    if (has_value) load_value(value.emplace(), in);
  } else {
    value.clear();
    if constexpr (is_plain_sequence<T>::value) {
      load_plain_sequence(value, in);
    } else {
      for (std::uint64_t left = load_count(in); left > 0; --left) {
        typename without_const<typename T::value_type>::type element{};
        load_value(element, in);
        value.insert(value.end(), std::move(element));
      }
    }
  }
}

template <class T>
void save_value(const T& value, std::ostream& out) {
  if constexpr (StandardContainer<T>) {
    save_container(value, out);
  } else if constexpr (HasRegionTraits<T>) {
    region_traits<T>::save(value, out);
  } else {
    static_assert(Storable<std::remove_const_t<T>>, "specialize cairn::region_traits for the type of the elements");
    out.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
}

template <class T>
void load_value(T& value, std::istream& in) {
  if constexpr (StandardContainer<T>) {
    load_container(value, in);
  } else if constexpr (HasRegionTraits<T>) {
    region_traits<T>::load(value, in);
  } else {
    in.read(reinterpret_cast<char*>(&value), sizeof value);
  }
  if (!in) throw std::runtime_error("the saved container is too short");
}

}  // namespace detail

// The bytes begin with the name of the type, so that another one is refused.
template <detail::StandardContainer T>
requires(!detail::is_plain_sequence<T>::value) struct region_traits<T> {
  // Writes the container. Throws: as its elements do.
  static void save(const T& container, std::ostream& out) {
    detail::save_value(std::string(typeid(T).name()), out);
    detail::save_value(container, out);
  }
  // Replaces the container's contents. Throws: std::runtime_error if another type was saved; as its elements do.
  static void load(T& container, std::istream& in) {
    std::string type;
    detail::load_value(type, in);
    if (type != typeid(T).name()) throw std::runtime_error("it was saved as a container of another type");
    detail::load_value(container, in);
  }
};

}  // namespace cairn
