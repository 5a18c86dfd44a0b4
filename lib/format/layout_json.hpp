// A Layout, an Identity and a ShardEntry in JSON, as all manifests hold them. Pure.
#pragma once

#include <vector>

#include "format/json_view.hpp"
#include "format/shard.hpp"
#include "topology/layout.hpp"

namespace cairn {

// Ordered, so that a file is read by people from what it is to what it holds.
using Json = nlohmann::ordered_json;

[[nodiscard]] Json json_of(const Layout& layout);
[[nodiscard]] Json json_of(const std::vector<ShardEntry>& shards);
// Adds incarnation, version and run.
void put_identity(Json& to, const Identity& identity);

// The inverses. What is wrong is said to the view; the value is then of no use.
[[nodiscard]] Layout layout_of(const JsonView& from);
// Ranks are below layout's, none twice.
[[nodiscard]] std::vector<ShardEntry> shards_of(const JsonView& from, const Layout& layout);
[[nodiscard]] Identity identity_of(const JsonView& from);
[[nodiscard]] RunId run_of(const JsonView& from);
[[nodiscard]] Sha256 digest_of(const JsonView& from);

}  // namespace cairn
