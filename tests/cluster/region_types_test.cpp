// Which types an application can protect, as the compiler sees it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "support/job.hpp"

namespace cairn::test {
namespace {

struct Linked {
  double value;
  Linked* next;
};
struct Cell {
  double value;
  std::uint32_t next;
};

}  // namespace
}  // namespace cairn::test

template <>
struct cairn::holds_addresses<cairn::test::Linked> : std::true_type {};

namespace cairn::test {
namespace {

template <class... Arguments>
concept Protectable = requires(JobSession& session, Arguments... arguments) {
  session.protect("x", arguments...);
};

TEST(Regions, what_holds_addresses_or_cannot_be_written_is_refused_when_it_is_compiled) {
  static_assert(Protectable<Cell&> && Protectable<std::vector<Cell>&> && Protectable<Cell*, std::size_t>);
  static_assert(Protectable<double(&)[3]> && Protectable<std::array<double, 3>&> && Protectable<std::optional<int>&>);
  static_assert(Protectable<std::span<double>> && Protectable<std::span<double, 3>&>);

  static_assert(!Protectable<double*&> && !Protectable<double**, std::size_t> && !Protectable<void*&>);
  static_assert(!Protectable<int Cell::*&> && !Protectable<void (*&)()> && !Protectable<std::nullptr_t&>);
  static_assert(!Protectable<double*(&)[3]> && !Protectable<std::array<double*, 3>&>);
  static_assert(!Protectable<std::optional<double*>&> && !Protectable<std::variant<int, double*>&>);
  static_assert(!Protectable<std::vector<double*>&> && !Protectable<std::vector<std::string_view>&>);
  static_assert(!Protectable<std::vector<std::span<double>>&> && !Protectable<std::vector<std::string>&>);
  static_assert(!Protectable<std::string_view&> && !Protectable<std::initializer_list<int>&>);
  static_assert(!Protectable<std::reference_wrapper<int>&> && !Protectable<std::vector<int>::iterator&>);
  static_assert(!Protectable<const double&> && !Protectable<const double*, std::size_t>);
  static_assert(!Protectable<const double(&)[3]> && !Protectable<const std::vector<double>&>);
  static_assert(!Protectable<std::span<const double>> && !Protectable<std::span<double*>>);
  static_assert(!Protectable<Linked&> && !Protectable<std::vector<Linked>&> && !Protectable<std::array<Linked, 2>&>);
}

}  // namespace
}  // namespace cairn::test
