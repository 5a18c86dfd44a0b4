#include "format/manifest.hpp"

#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "format/job_costs.hpp"
#include "format/json_file.hpp"
#include "store/memory/memory_store.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"
#include "support/sample_manifest.hpp"
#include "support/temp_directory.hpp"

namespace cairn {
namespace {

using test::Fails;
using test::Names;

// The sample's text with the first `from` replaced, and its seal renewed, as the parser takes it.
Result<NodeManifest> parsed_with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in\n" << text;
  if (at == std::string::npos) return fail(Code::not_found, from);
  text.replace(at, from.size(), to);
  return parse_node_manifest(test::sealed_again(text));
}

Result<NodeManifest> with_text(const std::string& from, const std::string& to) {
  return parsed_with(to_json(test::sample_node_manifest()), from, to);
}

Result<NodeManifest> with_change(const std::function<void(NodeManifest&)>& change) {
  NodeManifest manifest = test::sample_node_manifest();
  change(manifest);
  return parse_node_manifest(to_json(manifest));
}

TEST(NodeManifest, comes_back_as_it_was_written) {
  const NodeManifest manifest = test::sample_node_manifest();
  const auto parsed = parse_node_manifest(to_json(manifest));
  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_EQ(*parsed, manifest);
  EXPECT_EQ(parse_node_manifest(to_json(NodeManifest{})).value(), NodeManifest{});
}

TEST(NodeManifest, tells_a_level_that_holds_nothing_from_one_that_is_not_there) {
  NodeManifest manifest = test::sample_node_manifest();
  manifest.holdings[0].own = std::vector<ShardEntry>{};
  manifest.holdings[0].partner = PartnerHolding{};
  manifest.holdings[0].erasure.reset();
  EXPECT_EQ(parse_node_manifest(to_json(manifest)).value(), manifest);
}

TEST(NodeManifest, of_deeply_nested_text_is_refused) {
  EXPECT_FALSE(parse_node_manifest(std::string(200'000, '[')));
  EXPECT_FALSE(parse_run_record(std::string(100'000, '[') + std::string(100'000, ']')));
  std::string objects;
  for (int i = 0; i < 50'000; ++i) objects += R"({"holdings":)";
  EXPECT_FALSE(parse_global_manifest(objects));
}

// Those who go by a layout do not look again: one that nobody can go by is no layout.
TEST(NodeManifest, with_a_layout_that_cannot_be_is_damaged) {
  const auto with_layout = [](const std::function<void(Layout&)>& change) {
    return with_change([&](NodeManifest& manifest) { change(manifest.holdings[1].layout); });
  };
  const std::string place = "holdings[1].layout";
  EXPECT_THAT(with_layout([](Layout& layout) { layout.rotation = 4'000'000'000; }),
              Fails(Code::corrupt, {place, "copies", "2", "rotation", "4000000000", "0", "8", "1"}));
  EXPECT_THAT(with_layout([](Layout& layout) { layout.copies = 3, layout.rotation = 2; }),
              Fails(Code::corrupt, {place, "4", "placement 2", "copy 1"}));
  EXPECT_THAT(with_change([](NodeManifest& manifest) {
                Holding holding;
                holding.layout.nodes = 0;
                manifest.holdings = {holding};
              }),
              Fails(Code::corrupt, {"holdings[0].layout", "0", "1"}));
}

TEST(NodeManifest, finds_a_holding_by_its_layout) {
  NodeManifest manifest = test::sample_node_manifest();
  EXPECT_EQ(manifest.find(manifest.holdings[1].layout.id()), &manifest.holdings[1]);
  EXPECT_EQ(std::as_const(manifest).find(test::sample_layout().id()), &manifest.holdings[0]);
  EXPECT_EQ(manifest.find(Layout{}.id()), nullptr);
}

TEST(NodeManifest, ranks_are_written_as_runs_and_numbers_as_hex) {
  const std::string text = to_json(test::sample_node_manifest());
  EXPECT_THAT(text, Names({"\"run\": \"0123456789abcdef\""}));
  EXPECT_THAT(text, Names({"\"id\": \"" + names::hex(test::sample_layout().id()) + "\""}));
  EXPECT_THAT(text, Names({test::sample_entry(2).digest.hex()}));
  Layout wide;
  wide.node_of_rank.assign(100'000, NodeId{0});
  wide.nodes = 1;
  EXPECT_LT(to_json(NodeManifest{{}, 0, {{wide, {0}, {}, {}, {}}}}).size(), 1000U);
}

TEST(NodeManifest, a_newer_format_and_another_kind_say_so) {
  std::string newer = to_json(test::sample_node_manifest());
  newer.replace(newer.find("\"format\": 6"), 11, "\"format\": 14");
  newer = test::sealed_again(newer);
  EXPECT_THAT(parse_node_manifest(newer), Fails(Code::newer_format, {"node manifest", "format 14", "13"}));
  EXPECT_THAT(with_text("\"format\": 6", "\"format\": 0"), Fails(Code::corrupt, {"format", "0", "1"}));
  EXPECT_THAT(with_text("node manifest", "global manifest"),
              Fails(Code::corrupt, {"global manifest", "node manifest"}));
}

TEST(NodeManifest, a_missing_key_or_another_type_is_named_with_its_place) {
  EXPECT_THAT(with_text("\"safe_point\"", "\"safe\""), Fails(Code::corrupt, {"safe_point"}));
  EXPECT_THAT(with_text("\"k\": 9", "\"k\": -9"), Fails(Code::corrupt, {"holdings[0].partner.k", "0"}));
  EXPECT_THAT(with_text("\"k\": 9", "\"k\": \"9\""), Fails(Code::corrupt, {"holdings[0].partner.k", "0"}));
  EXPECT_THAT(with_text("\"version\": 42", "\"version\": 4294967296"),
              Fails(Code::corrupt, {"version", "4294967296", "4000000000"}));
  EXPECT_THAT(with_text("\"0123456789abcdef\"", "\"0123\""), Fails(Code::corrupt, {"run", "0123", "16"}));
  EXPECT_THAT(with_text("\"0123456789abcdef\"", "7"), Fails(Code::corrupt, {"run"}));
  const std::string digest = test::sample_entry(2).digest.hex();
  EXPECT_THAT(with_text(digest, "abc"), Fails(Code::corrupt, {"holdings[0].own[0].sha256", "abc", "64"}));
  EXPECT_THAT(parse_node_manifest("{"), Fails(Code::corrupt, {"node manifest", "JSON"}));
  EXPECT_THAT(parse_node_manifest("[1]"), Fails(Code::corrupt, {"node manifest", "JSON"}));
  EXPECT_THAT(parse_node_manifest(""), Fails(Code::corrupt, {"node manifest", "JSON"}));
}

TEST(NodeManifest, a_layout_that_is_not_the_one_of_its_id_is_refused) {
  const std::string id = names::hex(test::sample_layout().id());
  EXPECT_THAT(with_text("\"rotation\": 1", "\"rotation\": 2"), Fails(Code::corrupt, {"holdings[0].layout.id", id}));
  EXPECT_THAT(with_text("\"rotation\": 1", "\"rotation\": 0"),
              Fails(Code::corrupt, {"holdings[0].layout.rotation", "0", "1"}));
  EXPECT_THAT(with_text("\"copies\": 1", "\"copies\": 4"), Fails(Code::corrupt, {"holdings[0].layout.copies", "4"}));
}

TEST(NodeManifest, layouts_that_cannot_be_are_refused) {
  EXPECT_THAT(with_change([](auto& m) { m.holdings[0].layout.node_of_rank[2] = {4}; }),
              Fails(Code::corrupt, {"holdings[0].layout.ranks[1][0]", "4"}));
  EXPECT_THAT(with_change([](auto& m) {
                m.holdings[0].layout.domain_of_node = {1, 2};
              }),
              Fails(Code::corrupt, {"holdings[0].layout.domains", "2", "4"}));
  EXPECT_THAT(with_change([](auto& m) {
                m.holdings[0].layout.groups[1] = {{1}, {2}};
              }),
              Fails(Code::corrupt, {"holdings[0].layout.groups[1][1]", "node 2"}));
  EXPECT_THAT(with_change([](auto& m) { m.holdings[0].layout.groups.pop_back(); }),
              Fails(Code::corrupt, {"holdings[0].layout.groups", "2", "4"}));
  EXPECT_THAT(with_change([](auto& m) { m.holdings[0].layout.parity = 2; }),
              Fails(Code::corrupt, {"holdings[0].layout.groups[0]", "2", "1"}));
}

TEST(NodeManifest, numbers_outside_the_layout_are_refused) {
  EXPECT_THAT(with_change([](auto& m) { m.holdings[0].node = {4}; }), Fails(Code::corrupt, {"holdings[0].node", "4"}));
  EXPECT_THAT(with_change([](auto& m) { m.holdings[0].own->at(1).rank = {7}; }),
              Fails(Code::corrupt, {"holdings[0].own[1].rank", "7"}));
  EXPECT_THAT(with_change([](auto& m) { m.holdings[0].own->at(1).rank = {2}; }),
              Fails(Code::corrupt, {"holdings[0].own", "rank 2"}));
  EXPECT_THAT(with_change([](auto& m) { m.holdings[0].partner->held[0].owner = {1}; }),
              Fails(Code::corrupt, {"holdings[0].partner.held[0].owner"}));
  EXPECT_THAT(with_change([](auto& m) { m.holdings[0].erasure->members.pop_back(); }),
              Fails(Code::corrupt, {"holdings[0].erasure.members", "1", "2"}));
  EXPECT_THAT(with_change([](auto& m) { m.holdings[0].erasure->parity[0].column = 2; }),
              Fails(Code::corrupt, {"holdings[0].erasure.parity[0].column", "2"}));
  EXPECT_THAT(with_change([](auto& m) { m.holdings[0].erasure->parity[0].row = 1; }),
              Fails(Code::corrupt, {"holdings[0].erasure.parity[0].row", "1"}));
  EXPECT_THAT(with_change([](auto& m) { m.holdings[0].erasure->parity[0].bytes += 1; }),
              Fails(Code::corrupt, {"holdings[0].erasure.parity[0].bytes"}));
  EXPECT_THAT(with_change([](auto& m) { m.holdings[1].layout = m.holdings[0].layout; }),
              Fails(Code::corrupt, {"holdings[1].layout"}));
}

TEST(NodeManifest, a_run_of_ranks_beyond_any_machine_is_refused_and_not_allocated) {
  EXPECT_THAT(with_change([](auto& m) { m.holdings[0].layout.nodes = 1U << 31U; }),
              Fails(Code::corrupt, {"holdings[0].layout.nodes", "2147483648", "16777216"}));
  const std::string text = R"({"kind":"node manifest","format":1,"incarnation":1,"version":1,
    "run":"0000000000000001","safe_point":1,"holdings":[{"layout":{"nodes":1,"ranks":[[0,99999999999]]}}]})";
  EXPECT_THAT(parse_node_manifest(text),
              Fails(Code::corrupt, {"holdings[0].layout.ranks[0][1]", "99999999999", "16777216"}));
}

// Every byte of a sealed file: nothing that changed is taken for what was written, nor for newer.
template <class Parse>
void expect_no_byte_can_change(const std::string& text, Parse parse) {
  ASSERT_TRUE(parse(text));
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const int bit : {0, 3, 5}) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const auto parsed = parse(damaged);
      ASSERT_FALSE(parsed) << "bit " << bit << " of byte " << at;
      ASSERT_EQ(parsed.error().code, Code::corrupt) << "bit " << bit << " of byte " << at;
    }
  }
  EXPECT_EQ(parse(text + "\n").error().code, Code::corrupt);
  EXPECT_EQ(parse(" " + text).error().code, Code::corrupt);
}

TEST(SealedJson, a_byte_that_changed_anywhere_is_found) {
  expect_no_byte_can_change(to_json(test::sample_node_manifest()),
                            [](const std::string& text) { return parse_node_manifest(text); });
  expect_no_byte_can_change(to_json(test::sample_global_manifest()),
                            [](const std::string& text) { return parse_global_manifest(text); });
  expect_no_byte_can_change(to_json(test::sample_run_record()),
                            [](const std::string& text) { return parse_run_record(text); });
  expect_no_byte_can_change(to_json(test::sample_chain_mark()),
                            [](const std::string& text) { return parse_chain_mark(text); });
  expect_no_byte_can_change(to_json(test::sample_measured()),
                            [](const std::string& text) { return parse_job_costs(text); });
}

TEST(SealedJson, a_seal_is_asked_for_from_format_2_on) {
  std::string text = to_json(test::sample_run_record());
  EXPECT_EQ(seal_of(text), SealState::whole);
  text = test::as_format_1(text);
  EXPECT_EQ(seal_of(text), SealState::none);
  EXPECT_EQ(parse_run_record(text).value(), test::sample_run_record());
  text.replace(text.find("\"format\": 1"), 11, "\"format\": 2");
  EXPECT_THAT(parse_run_record(text), Fails(Code::corrupt, {"run record", "format", "2", "sha256"}));
  text.replace(text.find("\"format\": 2"), 11, "\"format\": 9");
  EXPECT_EQ(parse_run_record(text).error().code, Code::corrupt);
}

// A manifest of ten thousand nodes whose ranks are dealt out to them in turns, which is the longest there is.
TEST(SealedJson, what_a_manifest_may_take_is_enough_for_any_machine) {
  constexpr std::uint32_t kNodes = 10'000;
  constexpr std::uint32_t kRanks = 2 * kNodes;
  constexpr std::uint64_t kMostRanks = 1U << 21U;
  GlobalManifest manifest{{{1}, {1}, {1}}, 1, {}, {}, std::vector<std::uint64_t>(kNodes, 1ULL << 50U)};
  manifest.layout.nodes = kNodes;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    manifest.layout.node_of_rank.push_back({rank % kNodes});
    manifest.shards.push_back({{1'000'000 + rank}, 1ULL << 50U, sha256({})});
  }
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    manifest.layout.domain_of_node.push_back(node);
    manifest.node_files.push_back({1ULL << 50U, 1ULL << 30U, sha256({})});
  }
  const std::uint64_t bytes = to_json(manifest).size();
  EXPECT_LT(bytes * kMostRanks / kRanks, kMostManifestBytes);
  Layout layout = manifest.layout;
  const NodeManifest node{{{1}, {1}, {1}}, 1, {{layout, {0}, {}, {}, {}}}};
  EXPECT_LT(to_json(node).size() * kMostRanks / kRanks * 4, kMostManifestBytes);
}

TEST(SealedJson, a_file_that_is_too_long_is_refused_before_it_is_read) {
  const test::TempDirectory directory("/tmp");
  const auto opened = PosixStore::open(directory.path(), "job");
  ASSERT_TRUE(opened) << opened.error().text();
  Store& store = **opened;
  const DirName dir = names::snapshot({42}, {0x0123456789abcdefULL});
  ASSERT_TRUE(write_manifest(store, test::sample_node_manifest(), {}));
  std::filesystem::resize_file(store.where() + "/" + names::manifest(dir).path, std::uintmax_t{1} << 40U);
  const auto too_long = Fails(Code::corrupt, {names::manifest(dir).path, "1099511627776", std::to_string(512 * kMiB)});
  EXPECT_THAT(read_node_manifest(store, dir, {}), too_long);
  EXPECT_THAT(read_global_manifest(store, dir, {}), too_long);
}

TEST(NodeManifest, is_stored_under_its_snapshot_and_refused_under_another) {
  MemoryStore store;
  const NodeManifest manifest = test::sample_node_manifest();
  ASSERT_TRUE(write_manifest(store, manifest, {}));
  const DirName dir = names::snapshot({42}, {0x0123456789abcdefULL});
  EXPECT_EQ(read_node_manifest(store, dir, {}).value(), manifest);
  const DirName other = names::snapshot({43}, {0x0123456789abcdefULL});
  EXPECT_EQ(read_node_manifest(store, other, {}).error().code, Code::not_found);
  ASSERT_TRUE(write_text(store, names::manifest(other), to_json(manifest)));
  EXPECT_THAT(read_node_manifest(store, other, {}), Fails(Code::corrupt, {names::manifest(other).path, dir.path}));
  ASSERT_TRUE(write_text(store, names::manifest(other), "nonsense"));
  EXPECT_THAT(read_node_manifest(store, other, {}),
              Fails(Code::corrupt, {names::manifest(other).path, "node manifest", "JSON"}));
}

TEST(GlobalManifest, comes_back_as_it_was_written) {
  const GlobalManifest manifest = test::sample_global_manifest();
  const auto parsed = parse_global_manifest(to_json(manifest));
  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_EQ(*parsed, manifest);
}

TEST(GlobalManifest, has_every_rank_in_order_and_every_node) {
  const auto refused = [](const std::function<void(GlobalManifest&)>& change) {
    GlobalManifest manifest = test::sample_global_manifest();
    change(manifest);
    return parse_global_manifest(to_json(manifest));
  };
  EXPECT_THAT(refused([](auto& m) { m.shards.pop_back(); }), Fails(Code::corrupt, {"shards", "6", "7"}));
  EXPECT_THAT(refused([](auto& m) { std::swap(m.shards[0], m.shards[1]); }), Fails(Code::corrupt, {"shards[0]"}));
  EXPECT_THAT(refused([](auto& m) { m.node_file_bytes.push_back(1); }),
              Fails(Code::corrupt, {"node_file_bytes", "5", "4"}));
  EXPECT_THAT(refused([](auto& m) { m.node_files.pop_back(); }), Fails(Code::corrupt, {"node_files", "3", "4"}));
}

TEST(RunRecord, comes_back_as_it_was_written_whatever_its_parent) {
  for (const auto parent : {RunRecord::Parent::undecided, RunRecord::Parent::fresh, RunRecord::Parent::snapshot}) {
    for (const bool finished : {false, true}) {
      RunRecord record{{4}, {77}, parent, {}, !finished, finished};
      if (parent == RunRecord::Parent::snapshot) record.parent_snapshot = test::kManifestIdentity;
      const auto parsed = parse_run_record(to_json(record));
      ASSERT_TRUE(parsed) << parsed.error().text();
      EXPECT_EQ(*parsed, record);
    }
  }
}

TEST(RunRecord, has_a_newer_format_only_if_somebody_has_chosen) {
  const std::string text = to_json(test::sample_choosing_record());
  EXPECT_EQ(parse_run_record(text).value(), test::sample_choosing_record());
  EXPECT_NE(text.find("\"format\": 10"), std::string::npos);
  EXPECT_NE(to_json(test::sample_run_record()).find("\"format\": 2"), std::string::npos);
}

TEST(RunRecord, has_a_newer_format_if_the_program_has_rejected_snapshots) {
  const std::string text = to_json(test::sample_rejecting_record());
  EXPECT_EQ(parse_run_record(text).value(), test::sample_rejecting_record());
  EXPECT_NE(text.find("\"format\": 12"), std::string::npos);
  RunRecord record = test::sample_rejecting_record();
  record.rejected.resize(kMostRejected + 1, record.rejected[0]);
  EXPECT_THAT(parse_run_record(to_json(record)), Fails(Code::corrupt, {"rejected"}));
}

TEST(RunRecord, with_more_choices_than_any_run_records_is_damaged) {
  RunRecord record = test::sample_choosing_record();
  record.choices.resize(kMostChoices, record.choices[0]);
  EXPECT_TRUE(parse_run_record(to_json(record)));
  record.choices.push_back(record.choices[0]);
  EXPECT_THAT(parse_run_record(to_json(record)), Fails(Code::corrupt, {"choices"}));
}

TEST(RunRecord, an_unknown_parent_is_named) {
  std::string text = to_json(RunRecord{{1}, {2}, RunRecord::Parent::fresh, {}, false, false});
  text = test::sealed_again(text.replace(text.find("fresh"), 5, "stale"));
  EXPECT_THAT(parse_run_record(text), Fails(Code::corrupt, {"run record", "parent", "stale", "undecided", "fresh"}));
  EXPECT_THAT(parse_run_record(R"({"kind":"run record","format":1})"),
              Fails(Code::corrupt, {"run record", "incarnation"}));
}

}  // namespace
}  // namespace cairn
