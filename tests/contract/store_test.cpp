// What every Store promises: one suite, run on tmpfs, on disk and in memory.
#include "store/store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include "contract/sample_store.hpp"
#include "store/memory/memory_store.hpp"
#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"
#include "support/temp_directory.hpp"

namespace cairn {
namespace {

// A store, and whatever has to live as long as it.
struct Opened {
  std::unique_ptr<test::TempDirectory> directory;
  std::shared_ptr<Store> store;
};

Opened open_posix(const std::string& parent) {
  Opened opened{std::make_unique<test::TempDirectory>(parent), nullptr};
  PosixOptions options;
  options.lock_patience = std::chrono::milliseconds(0);
  auto store = PosixStore::open(opened.directory->path() + "/not/there/yet", "heat", options);
  EXPECT_TRUE(store) << store.error().text();
  opened.store = store.value_or(nullptr);
  return opened;
}

struct Kind {
  std::string name;
  Opened (*open)();

  friend void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }
};

class StoreContract : public testing::TestWithParam<Kind> {
 protected:
  Status put(const FileName& name, Bytes bytes, const std::string& owner = {}) {
    auto writer = store().create(name, bytes.size(), owner);
    if (!writer) return fail(writer.error());
    const auto written = (*writer)->write(0, bytes);
    return written ? (*writer)->commit(bytes.size(), false) : written;
  }

  [[nodiscard]] Buffer get(const FileName& name) const {
    const auto reader = opened_.store->open(name);
    EXPECT_TRUE(reader) << reader.error().text();
    if (!reader) return {};
    Buffer bytes((*reader)->size_bytes());
    const auto read = (*reader)->read(0, bytes);
    EXPECT_TRUE(read) << read.error().text();
    return bytes;
  }

  [[nodiscard]] std::vector<std::string> listed(const std::string& directory) const {
    const auto entries = opened_.store->list(DirName{directory});
    EXPECT_TRUE(entries) << entries.error().text();
    std::vector<std::string> names;
    for (const Entry& entry : entries.value_or(std::vector<Entry>{})) names.push_back(entry.name);
    return names;
  }

  [[nodiscard]] Code code_of_opening(const FileName& name) const {
    const auto reader = opened_.store->open(name);
    EXPECT_FALSE(reader);
    return reader ? Code::io : reader.error().code;
  }

  Store& store() { return *opened_.store; }

 private:
  Opened opened_ = GetParam().open();
};

// Bytes that no two places or seeds share.
Buffer pattern(std::size_t size_bytes, unsigned seed) {
  std::mt19937 random(seed);
  Buffer bytes(size_bytes);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

using test::Fails;
using test::kShard;

TEST_P(StoreContract, a_committed_file_reads_back_byte_for_byte) {
  const Buffer bytes = pattern(3 * kMiB + 17, 1);
  ASSERT_TRUE(put(kShard, bytes));
  EXPECT_EQ(get(kShard), bytes);
}

TEST_P(StoreContract, an_empty_file_is_a_file) {
  ASSERT_TRUE(put(kShard, {}));
  EXPECT_EQ(get(kShard).size(), 0U);
}

TEST_P(StoreContract, nothing_is_visible_before_commit_nor_after_a_dropped_writer) {
  {
    auto writer = store().create(kShard, 100, "rank0");
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->write(0, pattern(100, 1)));
    EXPECT_TRUE(listed("v1").empty());
    EXPECT_EQ(code_of_opening(kShard), Code::not_found);
  }
  EXPECT_TRUE(listed("v1").empty());
  EXPECT_EQ(code_of_opening(kShard), Code::not_found);
}

TEST_P(StoreContract, a_dropped_writer_leaves_the_old_file_whole) {
  const Buffer old = pattern(5000, 1);
  ASSERT_TRUE(put(kShard, old));
  {
    auto writer = store().create(kShard, 5000, "rank0");
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->write(0, pattern(5000, 2)));
    EXPECT_EQ(get(kShard), old);
  }
  EXPECT_EQ(get(kShard), old);
}

TEST_P(StoreContract, a_commit_replaces_the_file_of_that_name) {
  ASSERT_TRUE(put(kShard, pattern(5000, 1), "rank0"));
  ASSERT_TRUE(put(kShard, pattern(300, 2), "rank0"));
  EXPECT_EQ(get(kShard), pattern(300, 2));
  EXPECT_EQ(listed("v1"), std::vector<std::string>{"rank0"});
}

TEST_P(StoreContract, commit_cuts_the_file_or_lets_it_grow) {
  for (const std::uint64_t size : {std::uint64_t{10}, std::uint64_t{100}, std::uint64_t{9000}}) {
    auto writer = store().create(kShard, 100, {});
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->write(0, pattern(100, 1)));
    ASSERT_TRUE((*writer)->commit(size, true));
    EXPECT_EQ(get(kShard).size(), size);
  }
}

TEST_P(StoreContract, writes_in_any_order_and_beyond_the_announced_size_are_kept) {
  const Buffer bytes = pattern(10'000, 3);
  const Bytes view = bytes;
  auto writer = store().create(kShard, 4000, "rank0");
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->write(9000, view.subspan(9000)));
  ASSERT_TRUE((*writer)->write(3000, view.subspan(3000, 6000)));
  ASSERT_TRUE((*writer)->write(0, view.first(3000)));
  Buffer back(7000);
  ASSERT_TRUE((*writer)->read(2000, back));
  EXPECT_TRUE(std::equal(back.begin(), back.end(), bytes.begin() + 2000));
  ASSERT_TRUE((*writer)->commit(bytes.size(), false));
  EXPECT_EQ(get(kShard), bytes);
}

TEST_P(StoreContract, a_mapping_is_the_announced_size_and_is_the_file) {
  const Buffer bytes = pattern(5000, 4);
  auto writer = store().create(kShard, bytes.size(), "rank0");
  ASSERT_TRUE(writer);
  const MutableBytes mapped = (*writer)->mapping();
  EXPECT_TRUE(mapped.empty() || mapped.size() == bytes.size()) << mapped.size();
  ASSERT_TRUE((*writer)->write(0, bytes));
  if (!mapped.empty()) mapped[17] = std::byte{1};
  ASSERT_TRUE((*writer)->commit(bytes.size(), false));
  EXPECT_TRUE((*writer)->mapping().empty());

  Buffer expected = bytes;
  if (!mapped.empty()) expected[17] = std::byte{1};
  EXPECT_EQ(get(kShard), expected);
}

TEST_P(StoreContract, a_committed_writer_refuses_to_go_on) {
  auto writer = store().create(kShard, 10, {});
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->commit(10, false));
  EXPECT_EQ((*writer)->write(0, pattern(1, 1)).error().code, Code::invalid_argument);
  EXPECT_EQ((*writer)->commit(10, false).error().code, Code::invalid_argument);
}

TEST_P(StoreContract, reading_past_the_end_is_corrupt_and_names_the_file) {
  ASSERT_TRUE(put(kShard, pattern(100, 1)));
  const auto reader = store().open(kShard);
  ASSERT_TRUE(reader);
  Buffer into(50);
  EXPECT_TRUE((*reader)->read(50, into));
  for (const std::uint64_t offset : {std::uint64_t{51}, std::uint64_t{100}, ~std::uint64_t{0}}) {
    const auto read = (*reader)->read(offset, into);
    EXPECT_THAT(read, Fails(Code::corrupt, {"v1/rank0"})) << offset;
  }
}

TEST_P(StoreContract, a_missing_file_is_not_found_and_named) {
  for (const std::string name : {"v1/rank0", "manifest.json"}) {
    const auto reader = store().open(FileName{name});
    EXPECT_THAT(reader, Fails(Code::not_found, {name}));
    EXPECT_EQ(store().sync(FileName{name}).error().code, Code::not_found);
    EXPECT_EQ(store().patch(FileName{name}, 0, pattern(1, 1)).error().code, Code::not_found);
  }
}

TEST_P(StoreContract, names_that_leave_the_store_or_belong_to_it_are_refused) {
  for (const std::string name : {"", "..", "../x", "v1/../x", "/etc/passwd", "v1/", "/v1", "v1/a/b", ".hidden",
                                 "v1/.hidden", "lock", "bell", "recycle", "recycle/x"}) {
    const auto writer = store().create(FileName{name}, 1, {});
    ASSERT_FALSE(writer) << name;
    EXPECT_EQ(writer.error().code, Code::invalid_argument) << name;
    EXPECT_EQ(code_of_opening(FileName{name}), Code::invalid_argument) << name;
  }
}

TEST_P(StoreContract, patch_overwrites_inside_and_never_beyond) {
  Buffer bytes = pattern(100, 1);
  ASSERT_TRUE(put(kShard, bytes));
  const Buffer patch = pattern(10, 2);
  ASSERT_TRUE(store().patch(kShard, 90, patch));
  std::copy(patch.begin(), patch.end(), bytes.begin() + 90);
  EXPECT_EQ(get(kShard), bytes);
  EXPECT_EQ(store().patch(kShard, 91, patch).error().code, Code::invalid_argument);
  EXPECT_EQ(get(kShard), bytes);
}

TEST_P(StoreContract, lists_in_name_order_with_sizes_and_nothing_of_its_own) {
  ASSERT_TRUE(put(FileName{"v2/b"}, pattern(7, 1)));
  ASSERT_TRUE(put(FileName{"v2/a"}, pattern(5, 1), "rank0"));
  ASSERT_TRUE(put(FileName{"run.json"}, pattern(3, 1)));
  ASSERT_TRUE(put(FileName{"v2/c"}, pattern(9, 1), "rank0"));
  ASSERT_TRUE(store().retire(FileName{"v2/c"}, "rank0"));
  const auto lock = store().lock();
  const auto bell = store().bell();
  const auto writing = store().create(FileName{"v2/d"}, 10, "rank0");
  ASSERT_TRUE(lock && bell && writing);

  const auto top = store().list(DirName{});
  ASSERT_TRUE(top);
  ASSERT_EQ(top->size(), 2U);
  EXPECT_EQ((*top)[0].name, "run.json");
  EXPECT_EQ((*top)[0].size_bytes, 3U);
  EXPECT_FALSE((*top)[0].directory);
  EXPECT_EQ((*top)[1].name, "v2");
  EXPECT_TRUE((*top)[1].directory);
  EXPECT_EQ(listed("v2"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(store().list(DirName{"v2"})->at(1).size_bytes, 7U);
  EXPECT_TRUE(listed("v3").empty());
}

TEST_P(StoreContract, a_retired_file_is_gone_and_its_owner_gets_it_back) {
  ASSERT_TRUE(put(kShard, pattern(64 * kKiB, 1), "rank0"));
  ASSERT_TRUE(store().retire(kShard, "rank0"));
  EXPECT_TRUE(listed("v1").empty());
  EXPECT_EQ(code_of_opening(kShard), Code::not_found);

  auto writer = store().create(FileName{"v2/rank0"}, 64 * kKiB, "rank0");
  ASSERT_TRUE(writer);
  Buffer tail(100);
  ASSERT_TRUE((*writer)->read(60 * kKiB, tail));
  const Buffer old = pattern(64 * kKiB, 1);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), old.begin() + 60 * kKiB));
  Buffer head(4 * kKiB);
  ASSERT_TRUE((*writer)->read(0, head));
  EXPECT_EQ(head, Buffer(4 * kKiB));
}

TEST_P(StoreContract, a_retired_file_is_no_other_owner_s) {
  ASSERT_TRUE(put(kShard, pattern(64 * kKiB, 1), "rank0"));
  ASSERT_TRUE(store().retire(kShard, "rank0"));
  for (const std::string owner : {"rank1", "rank", ""}) {
    auto writer = store().create(FileName{"v2/rank1"}, 64 * kKiB, owner);
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->write(64 * kKiB - 1, Buffer(1)));
    Buffer bytes(64 * kKiB);
    ASSERT_TRUE((*writer)->read(0, bytes));
    EXPECT_EQ(bytes, Buffer(64 * kKiB)) << owner;
  }
}

TEST_P(StoreContract, a_recycled_file_takes_the_new_bytes_whether_larger_or_smaller) {
  for (const std::size_t size : {std::size_t{50'000}, std::size_t{200'000}, std::size_t{10}, std::size_t{120'000}}) {
    const Buffer bytes = pattern(size, static_cast<unsigned>(size));
    ASSERT_TRUE(put(kShard, bytes, "rank0"));
    EXPECT_EQ(get(kShard), bytes);
    ASSERT_TRUE(store().retire(kShard, "rank0"));
  }
}

TEST_P(StoreContract, what_is_missing_is_retired_and_removed_without_complaint) {
  EXPECT_TRUE(store().retire(kShard, "rank0"));
  EXPECT_TRUE(store().remove(kShard));
  EXPECT_TRUE(store().remove(FileName{"run.json"}));
  EXPECT_TRUE(store().remove_directory(DirName{"v1"}));
}

TEST_P(StoreContract, a_reader_keeps_its_bytes_when_the_file_is_replaced_or_removed) {
  const Buffer old = pattern(5000, 1);
  ASSERT_TRUE(put(kShard, old));
  const auto reader = store().open(kShard);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(put(kShard, pattern(10, 2)));
  ASSERT_TRUE(store().remove(kShard));
  ASSERT_TRUE(store().remove_directory(DirName{"v1"}));
  Buffer bytes(old.size());
  ASSERT_TRUE((*reader)->read(0, bytes));
  EXPECT_EQ(bytes, old);
}

TEST_P(StoreContract, a_mapping_stays_readable_while_its_file_is_retired_and_its_owner_writes_on) {
  const Buffer old = pattern(100 * kKiB, 1);
  ASSERT_TRUE(put(kShard, old, "rank0"));
  const auto reader = store().open(kShard);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(store().retire(kShard, "rank0"));
  ASSERT_TRUE(put(FileName{"v2/rank0"}, pattern(10, 2), "rank0"));
  ASSERT_TRUE(store().clean());
  const Bytes mapped = (*reader)->mapping();
  if (!mapped.empty()) {
    EXPECT_TRUE(std::equal(mapped.begin() + 4096, mapped.end(), old.begin() + 4096));
  }
  EXPECT_EQ(get(FileName{"v2/rank0"}), pattern(10, 2));
}

TEST_P(StoreContract, remove_directory_takes_all_that_is_in_it) {
  ASSERT_TRUE(put(FileName{"v1/a"}, pattern(10, 1)));
  ASSERT_TRUE(put(FileName{"v1/b"}, pattern(10, 1), "rank0"));
  ASSERT_TRUE(put(FileName{"v10/a"}, pattern(10, 3)));
  ASSERT_TRUE(store().remove_directory(DirName{"v1"}));
  EXPECT_EQ(listed(""), std::vector<std::string>{"v10"});
  EXPECT_EQ(get(FileName{"v10/a"}), pattern(10, 3));
}

TEST_P(StoreContract, remove_directory_later_frees_the_name_at_once) {
  for (unsigned turn = 1; turn <= 3; ++turn) {
    ASSERT_TRUE(put(FileName{"v1/a"}, pattern(100'000, turn)));
    ASSERT_TRUE(store().remove_directory_later(DirName{"v1"}));
    EXPECT_TRUE(listed("").empty());
  }
  EXPECT_TRUE(store().remove_directory_later(DirName{"v1"}));
  ASSERT_TRUE(put(FileName{"v1/b"}, pattern(10, 4)));
  EXPECT_EQ(listed("v1"), std::vector<std::string>{"b"});
}

TEST_P(StoreContract, a_commit_into_a_directory_removed_meanwhile_is_an_error) {
  auto writer = store().create(kShard, 10, {});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(store().remove_directory(DirName{"v1"}));
  EXPECT_EQ((*writer)->commit(10, false).error().code, Code::not_found);
  EXPECT_TRUE(listed("").empty());
}

TEST_P(StoreContract, rename_directory_moves_all_that_is_in_it) {
  ASSERT_TRUE(put(FileName{"v1.partial/a"}, pattern(10, 1)));
  ASSERT_TRUE(store().rename_directory(DirName{"v1.partial"}, DirName{"v1"}));
  EXPECT_EQ(listed(""), std::vector<std::string>{"v1"});
  EXPECT_EQ(get(FileName{"v1/a"}), pattern(10, 1));
  EXPECT_EQ(store().rename_directory(DirName{"v1.partial"}, DirName{"v2"}).error().code, Code::not_found);
}

TEST_P(StoreContract, rename_directory_never_replaces_one_that_holds_files) {
  ASSERT_TRUE(put(FileName{"v1/a"}, pattern(10, 1)));
  ASSERT_TRUE(put(FileName{"v2/a"}, pattern(10, 2)));
  EXPECT_FALSE(store().rename_directory(DirName{"v1"}, DirName{"v2"}));
  EXPECT_EQ(get(FileName{"v2/a"}), pattern(10, 2));
}

TEST_P(StoreContract, clean_empties_the_pool_and_leaves_files_and_live_writers) {
  ASSERT_TRUE(put(kShard, pattern(64 * kKiB, 1), "rank0"));
  ASSERT_TRUE(put(FileName{"v1/kept"}, pattern(100, 2), "rank0"));
  ASSERT_TRUE(store().retire(kShard, "rank0"));
  auto live = store().create(FileName{"v1/live"}, 100, "rank1");
  ASSERT_TRUE(live);
  ASSERT_TRUE(store().clean());

  EXPECT_EQ(get(FileName{"v1/kept"}), pattern(100, 2));
  ASSERT_TRUE((*live)->write(0, pattern(100, 3)));
  EXPECT_TRUE((*live)->commit(100, false));
  EXPECT_EQ(get(FileName{"v1/live"}), pattern(100, 3));
  auto fresh = store().create(kShard, 64 * kKiB, "rank0");
  ASSERT_TRUE(fresh);
  Buffer bytes(64 * kKiB);
  ASSERT_TRUE((*fresh)->read(0, bytes));
  EXPECT_EQ(bytes, Buffer(64 * kKiB));
}

TEST_P(StoreContract, the_lock_is_one_and_comes_free_with_its_holder) {
  auto first = store().lock();
  ASSERT_TRUE(first);
  const auto second = store().lock();
  EXPECT_THAT(second, Fails(Code::taken_over, {store().where()}));
  first->reset();
  EXPECT_TRUE(store().lock());
}

TEST_P(StoreContract, a_ring_wakes_its_waiter_and_nobody_else) {
  const auto bell = store().bell();
  const auto other = store().bell();
  ASSERT_TRUE(bell && other);
  const std::uint32_t seen = (*bell)->rings(Bell::Who::head);
  const std::uint32_t ranks_seen = (*bell)->rings(Bell::Who::ranks);
  std::thread ringer([&] { (*other)->ring(Bell::Who::head); });
  (*bell)->wait(Bell::Who::head, seen, std::chrono::hours(1));
  ringer.join();
  EXPECT_EQ((*bell)->rings(Bell::Who::head), seen + 1);
  EXPECT_EQ((*bell)->rings(Bell::Who::ranks), ranks_seen);
  // A ring that came before is not waited for again, and a limit ends a wait without one.
  (*bell)->wait(Bell::Who::head, seen, std::chrono::hours(1));
  (*bell)->wait(Bell::Who::ranks, ranks_seen, std::chrono::milliseconds(1));
}

TEST_P(StoreContract, text_is_written_and_read_whole) {
  ASSERT_TRUE(write_text(store(), FileName{"v1/manifest.json"}, "{\"a\": 1}"));
  ASSERT_TRUE(write_text(store(), FileName{"v1/manifest.json"}, "{}"));
  const auto text = read_text(store(), FileName{"v1/manifest.json"});
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "{}");
  EXPECT_EQ(read_text(store(), FileName{"v1/other"}).error().code, Code::not_found);
}

TEST_P(StoreContract, a_shared_file_is_seen_as_it_is_written_and_outlives_its_name) {
  const auto old = store().share(kShard, 8 * kKiB);
  ASSERT_TRUE(old && *old);
  (*old)->bytes()[5000] = std::byte{7};
  const Buffer seen = get(kShard);
  EXPECT_EQ(seen.size(), 8 * kKiB);
  EXPECT_EQ(seen.at(5000), std::byte{7});
  EXPECT_EQ(seen.at(5001), std::byte{0});
  EXPECT_EQ(listed("v1"), std::vector<std::string>{"rank0"});

  const auto other = store().share(kShard, 4 * kKiB);
  ASSERT_TRUE(other && *other);
  EXPECT_EQ(get(kShard).size(), 4 * kKiB);
  (*old)->bytes()[8000] = std::byte{8};
  EXPECT_EQ((*other)->bytes()[0], std::byte{0});
  EXPECT_FALSE(store().share(FileName{"../rank0"}, kKiB));
}

TEST_P(StoreContract, free_bytes_counts_what_is_retired_as_free) {
  ASSERT_TRUE(put(kShard, pattern(kMiB, 1), "rank0"));
  ASSERT_TRUE(store().retire(kShard, "rank0"));
  const auto free = store().free_bytes();
  ASSERT_TRUE(free);
  EXPECT_GE(*free, kMiB);
}

TEST_P(StoreContract, owners_that_share_a_store_write_and_retire_at_once) {
  constexpr int kOwners = 4;
  std::atomic<int> good{0};
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kOwners; ++rank) {
    ranks.emplace_back([&, rank] {
      const std::string owner = fmt::format("rank{}", rank);
      bool fine = true;
      for (unsigned version = 1; version <= 20; ++version) {
        const FileName name{fmt::format("v{}/{}", version, owner)};
        const Buffer bytes = pattern(20'000 + 100 * version, version * 10 + static_cast<unsigned>(rank));
        fine = fine && put(name, bytes, owner).has_value() && get(name) == bytes;
        fine = fine && store().retire(name, owner).has_value();
      }
      good += fine ? 1 : 0;
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(good, kOwners);
}

const Kind kKinds[] = {
    {"posix_on_tmpfs", [] { return open_posix("/dev/shm"); }},
    {"posix_on_disk", [] { return open_posix("/var/tmp"); }},
    {"memory",
     [] {
       return Opened{nullptr, std::make_shared<MemoryStore>()};
     }},
};
INSTANTIATE_TEST_SUITE_P(Every, StoreContract, testing::ValuesIn(kKinds),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cairn
