// A Layout, an Identity and a ShardEntry in JSON, as all manifests hold them. Pure.
#pragma once

#include <vector>

#include "format/json_view.hpp"
#include "format/shard.hpp"
#include "topology/layout.hpp"

namespace cairn {

// Keys keep their order, so that a person reads first what a file is, and then what it contains.
using Json = nlohmann::ordered_json;

[[nodiscard]] Json json_of(const Layout& layout);
[[nodiscard]] Json json_of(const std::vector<ShardEntry>& shards);
// Adds incarnation, version and run.
void put_identity(Json& to, const Identity& identity);

// The inverses. An error is reported to the view; then the value must not be used.
[[nodiscard]] Layout layout_of(const JsonView& from);
// Every rank is one of the layout's, and none appears twice.
[[nodiscard]] std::vector<ShardEntry> shards_of(const JsonView& from, const Layout& layout);
[[nodiscard]] Identity identity_of(const JsonView& from);
[[nodiscard]] RunId run_of(const JsonView& from);
[[nodiscard]] Sha256 digest_of(const JsonView& from);

}  // namespace cairn
