// Encodes the contents of stores in few bytes, for heads to exchange. Nearly all stores hold the same snapshots, under
// the same layout and in the same placement. So one head's list is sent to all heads as the dictionary, and each head
// sends only how its own list differs:
//
//   4 bytes         the node that the store's holdings below belong to
//   ½ byte          for each entry of the dictionary: is it here, with own shards, copies, parity
//   30 bytes        for each holding that is not in the dictionary, or that belongs to another node
//
// That is 4 + S/2 bytes a node for S snapshots kept, up to 120 of them within 64 bytes. Decoding gives exactly the same
// lists, in the same order, with any dictionary; a bad dictionary only costs bytes. Pure.
#pragma once

#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "recover/inventory.hpp"

namespace cairn {

// Inverse pair, in full: 28 bytes a holding.
[[nodiscard]] Buffer encode_holdings(const HoldingList& holdings);
[[nodiscard]] Result<HoldingList> decode_holdings(Bytes bytes);

// Inverse pair, by what differs from the dictionary.
[[nodiscard]] Buffer encode_holdings_by(const HoldingList& dictionary, const HoldingList& holdings,
                                        LevelSet turning = make_levels().that_take_turns());
[[nodiscard]] Result<HoldingList> decode_holdings_by(const HoldingList& dictionary, Bytes bytes,
                                                     LevelSet turning = make_levels().that_take_turns());

}  // namespace cairn
