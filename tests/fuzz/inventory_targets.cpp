// What one head makes of what other heads say, from their messages up to a plan.
#include <algorithm>

#include "fuzz/target.hpp"
#include "recover/chain.hpp"
#include "recover/inventory_codec.hpp"
#include "recover/plan.hpp"
#include "recover/roll_call.hpp"
#include "store/names.hpp"
#include "support/sample_manifest.hpp"
#include "support/scripted_comm.hpp"

namespace cairn::fuzz {
namespace {

constexpr std::uint32_t kHeads = 4;  // as the sample layout has nodes

// Pieces, each after its length, u16.
std::vector<Buffer> script_in(ByteReader& in) {
  std::vector<Buffer> script;
  while (in.good() && in.remaining() > 0) {
    const Bytes piece = in.get_bytes(std::min<std::size_t>(in.get<std::uint16_t>(), in.remaining()));
    script.emplace_back(piece.begin(), piece.end());
  }
  return script;
}

void put_piece(ByteWriter& out, Bytes piece) {
  out.put(static_cast<std::uint16_t>(piece.size()));
  out.put(piece);
}

StoreContents contents_of(bool any) {
  StoreContents contents;
  if (any) {
    contents.manifests.push_back(test::sample_node_manifest());
    contents.highest_version = contents.manifests.front().identity.version;
  }
  return contents;
}

void check_plan(const Inventory& inventory, std::vector<std::uint32_t> lost_nodes) {
  const Layout today = test::sample_layout();
  const auto plan = make_plan({inventory, today, {}, std::move(lost_nodes), {}, {}});
  if (!plan) {
    must(!plan.error().message.empty(), "an error says what is wrong");
    return;
  }
  must(plan->deliveries.size() == today.node_of_rank.size(), "a plan has a source for every rank");
  for (const Delivery& delivery : plan->deliveries) {
    must(delivery.to.value < kHeads && delivery.holder().value_or(Peer{0}).value < kHeads,
         "a plan names heads that there are");
    const auto* decode = std::get_if<DecodedShard>(&delivery.source);
    if (decode == nullptr) continue;
    for (const auto& chunk : decode->chunks) {
      must(std::ranges::all_of(chunk, [](const Piece& piece) { return piece.holder.value < kHeads; }),
           "a plan names heads that there are");
    }
  }
}

void check_inventory(const Inventory& inventory) {
  must(inventory.by_head.size() == kHeads, "an inventory is of all heads");
  (void)inventory.levels_reached();
  check_plan(inventory, {});
  check_plan(inventory, {1, 2});
}

// Which head this is, and whether its store holds anything, u8; then what the others say.
bool run_inventory(Bytes input) {
  ByteReader in(input);
  const auto first = in.get<std::uint8_t>();
  test::ScriptedComm heads(Peer{first % kHeads}, kHeads, script_in(in));
  const auto inventory = gather_inventory(heads, contents_of((first & 0x80U) != 0), test::sample_layout());
  if (inventory) check_inventory(*inventory);
  return inventory.has_value();
}

bool run_roll_call(Bytes input) {
  ByteReader in(input);
  const auto first = in.get<std::uint8_t>();
  const StoreContents contents = contents_of((first & 0x80U) != 0);
  const std::vector<std::uint32_t> lost;
  test::ScriptedComm heads(Peer{first % kHeads}, kHeads, script_in(in));
  const auto roll = call_roll(heads, {Status{}, contents, Chain{}, lost});
  if (!roll) return false;
  must(roll->highest_version >= contents.highest_version, "the highest version is not below one that is here");
  if (roll->common) must(decode_holdings(encode_holdings(*roll->common)).value() == *roll->common, "a list is a list");
  return true;
}

bool same(const Chain& a, const Chain& b) {
  return a.newest == b.newest && a.fresh_start == b.fresh_start && a.finished == b.finished &&
         a.has_snapshots == b.has_snapshots && a.global == b.global && a.past == b.past && a.mark == b.mark &&
         a.place == b.place && a.costs_unknown == b.costs_unknown && a.mark_unknown == b.mark_unknown &&
         a.present == b.present && a.highest_version == b.highest_version && a.next == b.next &&
         a.measured == b.measured && a.sick.nodes == b.sick.nodes && a.sick.hosts == b.sick.hosts && a.pins == b.pins &&
         a.chosen_at_start.version == b.chosen_at_start.version && a.chosen_at_start.label == b.chosen_at_start.label;
}

bool run_chain(Bytes input) {
  test::ScriptedComm one(Peer{1}, 2, {Buffer(input.begin(), input.end())});
  const auto chain = share_chain(one, Result<Chain>());
  if (!chain) return false;
  test::ScriptedComm zero(Peer{0}, 2, {});
  const auto again = share_chain(zero, *chain);
  must(again && same(*chain, *again), "a chain that is told on is the same");
  return true;
}

HoldingList sample_holdings() {
  StoreContents contents = contents_of(true);
  contents.manifests.front().holdings.resize(1);
  return contents.summaries();
}

// Head 0 has the longest list, which is the dictionary; the other heads hold the same, each as its own node.
std::vector<Buffer> inventory_seeds() {
  const HoldingList dictionary = sample_holdings();
  ByteWriter out;
  out.put(std::uint8_t{2});
  const std::uint64_t longest = std::uint64_t{dictionary.size()} << 32U | ~std::uint32_t{0};
  put_piece(out, std::as_bytes(std::span(&longest, 1)));
  put_piece(out, encode_holdings(dictionary));
  for (std::uint32_t head = 0; head < kHeads; ++head) {
    HoldingList mine = dictionary;
    for (HoldingSummary& summary : mine) summary.node = {head};
    if (head != 2) put_piece(out, encode_holdings_by(dictionary, mine));
  }
  Buffer without = out.bytes();
  // The layout of the second holding, which is not today's, and then who struck what.
  put_piece(out, {});
  ByteWriter strike;
  strike.put(std::uint32_t{1});
  strike.put_text(
      names::shard(names::snapshot(test::kManifestIdentity.version, test::kManifestIdentity.run), {2}).path);
  put_piece(out, strike.bytes());
  return {without, out.take()};
}

// What the others give to the reduction: nothing; and zeros.
std::vector<Buffer> roll_call_seeds() {
  ByteWriter out;
  out.put(std::uint8_t{0x81});
  put_piece(out, Buffer(592));
  return {Buffer{std::byte{0x80}}, out.take()};
}

std::vector<Buffer> chain_seeds() {
  Chain chain;
  chain.newest = {4};
  chain.fresh_start = {2};
  chain.has_snapshots = true;
  chain.global = {test::kManifestIdentity};
  chain.past = {{1}, {5}};
  chain.mark = test::sample_chain_mark();
  chain.measured = test::sample_measured();
  chain.place = "/scratch/checkpoints/heat";
  chain.next = {77};
  test::ScriptedComm zero(Peer{0}, 2, {});
  must(share_chain(zero, chain).has_value(), "a chain is told");
  test::ScriptedComm of_sick(Peer{0}, 2, {});
  chain.sick.nodes = {{1}, {3}};
  must(share_chain(of_sick, chain).has_value(), "a chain with sick nodes is told");
  test::ScriptedComm of_spares(Peer{0}, 2, {});
  chain.sick.hosts = {"c17", "c18"};
  chain.pins = {test::kManifestIdentity};
  chain.chosen_at_start = {Version{7}, "peak"};
  must(share_chain(of_spares, chain).has_value(), "a chain with sick hosts is told");
  test::ScriptedComm of_branch(Peer{0}, 2, {});
  chain.starts = {{1}, {2}};
  chain.choose({4}, {{{1}, {3}, {9}}, {7}});
  must(share_chain(of_branch, chain).has_value(), "a chain with a choice is told");
  return {zero.told(), of_sick.told(), of_spares.told(), of_branch.told()};
}

}  // namespace

std::vector<Target> inventory_targets() {
  return {{"inventory", run_inventory, inventory_seeds},
          {"roll_call", run_roll_call, roll_call_seeds},
          {"chain", run_chain, chain_seeds}};
}

}  // namespace cairn::fuzz
