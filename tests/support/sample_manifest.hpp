// Manifests with everything in them that a manifest can have.
#pragma once

#include <nlohmann/json.hpp>

#include "format/job_costs.hpp"
#include "format/json_file.hpp"
#include "format/manifest.hpp"
#include "format/parity_file.hpp"

namespace cairn::test {

inline constexpr Identity kManifestIdentity{{3}, {42}, {0x0123456789abcdefULL}};

// 7 ranks on 4 nodes, one copy, two groups of two with one parity node.
inline Layout sample_layout() {
  Layout layout;
  layout.node_of_rank = {{0}, {0}, {1}, {1}, {2}, {3}, {3}};
  layout.nodes = 4;
  layout.domain_of_node = {0, 0, 1, 1};
  layout.copies = 1;
  layout.groups = {{{0}, {2}}, {{1}, {3}}};
  layout.parity = 1;
  return layout;
}

inline ShardEntry sample_entry(std::uint32_t rank) {
  return {{rank}, 8192 + rank * 4096, sha256(bytes_of("rank " + std::to_string(rank)))};
}

inline NodeManifest sample_node_manifest() {
  Holding holding;
  holding.layout = sample_layout();
  holding.node = {1};
  holding.own = std::vector<ShardEntry>{sample_entry(2), sample_entry(3)};
  holding.partner = PartnerHolding{9, {{{0}, {sample_entry(0), sample_entry(1)}}}};
  holding.erasure = ErasureHolding{28672,
                                   {{sample_entry(2), sample_entry(3)}, {sample_entry(5), sample_entry(6)}},
                                   {{0, 0, kParityHeaderBytes + 28672, sha256(bytes_of("parity"))}}};
  Holding older;
  older.layout = sample_layout();
  older.layout.copies = 2;
  older.node = {3};
  return {kManifestIdentity, 77, {holding, older}};
}

inline GlobalManifest sample_global_manifest() {
  GlobalManifest manifest{kManifestIdentity,        77,
                          sample_layout(),          {},
                          {1000, 2000, 3000, 4000}, FileDigest{5000, sha256(bytes_of("checkpoint.h5"))}};
  for (std::uint32_t rank = 0; rank < 7; ++rank) manifest.shards.push_back(sample_entry(rank));
  for (std::uint32_t node = 0; node < 4; ++node) {
    manifest.node_files.push_back({512 + node * 16, 1 + node, sha256(bytes_of("node " + std::to_string(node)))});
  }
  return manifest;
}

inline RunRecord sample_run_record() {
  return {{4}, {0xfedcba9876543210ULL}, RunRecord::Parent::snapshot, kManifestIdentity, true, false};
}

inline RunRecord sample_choosing_record() {
  RunRecord record = sample_run_record();
  record.choices = {{kManifestIdentity, {47}, true}, {{{4}, {48}, {0xfedcba9876543210ULL}}, {49}}};
  return record;
}

inline RunRecord sample_rejecting_record() {
  RunRecord record = sample_choosing_record();
  record.rejected = {record.choices[1].snapshot, {record.incarnation, {50}, record.run}};
  return record;
}

inline ChainMark sample_chain_mark() { return {{0x0011223344556677ULL}, "/scratch/checkpoints/heat"}; }

// L3 has not been measured yet, and no restore has needed L4.
inline JobCosts sample_measured() {
  return {
      {{{0.025, 0.5, 43200, 6}, {0.1, 1.25, 259200, 1}, {0, 0, 864000, 0}, {12, 0, 5184000, 0}}}, 302400.5, {7}, false};
}

// A file's text after a change that its writer might have made: with the seal that belongs to it.
inline std::string sealed_again(const std::string& text) {
  auto json = nlohmann::ordered_json::parse(text);
  json.erase("sha256");
  return Sealer().seal(json);
}

// A file's text as a Cairn wrote it that knew no seals, with what it did not note.
inline std::string as_format_1(const std::string& text) {
  auto json = nlohmann::ordered_json::parse(text);
  json.erase("sha256");
  json.erase("master");
  json.erase("node_files");
  json["format"] = 1;
  return json.dump(1) + "\n";
}

}  // namespace cairn::test
