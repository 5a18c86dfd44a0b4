// Jobs whose files are sealed with a key: what was forged, replayed, or sealed otherwise is never restored; what is not
// ours to judge is refused and kept.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/shard.hpp"
#include "store/names.hpp"
#include "support/code_name.hpp"
#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/key_file.hpp"
#include "support/sample_manifest.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using testing::AnyOf;
using testing::IsEmpty;

// Every snapshot goes to L1 and to the levels that are named.
std::string settings(const std::string& levels, const std::string& more) {
  std::string text = "[levels]\nl1 = every 1\n";
  for (const char level : {'2', '3', '4'}) {
    const bool on = levels.find(level) != std::string::npos;
    text += std::string("l") + level + (on ? " = every 1\n" : " = off\n");
  }
  return text + "[erasure]\ngroup = 3\nparity = 1\n[restart]\nat_end = continue\n" + more;
}

// What the start says, which must leave every store as it was.
std::optional<Failure> refusal_of(Job& job) {
  const Job::Image before = job.image();
  (void)thrown_by([&] { job.run([](JobSession& session) { Steps(session).restore(); }); });
  const Job::Image after = job.image();
  EXPECT_THAT(differences(before.global, after.global), IsEmpty());
  for (std::uint32_t node = 0; node < job.nodes(); ++node)
    EXPECT_THAT(differences(before.nodes[node], after.nodes[node]), IsEmpty()) << "node " << node;
  return job.cause();
}

using Change = std::function<void(const std::string& path, Buffer& bytes)>;

void change(MemoryStore& store, const std::string& part, const Change& how) {
  StoreImage image = image_of(store);
  bool found = false;
  for (auto& [path, bytes] : image) {
    if (path.find(part) == std::string::npos) continue;
    found = true;
    how(path, bytes);
  }
  EXPECT_TRUE(found) << part;
  put_back(store, image);
}

// What somebody makes of a JSON file who has no key: one number more, and the digest that belongs to it.
void forge_json(const std::string& /*path*/, Buffer& bytes) {
  auto json = nlohmann::ordered_json::parse(text_of(bytes));
  const std::string code = json["hmac-sha256"];
  json.erase("hmac-sha256");
  if (json.contains("safe_point"))
    json["safe_point"] = json["safe_point"].get<std::uint64_t>() + 1;
  else if (json.contains("snapshots"))
    json["snapshots"] = !json["snapshots"].get<bool>();
  else
    json["more"] = 1;
  json["hmac-sha256"] = code;
  const std::string text = sealed_again(json.dump());
  bytes.assign(bytes_of(text).begin(), bytes_of(text).end());
}

void flip_a_bit(const std::string& /*path*/, Buffer& bytes) { bytes[bytes.size() / 2] ^= std::byte{1}; }

// Changes data of a shard so that no CRC-32C tells: by its polynomial, bit by bit in the order of the CRC.
void forge_data(const std::string& path, Buffer& bytes) {
  constexpr std::uint64_t kPolynomial = 0x11EDC6F41;
  const auto header = decode_shard_header(Bytes(bytes).first(kShardHeaderBytes));
  ASSERT_TRUE(header) << path;
  for (std::uint32_t bit = 0; bit <= 32; ++bit) {
    if ((kPolynomial >> (32 - bit) & 1U) == 0) continue;
    bytes[header->data_offset + 512 + bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

TEST(Key, brings_a_job_back_from_every_level) {
  const KeyFile key("brings back");
  for (const char* levels : {"", "2", "3", "4", "234"}) {
    for (const char* mode : {"rank", "inline"}) {
      SCOPED_TRACE(testing::Message() << "L" << levels << ", " << mode);
      Job job({2, 2, 3}, settings(levels, key.setting() + "[head]\nmode = " + mode + "\n"));
      take_steps(job, 2);
      if (*levels == '4') {
        for (const std::uint32_t node : {0U, 1U, 2U}) job.lose(node);
      } else if (*levels != '\0') {
        job.lose(1);
      }
      expect_restore(job, 2);
      take_steps(job, 1);  // with what was rebuilt meanwhile
      expect_restore(job, 3);
    }
  }
}

TEST(Key, refuses_forged_files_in_words_and_keeps_them) {
  const KeyFile key("forged");
  struct Place {
    const char* part;
    bool global;
  };
  for (const Place place : {Place{"manifest.json", false}, Place{"manifest.json", true}, Place{"run-", true},
                            Place{"chain.json", false}, Place{"chain.json", true}}) {
    SCOPED_TRACE(testing::Message() << place.part << (place.global ? ", global" : ", node"));
    Job job({2, 2, 2}, settings("24", key.setting()));
    take_steps(job, 2);
    change(place.global ? job.global_store() : job.node_store(1), place.part, forge_json);
    EXPECT_THAT(refusal_of(job),
                Fails(Code::untrusted, {place.part, "[integrity] key_file", "[job] name", "[restart] mode = fresh"}));
  }
}

TEST(Key, leaves_forged_costs_alone) {
  const KeyFile key("costs");
  Job job({2, 2},
          "[levels]\nl1 = every 1\nl2 = auto\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n" + key.setting());
  take_steps(job, 2);
  const auto costs = [&] { return image_of(job.global_store())[names::costs().path]; };
  ASSERT_FALSE(costs().empty());
  change(job.global_store(), names::costs().path, forge_json);
  const Buffer forged = costs();
  take_steps(job, 2);
  EXPECT_EQ(costs(), forged);
}

TEST(Key, that_is_set_later_removed_later_or_another_refuses_what_is_there) {
  const KeyFile key("one");
  const KeyFile other("two");
  struct Case {
    std::string before;
    std::string after;
    bool sealed_otherwise;  // with another key, job or chain
  };
  for (const Case& one :
       {Case{"", key.setting(), false}, Case{key.setting(), "", false}, Case{key.setting(), other.setting(), true}}) {
    SCOPED_TRACE(one.before + one.after);
    Job job({2, 2}, settings("24", one.before));
    take_steps(job, 2);
    const Job::Image before = job.image();
    job.configure(settings("24", one.after));
    const auto refusal = refusal_of(job);
    EXPECT_THAT(refusal, Fails(Code::untrusted, {"[integrity] key_file", "mode = fresh"}));
    EXPECT_EQ(has_thing(refusal->text, "[job] name"), one.sealed_otherwise) << refusal->text;
    // A fresh start goes on beside it, and the snapshots and records of before stay.
    job.configure(
        "[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = every 1\n[restart]\nmode = fresh\nat_end = "
        "continue\n" +
        one.after);
    job.run_well_and_die([](JobSession& session) {
      Steps steps(session);
      EXPECT_EQ(steps.restore(), 0U);
      steps.advance_by(4);
      steps.wait_for_all();
    });
    const StoreImage now = image_of(job.global_store());
    for (const auto& [path, bytes] : before.global) {
      if (path == names::chain_mark().path) continue;
      ASSERT_TRUE(now.contains(path)) << path;
      EXPECT_EQ(now.at(path), bytes) << path;
    }
    job.configure(settings("24", one.after));
    expect_restore(job, 4);
  }
}

TEST(Key, finds_data_that_was_changed_so_that_no_crc_tells) {
  const KeyFile key("data");
  for (const bool keyed : {false, true}) {
    Job job({2, 2, 2}, settings("", keyed ? key.setting() : ""));
    take_steps(job, 2);
    change(job.node_store(1), "v00000002", [](const std::string& path, Buffer& bytes) {
      if (names::parse_shard(path.substr(path.find('/') + 1))) forge_data(path, bytes);
    });
    if (keyed) {
      expect_restore(job, 1);  // of the version before
    } else {
      // That the forgery is one: without a key it is taken.
      std::atomic<bool> differs{false};
      job.run_and_die([&](JobSession& session) {
        std::vector<double> state;
        std::uint32_t step = 0;
        session.protect("state", state);
        session.protect("step", step);
        if (session.restore().restored && step != 2) differs = true;
        const auto should = sample_state(session.rank(), 2);
        if (state != should) differs = true;
      });
      EXPECT_TRUE(differs);
    }
  }
}

TEST(Key, takes_another_source_where_a_shard_copy_or_parity_was_changed) {
  const KeyFile key("sources");
  for (const char* levels : {"2", "3"}) {
    SCOPED_TRACE(levels);
    Job job({2, 2, 2}, settings(levels, key.setting()));
    take_steps(job, 2);
    change(job.node_store(1), "v00000002", [](const std::string& path, Buffer& bytes) {
      if (names::parse_shard(path.substr(path.find('/') + 1))) forge_data(path, bytes);
    });
    expect_restore(job, 2);
  }
  // Everything that is left of it was changed: the version before, or none.
  Job job({2, 2, 2}, settings("2", key.setting()));
  take_steps(job, 2);
  for (const std::uint32_t node : {0U, 1U, 2U}) {
    change(job.node_store(node), "v0000000", [](const std::string& path, Buffer& bytes) {
      if (path.ends_with(".shard") || path.ends_with(".copy")) forge_data(path, bytes);
    });
  }
  EXPECT_THAT(thrown_by([&] { job.run([](JobSession& session) { Steps(session).restore(); }); }),
              Fails(ErrorKind::unrecoverable, {"version 2", "rank 0"}));
}

// The files of a store whose paths have `part`, in place of those that are there.
void replay(MemoryStore& store, const StoreImage& from, const std::string& part) {
  StoreImage image = image_of(store);
  for (const auto& [path, bytes] : from) {
    if (path.find(part) != std::string::npos) image[path] = bytes;
  }
  put_back(store, image);
}

TEST(Key, tells_a_file_of_another_job_or_another_chain) {
  const KeyFile key("replay");
  for (const char* name : {"other", "job"}) {  // the default's name is job: the same job, of another directory
    SCOPED_TRACE(name);
    Job victim({2, 2}, settings("24", key.setting()));
    take_steps(victim, 2);
    Job other({2, 2}, settings("24", key.setting() + "[job]\nname = " + name + "\n"));
    take_steps(other, 5);
    const Job::Image mine = victim.image();
    const Job::Image theirs = other.image();
    for (const char* part : {"v0000000", "run-"}) {
      SCOPED_TRACE(part);
      victim.put_back(mine);
      replay(victim.global_store(), theirs.global, part);
      EXPECT_THAT(refusal_of(victim), Fails(Code::untrusted, {"[integrity] key_file", "[job] name"}));
    }
    victim.put_back(mine);
    for (const std::uint32_t node : {0U, 1U}) replay(victim.node_store(node), theirs.nodes[node], "v0000000");
    EXPECT_THAT(refusal_of(victim), Fails(Code::untrusted, {"[integrity] key_file", "[job] name"}));
    // With their marks, too: then it is another chain's store.
    for (const std::uint32_t node : {0U, 1U}) replay(victim.node_store(node), theirs.nodes[node], "");
    EXPECT_THAT(refusal_of(victim), AnyOf(Fails(Code::untrusted, {"[integrity] key_file", "[job] name"}),
                                          Fails(Code::mismatch, {"store of node 0", "[job] name"})));
    // Without marks they may be anybody's: as if damaged, and the job's own are taken, from L4.
    for (const std::uint32_t node : {0U, 1U}) ASSERT_TRUE(victim.node_store(node).remove(names::chain_mark()));
    expect_restore(victim, 2);
  }
}

TEST(Key, makes_do_without_a_chain_mark_that_was_damaged) {
  const KeyFile key("mark");
  for (const bool global : {false, true}) {
    Job job({2, 2, 2}, settings("2", key.setting()));
    take_steps(job, 2);
    change(global ? job.global_store() : job.node_store(1), names::chain_mark().path, flip_a_bit);
    expect_restore(job, 2);
    take_steps(job, 1);
    expect_restore(job, 3);
  }
}

// Only L4 has version 2 of node 1's rank, and the mark beside it is damaged or lost: node 0 knows which chain it is.
TEST(Key, checks_the_global_store_by_the_chain_mark_of_a_node_where_its_own_is_lost) {
  const KeyFile key("mark of a node");
  for (const bool lost : {false, true}) {
    SCOPED_TRACE(lost ? "lost" : "damaged");
    Job job({2, 2}, settings("4", key.setting()));
    take_steps(job, 2);
    if (lost) {
      ASSERT_TRUE(job.global_store().remove(names::chain_mark()));
    } else {
      change(job.global_store(), names::chain_mark().path, flip_a_bit);
    }
    job.lose(1);
    expect_restore(job, 2);
    for (const std::uint32_t node : {0U, 1U}) job.lose(node);
    expect_restore(job, 2);
  }
}

// A new chain would disown all that is there, and the start after that would refuse it as another's.
TEST(Key, refuses_to_start_where_no_chain_mark_is_whole) {
  const KeyFile key("no mark is whole");
  for (const bool survivors : {false, true}) {  // who remember their manifests
    SCOPED_TRACE(survivors);
    Job job({2, 2}, settings("4", key.setting()));
    job.same_processes = survivors;
    take_steps(job, 2);
    for (const std::uint32_t node : {0U, 1U}) change(job.node_store(node), names::chain_mark().path, flip_a_bit);
    const StoreImage whole = image_of(job.global_store());
    change(job.global_store(), names::chain_mark().path, flip_a_bit);
    EXPECT_THAT(refusal_of(job), Fails(Code::corrupt, {"chain.json", "mode = fresh"}));
    put_back(job.global_store(), whole);
    expect_restore(job, 2);
  }
}

// What is written to L4 meanwhile counts only beside a mark that is whole.
TEST(Key, puts_nothing_into_a_global_store_whose_chain_mark_could_not_be_read_but_beside_a_whole_one) {
  const KeyFile key("unread and damaged");
  Job job({2, 2}, settings("4", key.setting()));
  take_steps(job, 1);
  change(job.global_store(), names::chain_mark().path, flip_a_bit);
  std::atomic<bool> fails{true};
  job.wrap_global = [&](std::shared_ptr<Store> store) {
    auto hooked =
        std::make_shared<HookedStore>(std::move(store), [](const HookedStore::Operation&) { return Status{}; });
    hooked->on_read = [&](const std::string& path) -> Status {
      if (path != names::chain_mark().path || !fails) return {};
      return fail(Code::io, path + ": injected");
    };
    return hooked;
  };
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 1U);
    if (session.rank() == 0) fails = false;
    steps.advance();
    steps.wait_for_all();
  });
  job.wrap_global = {};
  for (const std::uint32_t node : {0U, 1U}) job.lose(node);
  expect_restore(job, 2);
}

// In the global store that is seen at the start. In a node store it cannot be told from what is damaged, which goes
// once something newer is safe; with the mark written again it can.
TEST(Key, keeps_what_another_key_has_sealed_beside_a_chain_mark_that_was_damaged) {
  const KeyFile key("mark and manifest");
  for (const bool global : {false, true}) {
    SCOPED_TRACE(global ? "global" : "node 1");
    Job job({2, 2, 2}, settings("24", key.setting()));
    take_steps(job, 2);
    MemoryStore& store = global ? job.global_store() : job.node_store(1);
    change(store, names::chain_mark().path, flip_a_bit);
    change(store, "manifest.json", forge_json);
    if (global) {
      EXPECT_THAT(refusal_of(job), Fails(Code::untrusted, {"manifest.json", "[integrity] key_file", "[job] name"}));
      continue;
    }
    const StoreImage before = image_of(store);
    job.run_well_and_die([](JobSession& session) {
      Steps steps(session);
      EXPECT_EQ(steps.restore(), 2U);
      steps.advance_by(2);
      steps.wait_for_all();
    });
    const StoreImage after = image_of(store);
    for (const auto& [path, bytes] : before) {
      // Version 2 came back from copies, and was retired then.
      if (!path.ends_with("manifest.json") || path.starts_with("v00000002")) continue;
      EXPECT_TRUE(after.contains(path)) << path;
    }
  }
}

// The store, of which everything can be read but the chain mark.
std::shared_ptr<Store> without_mark(std::shared_ptr<Store> store, Code code) {
  auto hooked = std::make_shared<HookedStore>(std::move(store), [](const HookedStore::Operation&) { return Status{}; });
  hooked->on_read = [code](const std::string& path) -> Status {
    if (path != names::chain_mark().path) return {};
    return fail(code, path + ": injected");
  };
  return hooked;
}

// It is listed, so it is there, whatever the answer is.
TEST(Key, goes_on_from_other_stores_where_a_chain_mark_cannot_be_read_and_keeps_what_is_beside_it) {
  const KeyFile key("unread mark");
  for (const bool global : {false, true}) {
    for (const Code code : {Code::io, Code::not_found}) {
      SCOPED_TRACE(testing::Message() << (global ? "global, " : "node 1, ") << name(code));
      Job job({2, 2, 2}, settings(global ? "24" : "2", key.setting()));
      take_steps(job, 2);
      MemoryStore& store = global ? job.global_store() : job.node_store(1);
      const StoreImage before = image_of(store);
      job.wrap_node = [&](std::uint32_t node, std::shared_ptr<Store> of_node) {
        return !global && node == 1 ? without_mark(std::move(of_node), code) : of_node;
      };
      job.wrap_global = [&](std::shared_ptr<Store> of_job) {
        return global ? without_mark(std::move(of_job), code) : of_job;
      };
      expect_restore(job, 2);
      job.run_well_and_die([&](JobSession& session) {
        Steps steps(session);
        EXPECT_EQ(steps.restore(), 2U);
        steps.advance_by(3);
        // Nobody knows whether what is put beside that mark will count.
        EXPECT_THAT(thrown_by([&] { session.wait(LevelId::partner); }), testing::IsEmpty());
        const Thrown said = thrown_by([&] { session.wait(LevelId::global); });
        if (global) {
          EXPECT_THAT(said, Fails(ErrorKind::storage, {"chain.json"}));
        }
      });
      const StoreImage after = image_of(store);
      for (const auto& [path, bytes] : before) {
        if (!global && path.starts_with("v00000002")) continue;  // it came back from copies, and was retired then
        EXPECT_TRUE(after.contains(path)) << path;
      }
      job.wrap_node = {};
      job.wrap_global = {};
      expect_restore(job, 5);
    }
  }
}

TEST(Key, refuses_to_start_where_no_chain_mark_can_be_read_and_calls_nothing_forged) {
  const KeyFile key("no mark");
  Job job({2, 2}, settings("24", key.setting()));
  take_steps(job, 2);
  job.wrap_node = [](std::uint32_t, std::shared_ptr<Store> store) { return without_mark(std::move(store), Code::io); };
  job.wrap_global = [](std::shared_ptr<Store> store) { return without_mark(std::move(store), Code::io); };
  EXPECT_THAT(refusal_of(job), Fails(Code::io, {"chain.json"}));
  job.wrap_node = {};
  job.wrap_global = {};
  expect_restore(job, 2);
}

// The global store is lost, and with it the other mark. A new one over that of the node would disown its snapshots.
TEST(Key, refuses_to_start_where_the_only_chain_mark_cannot_be_read) {
  const KeyFile key("only mark");
  Job job({3}, settings("", key.setting()));
  take_steps(job, 2);
  job.global_store().wipe();
  job.wrap_node = [](std::uint32_t, std::shared_ptr<Store> store) { return without_mark(std::move(store), Code::io); };
  EXPECT_THAT(refusal_of(job), Fails(Code::io, {"chain.json"}));
  job.wrap_node = {};
  expect_restore(job, 2);
}

// Somebody removes the global store under the job. What comes there later counts without any other store.
TEST(Key, counts_in_a_global_store_that_was_lost_under_way) {
  const KeyFile key("lost under way");
  for (const std::string& setting : {std::string(), key.setting()}) {
    SCOPED_TRACE(setting.empty() ? "no key" : "key");
    Job job({3}, settings("4", setting));
    job.run_well_and_die([&](JobSession& session) {
      Steps steps(session);
      steps.restore();
      steps.advance();
      steps.wait_for_all();
      if (session.rank() == 0) job.global_store().wipe();
      steps.advance();
      steps.wait_for_all();
    });
    EXPECT_TRUE(image_of(job.global_store()).contains("chain.json"));
    job.lose(0);
    expect_restore(job, 2);
  }
}

// The store is another run's from then on, whose chain this life is not to be in.
TEST(Key, puts_nothing_into_a_global_store_that_another_run_has_made_anew) {
  Job job({3}, settings("4", ""));
  const FileName theirs = names::run_record(Incarnation{99}, RunId{7});
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance();
    steps.wait_for_all();
    if (session.rank() == 0) {
      job.global_store().wipe();
      EXPECT_TRUE(write_text(job.global_store(), theirs, "{}"));
    }
    EXPECT_THAT(thrown_by([&] { steps.advance(); }, [&] { session.wait(LevelId::global); }),
                Fails(ErrorKind::taken_over, {"global store", theirs.path}));
  });
  for (const auto& [path, bytes] : image_of(job.global_store()))
    EXPECT_TRUE(path == theirs.path || path.find(".partial") != std::string::npos) << path;
}

TEST(Key, tells_a_file_of_another_version_or_node) {
  const KeyFile key("version");
  Job job({2, 2, 2}, settings("2", key.setting()));
  take_steps(job, 2);
  const Job::Image image = job.image();
  const auto dirs = [&](std::uint32_t node) {
    std::vector<std::string> found;
    for (const auto& [path, bytes] : image.nodes[node]) {
      const std::string dir = path.substr(0, path.find('/'));
      if (path.find('/') != std::string::npos && (found.empty() || found.back() != dir)) found.push_back(dir);
    }
    return found;
  };
  // Version 1 in the place of version 2, file by file: what comes back is version 2, of the copies.
  StoreImage store = image.nodes[1];
  const auto versions = dirs(1);
  ASSERT_EQ(versions.size(), 2U);
  for (const auto& [path, bytes] : image.nodes[1]) {
    if (path.starts_with(versions[0] + "/") && !path.ends_with("copy"))
      store[versions[1] + path.substr(versions[0].size())] = bytes;
  }
  put_back(job.node_store(1), store);
  expect_restore(job, 2);
  // The stores of two nodes change places: they are what they are wherever they lie.
  job.put_back(image);
  put_back(job.node_store(0), image.nodes[1]);
  put_back(job.node_store(1), image.nodes[0]);
  expect_restore(job, 2);
  // One node's store in two places, and another's lost.
  job.put_back(image);
  put_back(job.node_store(1), image.nodes[0]);
  expect_restore(job, 2);
}

TEST(Key, does_not_tell_a_whole_old_state_of_all_stores) {
  const KeyFile key("old");
  Job job({2, 2}, settings("24", key.setting()));
  take_steps(job, 2);
  const Job::Image old = job.image();
  take_steps(job, 3);
  expect_restore(job, 5);
  job.put_back(old);
  expect_restore(job, 2);
}

TEST(Key, that_cannot_be_read_ends_the_start_on_all_ranks) {
  const KeyFile key("unread");
  Job job({2, 2}, settings("", key.setting()));
  std::filesystem::permissions(key.path(), std::filesystem::perms::group_read, std::filesystem::perm_options::add);
  EXPECT_THAT(refusal_of(job), Fails(Code::config, {"[integrity] key_file", key.path(), "chmod 600"}));
  EXPECT_EQ(job.errors().size(), 4U);
  EXPECT_THAT(image_of(job.global_store()), IsEmpty());
}

}  // namespace
}  // namespace cairn::test
