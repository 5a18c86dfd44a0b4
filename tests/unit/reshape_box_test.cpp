// Boxes, tiles and local arrays, each compared with all elements one by one.
#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "base/mix.hpp"
#include "reshape/local_array.hpp"
#include "reshape/tiles.hpp"

namespace cairn::reshape {
namespace {

using Random = std::mt19937_64;
using Index = std::vector<std::int64_t>;

std::int64_t draw(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

Box draw_box(Random& random, std::size_t dimensions) {
  Box box;
  for (std::size_t d = 0; d < dimensions; ++d) {
    box.first.push_back(draw(random, -4, 6));
    box.extent.push_back(static_cast<std::uint64_t>(draw(random, 0, 6)));
  }
  return box;
}

// All elements, in row-major order.
std::vector<Index> elements_of(const Box& box) {
  std::vector<Index> all{{}};
  for (std::size_t d = 0; d < box.dimensions(); ++d) {
    std::vector<Index> longer;
    for (const Index& index : all) {
      for (std::int64_t i = box.first[d]; i < box.end(d); ++i) {
        longer.push_back(index);
        longer.back().push_back(i);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::map<Index, int> count(const std::vector<Box>& boxes) {
  std::map<Index, int> times;
  for (const Box& box : boxes) {
    for (const Index& index : elements_of(box)) ++times[index];
  }
  return times;
}

TEST(Box, intersection_and_difference_are_those_of_the_elements) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto dimensions = static_cast<std::size_t>(draw(random, 0, 3));
    const Box a = draw_box(random, dimensions);
    const Box b = draw_box(random, dimensions);
    std::map<Index, int> common;
    std::map<Index, int> rest;
    const auto in_b = count({b});
    for (const Index& index : elements_of(a)) ++(in_b.contains(index) ? common : rest)[index];
    const auto found = intersection(a, b);
    ASSERT_EQ(count(found ? std::vector<Box>{*found} : std::vector<Box>{}), common) << text(a) << " " << text(b);
    ASSERT_FALSE(found && found->empty());
    ASSERT_EQ(count(difference(a, b)), rest) << text(a) << " " << text(b);
    ASSERT_EQ(contains(b, a) || a.empty(), rest.empty()) << text(a) << " " << text(b);
  }
}

TEST(Box, is_cut_into_pieces_in_rising_order) {
  Random random(2);
  for (int i = 0; i < 1000; ++i) {
    const Box box = draw_box(random, static_cast<std::size_t>(draw(random, 0, 4)));
    const auto most = static_cast<std::uint64_t>(draw(random, 0, 20));
    std::vector<Index> all;
    for (const Box& piece : pieces(box, most)) {
      ASSERT_LE(piece.elements(), std::max<std::uint64_t>(1, most));
      ASSERT_FALSE(piece.empty());
      std::ranges::move(elements_of(piece), std::back_inserter(all));
    }
    ASSERT_EQ(all, elements_of(box)) << text(box) << " in pieces of " << most;
  }
}

TEST(Box, of_a_large_array_needs_no_product_that_overflows) {
  const Box box{{0, 0}, {1ULL << 28U, 1ULL << 28U}};
  const auto some = pieces(Box{{0, 0}, {2, 1ULL << 56U}}, 1ULL << 55U);
  ASSERT_EQ(some.size(), 4U);
  EXPECT_EQ(some.back().first, (Index{1, 1LL << 55U}));
  EXPECT_EQ(box.elements(), 1ULL << 56U);
  EXPECT_FALSE(is_sane({{0}, {~0ULL}}));
  EXPECT_FALSE(is_sane({{-(1LL << 62U)}, {1}}));
}

TEST(EvenShare, differs_by_one_element_at_most_and_covers_all) {
  for (std::uint64_t elements = 0; elements < 40; ++elements) {
    for (std::uint64_t parts = 1; parts < 20; ++parts) {
      std::uint64_t next = 0;
      for (std::uint64_t part = 0; part < parts; ++part) {
        const Cut cut = even_share(elements, part, parts);
        ASSERT_EQ(cut.first, next);
        ASSERT_TRUE(cut.count == elements / parts || cut.count == elements / parts + 1);
        for (std::uint64_t i = 0; i < cut.count; ++i) ASSERT_EQ(part_of(cut.first + i, elements, parts), part);
        next += cut.count;
      }
      ASSERT_EQ(next, elements);
    }
  }
  // The product of elements and part would overflow.
  EXPECT_EQ(even_share(1ULL << 57U, 39'999, 40'000).first + even_share(1ULL << 57U, 39'999, 40'000).count, 1ULL << 57U);
}

TEST(Tiles, cover_the_array_once_and_are_found_by_each_box) {
  Random random(3);
  for (int i = 0; i < 500; ++i) {
    const auto dimensions = static_cast<std::size_t>(draw(random, 1, 3));
    std::vector<std::uint64_t> shape;
    std::vector<std::uint64_t> mean;
    for (std::size_t d = 0; d < dimensions; ++d) {
      shape.push_back(static_cast<std::uint64_t>(draw(random, 0, 9)));
      mean.push_back(static_cast<std::uint64_t>(draw(random, 0, 9)));
    }
    const auto most = static_cast<std::uint64_t>(draw(random, 1, 40));
    const Tiles tiles(shape, mean, most);
    ASSERT_LE(tiles.count(), most);
    std::vector<Box> all;
    for (std::uint64_t tile = 0; tile < tiles.count(); ++tile) all.push_back(tiles.tile(tile));
    ASSERT_EQ(count(all), count({whole(shape)}));
    const auto box = intersection(draw_box(random, dimensions), whole(shape));
    if (!box) continue;
    std::vector<std::uint64_t> expected;
    for (std::uint64_t tile = 0; tile < tiles.count(); ++tile) {
      if (intersection(all[tile], *box)) expected.push_back(tile);
    }
    std::vector<std::uint64_t> touched;
    tiles.touched(*box, [&](std::uint64_t tile) { touched.push_back(tile); });
    ASSERT_EQ(touched, expected);
  }
}

// Ranges of the linear order would all be touched by each column.
TEST(Tiles, have_the_shape_of_the_boxes) {
  const std::vector<std::uint64_t> shape{100'000, 100'000};
  const Tiles columns(shape, {100'000, 25}, 4000);
  std::uint64_t touched = 0;
  columns.touched({{0, 500}, {100'000, 25}}, [&](std::uint64_t) { ++touched; });
  EXPECT_LE(touched, 2U);
  const Tiles mixed(shape, {50'000, 50'000}, 4000);
  touched = 0;
  mixed.touched({{0, 500}, {100'000, 25}}, [&](std::uint64_t) { ++touched; });
  EXPECT_LE(touched, 2 * 64U);
}

struct File {
  Buffer bytes;
  int reads = 0;
  [[nodiscard]] ReadRuns reader() {
    return [this](std::span<const Run> runs) {
      ++reads;
      std::uint64_t end = 0;
      for (const auto& [offset, into] : runs) {
        if (into.empty() || offset < end) return Status(fail(Code::invalid_argument, "empty, or not in order"));
        end = offset + into.size();
        if (end > bytes.size()) return Status(fail(Code::corrupt, "beyond the end"));
        copy_bytes(Bytes(bytes).subspan(offset, into.size()), into);
      }
      return Status{};
    };
  }
};

// The part, end to end.
Status read_alone(const LocalArray& array, const ReadRuns& read, const Box& part, MutableBytes into) {
  return read_part(array, read, alone(array, part), into, part);
}

Buffer random_bytes(Random& random, std::size_t size) {
  Buffer bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(LocalArray, copies_boxes_out_and_in) {
  Random random(4);
  for (int i = 0; i < 1000; ++i) {
    const LocalArray array{draw_box(random, static_cast<std::size_t>(draw(random, 0, 4))),
                           static_cast<std::uint64_t>(draw(random, 1, 5))};
    const Box other = draw_box(random, array.box.dimensions());
    const Box part = intersection(array.box, other)
                         .value_or(Box{array.box.first, std::vector<std::uint64_t>(array.box.dimensions(), 0)});
    if (part.empty() && !array.box.empty() && array.box.dimensions() > 0 && i % 7 != 0) continue;
    File file{random_bytes(random, array.size_bytes())};
    const auto all = elements_of(array.box);
    const auto number = [&](const Index& index) {
      return static_cast<std::uint64_t>(std::ranges::find(all, index) - all.begin()) * array.element_bytes;
    };
    Buffer expected;
    for (const Index& index : elements_of(part)) {
      const Bytes element = Bytes(file.bytes).subspan(number(index), array.element_bytes);
      expected.insert(expected.end(), element.begin(), element.end());
    }
    Buffer packed(part.elements() * array.element_bytes);
    ASSERT_TRUE(read_alone(array, file.reader(), part, packed));
    ASSERT_EQ(packed, expected);
    ASSERT_FALSE(first_difference(array, file.bytes, part, packed));

    const Buffer fresh = random_bytes(random, packed.size());
    Buffer memory = file.bytes;
    write_part(array, memory, part, fresh);
    ASSERT_TRUE(read_alone(array, File{memory}.reader(), part, packed));
    ASSERT_EQ(packed, fresh);
    for (const Index& index : all) {
      if (contains(part, Box{index, std::vector<std::uint64_t>(index.size(), 1)})) continue;
      ASSERT_TRUE(std::equal(memory.begin() + static_cast<std::ptrdiff_t>(number(index)),
                             memory.begin() + static_cast<std::ptrdiff_t>(number(index) + array.element_bytes),
                             file.bytes.begin() + static_cast<std::ptrdiff_t>(number(index))));
    }
  }
}

TEST(LocalArray, names_the_first_element_that_differs) {
  const LocalArray array{{{-1, 0}, {3, 4}}, 2};
  Buffer memory(array.size_bytes());
  const Box part{{0, 1}, {2, 3}};
  Buffer other(part.elements() * 2);
  other[9] = std::byte{1};
  other[11] = std::byte{1};
  EXPECT_EQ(first_difference(array, memory, part, other), (Box{{1, 2}, {1, 1}}));
}

TEST(LocalArray, reads_a_part_straight_to_its_place_in_another_array) {
  Random random(5);
  for (int i = 0; i < 1000; ++i) {
    const LocalArray from{draw_box(random, static_cast<std::size_t>(draw(random, 0, 4))),
                          static_cast<std::uint64_t>(draw(random, 1, 5))};
    LocalArray to{draw_box(random, from.box.dimensions()), from.element_bytes};
    const auto part = intersection(from.box, to.box);
    if (!part) continue;
    File file{random_bytes(random, from.size_bytes())};
    Buffer packed(part->elements() * from.element_bytes);
    ASSERT_TRUE(read_alone(from, file.reader(), *part, packed));
    Buffer memory = random_bytes(random, to.size_bytes());
    Buffer expected = memory;
    write_part(to, expected, *part, packed);
    ASSERT_TRUE(read_part(from, file.reader(), to, memory, *part));
    ASSERT_EQ(memory, expected) << text(*part) << " of " << text(from.box) << " in " << text(to.box);
  }
}

TEST(LocalArray, reads_many_runs_at_once) {
  const LocalArray rows{{{0, 0}, {5000, 64}}, 8};
  File file{Buffer(rows.size_bytes())};
  Buffer column(5000 * 8);
  ASSERT_TRUE(read_alone(rows, file.reader(), {{0, 3}, {5000, 1}}, column));
  EXPECT_EQ(file.reads, 2);
  file.reads = 0;
  ASSERT_TRUE(read_part(rows, file.reader(), rows, file.bytes, rows.box));
  EXPECT_EQ(file.reads, 1);
}

TEST(LocalArray, hands_on_the_error_of_its_reader) {
  const LocalArray array{{{0, 0}, {3, 5}}, 2};
  const ReadRuns bad = [](std::span<const reshape::Run>) { return Status(fail(Code::corrupt, "a bad block")); };
  Buffer into(6);
  const auto status = read_alone(array, bad, {{0, 1}, {3, 1}}, into);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::corrupt);
}

}  // namespace
}  // namespace cairn::reshape
