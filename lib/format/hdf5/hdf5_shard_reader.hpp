// A shard in a node file, read without being rebuilt: its frame and the datasets of its regions have all of its bytes.
// Local; reads only. check_node_file() comes first, where the manifest has a check (format/hdf5/node_file_check).
#pragma once

#include <memory>

#include "base/error.hpp"
#include "format/shard.hpp"
#include "store/store.hpp"

namespace cairn {

// The shard's bytes as its own file would have them. Blocks are not checked: Shard does that. Const calls may come from
// several threads.
[[nodiscard]] Result<std::shared_ptr<const Reader>> open_node_shard(const Store& global, const FileName& node_file,
                                                                    const ShardEntry& expected);

}  // namespace cairn
