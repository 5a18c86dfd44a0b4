// Regions as an application sees them: everything that can be protected comes back as it was.
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/facts.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using testing::AllOf;

constexpr const char* kSettings =
    "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n";

using Body = std::function<void(JobSession&)>;

// One run that ends after `first`, and the next one.
void run_twice(const Body& first, const Body& second) {
  Job job({2, 2}, kSettings);
  job.run(first);
  job.run(second);
}

// Protects one number, which is 1, and takes a snapshot.
void keep_a_number(JobSession& session) {
  int a = 1;
  session.protect("a", a);
  session.snapshot();
}

struct Containers {
  std::vector<std::int16_t> numbers;
  std::string text;
  std::vector<float> empty;

  void protect(JobSession& session) {
    session.protect("numbers", numbers);
    session.protect("text", text);
    session.protect("empty", empty);
  }
};

TEST(Regions, containers_come_back_with_the_length_that_they_had) {
  run_twice(
      [](JobSession& session) {
        Containers state{{1, 2, 3}, "a cairn", {}};
        state.protect(session);
        state.numbers.push_back(static_cast<std::int16_t>(session.rank()));
        session.snapshot();
      },
      [](JobSession& session) {
        Containers state{std::vector<std::int16_t>(100, 7), "", {1, 1, 1}};
        state.protect(session);
        EXPECT_TRUE(session.restore().restored);
        EXPECT_THAT(state.numbers, testing::ElementsAre(1, 2, 3, static_cast<std::int16_t>(session.rank())));
        EXPECT_EQ(state.text, "a cairn");
        EXPECT_TRUE(state.empty.empty());
      });
}

enum class Phase : std::uint8_t { cold, warm };
struct Particle {
  double x, y;
  std::int32_t charge;
  std::int32_t id;
  friend bool operator==(const Particle&, const Particle&) = default;
};

struct Values {
  bool flag = false;
  std::uint64_t large = 0;
  Phase phase = Phase::cold;
  Particle one{};
  std::array<double, 3> place{};
  std::vector<Particle> many;
  friend bool operator==(const Values&, const Values&) = default;

  void protect(JobSession& session) {
    session.protect("flag", flag);
    session.protect("large", large);
    session.protect("phase", phase);
    session.protect("one", one);
    session.protect("place", place);
    session.protect("many", many);
  }
};

TEST(Regions, scalars_enums_structs_and_arrays_come_back) {
  const Particle particle{1.5, -2.5, -1, 42};
  const auto values_of = [&](JobSession& session) {
    return Values{true, ~0ULL - session.rank(), Phase::warm, particle, {1, 2, 3}, std::vector<Particle>(5, particle)};
  };
  run_twice(
      [&](JobSession& session) {
        Values values = values_of(session);
        values.protect(session);
        session.snapshot();
      },
      [&](JobSession& session) {
        Values values;
        values.protect(session);
        session.restore();
        EXPECT_EQ(values, values_of(session));
      });
}

TEST(Regions, arrays_behind_pointers_come_back_with_their_shape) {
  run_twice(
      [](JobSession& session) {
        std::vector<std::int32_t> plate(12);
        for (int i = 0; i < 12; ++i) plate[static_cast<std::size_t>(i)] = i * i;
        double line[4] = {1, 2, 3, 4};
        session.protect("plate", plate.data(), std::vector<std::uint64_t>{3, 4});
        session.protect("line", line, 4);
        session.snapshot();
      },
      [](JobSession& session) {
        std::vector<std::int32_t> plate(12);
        double line[4] = {};
        session.protect("plate", plate.data(), std::vector<std::uint64_t>{4, 3});
        session.protect("line", line, 4);
        EXPECT_THAT(thrown_by([&] { session.restore(); }),
                    Fails(ErrorKind::mismatch, {"plate", "int32[4][3]", "int32[3][4]"}));
        session.protect("plate", plate.data(), std::vector<std::uint64_t>{3, 4});
        session.restore();
        EXPECT_EQ(plate[11], 121);
        EXPECT_EQ(line[3], 4.0);
      });
}

TEST(Regions, arrays_whose_pointers_were_swapped_come_back_under_their_names) {
  const auto protect = [](JobSession& session, double*& now, double*& before) {
    session.protect_pointer("now", now, 3);
    session.protect_pointer("before", before, std::vector<std::uint64_t>{3, 1});
  };
  run_twice(
      [&](JobSession& session) {
        double first[3] = {1, 1, 1};
        double second[3] = {2, 2, 2};
        double* now = first;
        double* before = second;
        protect(session, now, before);
        std::swap(now, before);
        session.snapshot();
      },
      [&](JobSession& session) {
        double first[3] = {};
        double second[3] = {};
        double* now = nullptr;
        double* before = second;
        protect(session, now, before);
        EXPECT_THAT(thrown_by([&] { session.restore(); }), Fails(ErrorKind::usage, {"now", "float64[3]"}));
        now = first;
        session.restore();
        EXPECT_THAT(first, testing::Each(2));
        EXPECT_THAT(second, testing::Each(1));
      });
}

TEST(Regions, a_span_saves_and_restores_its_elements_in_place) {
  run_twice(
      [](JobSession& session) {
        std::vector<double> memory{1, 2, 3, 4, 5, 6};
        std::array<std::int32_t, 3> fixed{7, 8, 9};
        session.protect("middle", std::span(memory).subspan(2, 3));
        session.protect("fixed", std::span(fixed));
        session.snapshot();
      },
      [](JobSession& session) {
        std::vector<double> memory(6, -1);
        std::array<std::int32_t, 3> fixed{};
        const std::span<double> middle = std::span(memory).subspan(2, 3);
        session.protect("middle", middle);
        session.protect("fixed", std::span(fixed));
        EXPECT_TRUE(session.restore().restored);
        EXPECT_THAT(memory, testing::ElementsAre(-1, -1, 3, 4, 5, -1));
        EXPECT_THAT(fixed, testing::ElementsAre(7, 8, 9));
      });
}

TEST(Regions, a_region_protected_again_is_replaced) {
  run_twice(
      [](JobSession& session) {
        std::vector<int> old{1};
        std::vector<int> now{2, 3};
        session.protect("it", old);
        session.snapshot();
        session.protect("it", now);
        session.snapshot();
      },
      [](JobSession& session) {
        std::vector<int> it;
        session.protect("it", it);
        session.restore();
        EXPECT_THAT(it, testing::ElementsAre(2, 3));
      });
}

TEST(Regions, an_unprotected_region_is_not_kept) {
  run_twice(
      [](JobSession& session) {
        int a = 1;
        int b = 2;
        session.protect("a", a);
        session.protect("b", b);
        session.unprotect("a");
        EXPECT_THAT(thrown_by([&] { session.unprotect("a"); }), Fails(ErrorKind::usage, {"a", "b", "int32"}));
        session.snapshot();
      },
      [](JobSession& session) {
        int a = 0;
        int b = 0;
        session.protect("a", a);
        session.protect("b", b);
        EXPECT_THAT(thrown_by([&] { session.restore(); }), Fails(ErrorKind::mismatch, {"a", "int32"}));
        session.unprotect("a");
        session.restore();
        EXPECT_EQ(b, 2);
      });
}

TEST(Regions, after_a_failed_restore_snapshots_are_refused_until_one_succeeds) {
  run_twice(keep_a_number, [](JobSession& session) {
    double a = 0;
    int right = 0;
    session.protect("a", a);
    try {
      session.restore();
      ADD_FAILURE() << "another type was accepted";
    } catch (const Exception& error) {
      EXPECT_EQ(error.kind(), ErrorKind::mismatch) << error.what();
    }
    EXPECT_THAT(thrown_by([&] { session.snapshot(); }), Fails(ErrorKind::mismatch, {"restore", "a"}));
    session.protect("a", right);
    session.restore();
    EXPECT_EQ(right, 1);
    EXPECT_THAT(thrown_by([&] { session.snapshot(); }), testing::IsEmpty());
  });
}

TEST(Regions, a_mismatch_names_what_differs_and_nothing_else) {
  const auto protect_same = [](JobSession& session, std::vector<std::int32_t>& same) {
    for (std::size_t i = 0; i < same.size(); ++i) session.protect("same" + std::to_string(i), same[i]);
  };
  run_twice(
      [&](JobSession& session) {
        std::vector<std::int32_t> same(40);
        protect_same(session, same);
        std::array<double, 3> shape{};
        float type = 0;
        session.protect("shape", shape.data(), 3);
        session.protect("type", type);
        session.protect("old", same[0]);
        session.snapshot();
      },
      [&](JobSession& session) {
        std::vector<std::int32_t> same(40);
        protect_same(session, same);
        std::array<double, 3> shape{};
        double type = 0;
        session.protect("shape", shape.data(), 2);
        session.protect("type", type);
        session.protect("new", same[0]);
        EXPECT_THAT(thrown_by([&] { session.restore(); }),
                    AllOf(Fails(ErrorKind::mismatch, {"new", "old", "int32", "shape", "float64[2]", "float64[3]",
                                                      "type", "float64", "float32"}),
                          Not(Fails(ErrorKind::mismatch, {"same0"}))));
      });
}

TEST(Regions, a_mismatch_on_one_rank_is_a_mismatch_on_all) {
  run_twice(keep_a_number, [](JobSession& session) {
    int a = 0;
    session.protect(session.rank() == 1 ? "another name" : "a", a);
    EXPECT_THAT(thrown_by([&] { session.restore(); }), Fails(ErrorKind::mismatch, {"rank 1", "another name"}));
  });
}

TEST(Regions, one_can_be_restored_by_name_and_the_others_stay) {
  Job job({2, 2}, kSettings);
  job.run([](JobSession& session) {
    std::vector<int> a{1};
    int b = 2;
    session.protect("a", a);
    session.protect("b", b);
    session.snapshot();
    session.wait(LevelId::local);
    a = {7, 8};
    b = 9;
    session.restore("a");
    EXPECT_THAT(a, testing::ElementsAre(1));
    EXPECT_EQ(b, 9);
    EXPECT_THAT(thrown_by([&] { session.restore("c"); }), Fails(ErrorKind::mismatch, {"c"}));
    EXPECT_THAT(thrown_by([&] { session.restore(""); }), Fails(ErrorKind::usage, {"restore"}));
    session.restore();
    EXPECT_EQ(b, 2);
  });
}

TEST(Regions, may_differ_from_rank_to_rank) {
  const auto protect = [](JobSession& session, std::map<std::string, std::vector<double>>& fields) {
    for (std::uint32_t i = 0; i <= session.rank(); ++i)
      session.protect("field" + std::to_string(i), fields["f" + std::to_string(i)]);
  };
  run_twice(
      [&](JobSession& session) {
        std::map<std::string, std::vector<double>> fields;
        protect(session, fields);
        for (auto& [name, field] : fields) field = sample_state(session.rank(), name.back());
        session.snapshot();
      },
      [&](JobSession& session) {
        std::map<std::string, std::vector<double>> fields;
        protect(session, fields);
        session.restore();
        EXPECT_EQ(fields.size(), session.rank() + 1);
        for (auto& [name, field] : fields) EXPECT_EQ(field, sample_state(session.rank(), name.back())) << name;
      });
}

TEST(Regions, a_job_without_any_has_snapshots_too) {
  run_twice([](JobSession& session) { EXPECT_EQ(session.snapshot(), 1U); },
            [](JobSession& session) { EXPECT_TRUE(session.restore().restored); });
}

// A run that dies, and in which nothing was thrown that was not caught.
void run_once(const Body& body) {
  Job job({2, 2}, kSettings);
  job.run_and_die(body);
  EXPECT_TRUE(job.errors().empty()) << job.errors().begin()->second;
}

// All ways to protect a region with a kind.
struct WithKinds {
  int step = 0;
  std::vector<double> x{0, 0};
  std::vector<double> fixed{0, 0};
  std::array<std::int64_t, 3> ids{};
  double* grid = x.data();

  void protect(JobSession& session) {
    session.protect("step", step, same);
    session.protect("x", x, sequence_part(2 * session.rank(), 2));
    session.protect("like x", fixed, fixed_size, like("x"));
    session.protect("span", std::span(ids), sequence);
    session.protect("ids", ids.data(), ids.size(), of_rank(session.rank()));
    session.protect("shape", ids.data(), {3, 1}, sequence);
    session.protect_pointer("grid", grid, x.size(), of_rank(session.rank()));
    session.protect_pointer("grid shape", grid, {1, 2}, sequence);
  }
};

TEST(Regions, with_kinds_come_back_on_the_same_ranks_as_without) {
  run_twice(
      [](JobSession& session) {
        WithKinds state{7, {1, 2}, {3, 4}, {5, 6, session.rank()}};
        state.protect(session);
        EXPECT_THAT(thrown_by([&] { session.protect("y", state.step, sequence); }), Fails(ErrorKind::usage, {"\"y\""}));
        session.snapshot();
      },
      [](JobSession& session) {
        WithKinds state;
        state.protect(session);
        EXPECT_TRUE(session.restore().restored);
        EXPECT_EQ(state.step, 7);
        EXPECT_THAT(state.x, testing::ElementsAre(1, 2));
        EXPECT_THAT(state.fixed, testing::ElementsAre(3, 4));
        EXPECT_EQ(state.ids[2], session.rank());
      });
}

TEST(Regions, a_null_pointer_is_an_error_that_names_the_region) {
  run_once([](JobSession& session) {
    double* nothing = nullptr;
    session.protect("nothing", nothing, 0);
    EXPECT_EQ(session.snapshot(), 1U);
    session.wait(LevelId::local);
    session.protect("nothing", nothing, 3);
    EXPECT_THAT(thrown_by([&] { session.snapshot(); }), Fails(ErrorKind::usage, {"nothing", "float64[3]"}));
  });
}

TEST(Regions, names_are_checked) {
  Job job({2}, "[levels]\nl2 = off\nl3 = off\nl4 = off\n");
  job.run([](JobSession& session) {
    int a = 0;
    for (const std::string& name :
         {std::string(), std::string("a/b"), std::string("."), std::string("a\nb"), std::string(256, 'x')}) {
      EXPECT_THAT(thrown_by([&] { session.protect(name, a); }), Fails(ErrorKind::usage, {"name"})) << name;
    }
    EXPECT_THAT(thrown_by([&] { session.protect(std::string(255, 'x'), a); }), testing::IsEmpty());
    EXPECT_THAT(thrown_by([&] { session.protect("Temperatur der Platte, °C", a); }), testing::IsEmpty());
  });
}

TEST(Regions, a_container_in_a_global_array_must_hold_whole_rows) {
  run_once([](JobSession& session) {
    std::vector<double> rows(10);
    session.protect("rows", rows, GlobalPlace{{8, 5}, {2 * session.rank(), 0}});
    EXPECT_EQ(session.snapshot(), 1U);
    session.wait(LevelId::local);
    rows.resize(11);
    EXPECT_THAT(thrown_by([&] { session.snapshot(); }), Fails(ErrorKind::usage, {"rows", "11", "5"}));
  });
}

TEST(Calls, after_finalize_are_errors_that_say_so) {
  run_once([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    session.finalize();
    EXPECT_THAT(thrown_by([&] { session.snapshot(); }), Fails(ErrorKind::usage, {"snapshot", "finalize"}));
    EXPECT_THAT(thrown_by([&] { session.restore(); }), Fails(ErrorKind::usage, {"restore", "finalize"}));
    EXPECT_THAT(thrown_by([&] { session.wait(LevelId::local); }), Fails(ErrorKind::usage, {"wait", "finalize"}));
    EXPECT_THAT(thrown_by([&] { session.finalize(); }), Fails(ErrorKind::usage, {"finalize"}));
  });
}

}  // namespace
}  // namespace cairn::test
