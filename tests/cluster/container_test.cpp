// Containers of the standard library as objects, and types that say how they are stored.
#include <algorithm>
#include <array>
#include <deque>
#include <istream>
#include <list>
#include <map>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <cairn/containers.hpp>

#include "support/facts.hpp"
#include "support/job.hpp"

namespace cairn::test {
namespace {

// Plain memory, but its specialization says that it is stored as text.
struct Temperature {
  double degrees = 0;
  friend bool operator==(const Temperature&, const Temperature&) = default;
};
struct Unknown {
  std::map<int, int> hidden;
};

}  // namespace
}  // namespace cairn::test

template <>
struct cairn::region_traits<cairn::test::Temperature> {
  static void save(const test::Temperature& one, std::ostream& out) { out << one.degrees << ' '; }
  static void load(test::Temperature& one, std::istream& in) {
    in >> one.degrees;
    in.get();
  }
};

namespace cairn::test {
namespace {

constexpr const char* kContainerSettings =
    "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n";

struct Everything {
  std::map<std::string, std::vector<double>> fields;
  std::unordered_map<int, std::string> names;
  std::set<std::pair<int, int>> edges;
  std::multimap<int, std::optional<std::string>> many;
  std::list<std::string> lines;
  std::deque<std::vector<bool>> bits;
  std::vector<std::string> words;
  std::array<std::vector<int>, 2> halves;
  std::tuple<int, std::string, Temperature> record;
  std::vector<std::map<int, Temperature>> nested;
  Temperature temperature;
  std::mt19937_64 engine{7};
  std::normal_distribution<double> normal{0, 1};
  friend bool operator==(const Everything&, const Everything&) = default;

  void protect(JobSession& session) {
    session.protect("fields", fields);
    session.protect("names", names);
    session.protect("edges", edges);
    session.protect("many", many);
    session.protect("lines", lines);
    session.protect("bits", bits);
    session.protect("words", words);
    session.protect("halves", halves);
    session.protect("record", record, of_rank(session.rank()));
    session.protect("nested", nested);
    session.protect("temperature", temperature);
    session.protect("engine", engine);
    session.protect("normal", normal);
  }
};

Everything everything(std::uint32_t rank) {
  const std::string own(rank + 1, 'r');
  Everything all{.fields = {{own, {1, 2, 3}}, {"", {}}},
                 .names = {{1, "one"}, {2, own}},
                 .edges = {{1, 2}, {2, 3}},
                 .many = {{1, "a"}, {1, std::nullopt}, {2, own}},
                 .lines = {"a line", ""},
                 .bits = {{true, false, true}, {}},
                 .words = {own, "word"},
                 .halves = {{{1, 2}, {3}}},
                 .record = {5, own, {1.5}},
                 .nested = {{{1, {2.5}}}, {}},
                 .temperature = {-3.5}};
  all.engine.discard(rank + 3);
  (void)all.normal(all.engine);
  return all;
}

TEST(Containers, of_the_standard_library_come_back) {
  Job job({2, 2}, kContainerSettings);
  job.run([](JobSession& session) {
    Everything all = everything(session.rank());
    all.protect(session);
    session.snapshot();
  });
  job.run([](JobSession& session) {
    Everything all;
    all.lines = {"other"};
    all.words = {"other"};
    all.protect(session);
    EXPECT_TRUE(session.restore().restored);
    EXPECT_EQ(all, everything(session.rank()));
  });
}

TEST(Containers, of_another_type_are_refused) {
  Job job({2, 2}, kContainerSettings);
  job.run([](JobSession& session) {
    std::map<int, double> map{{1, 2}};
    session.protect("map", map);
    session.snapshot();
  });
  job.run_and_die([](JobSession& session) {
    std::map<double, int> map;
    session.protect("map", map);
    EXPECT_THAT(thrown_by([&] { session.restore(); }), Fails(ErrorKind::mismatch, {"\"map\"", "another type"}));
  });
}

template <class T>
concept CanBeProtected = requires(JobSession& session, T& object) {
  session.protect("x", object);
};

TEST(Containers, are_told_from_plain_memory_and_from_what_nobody_can_store) {
  static_assert(!HasRegionTraits<std::vector<double>> && !HasRegionTraits<std::string>);
  static_assert(!HasRegionTraits<std::array<int, 3>> && !HasRegionTraits<std::optional<int>>);
  static_assert(HasRegionTraits<std::vector<bool>> && HasRegionTraits<std::vector<std::string>>);
  static_assert(Storable<std::mt19937> && Storable<std::ranlux48> && Storable<std::uniform_real_distribution<float>>);
  static_assert(CanBeProtected<std::map<int, int>> && !CanBeProtected<Unknown>);
}

}  // namespace
}  // namespace cairn::test
