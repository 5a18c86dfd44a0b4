#include "level/source_finder.hpp"

#include <tuple>
#include <utility>

namespace cairn {
namespace {

class SharedStoreFinder final : public SourceFinder {
 public:
  SharedStoreFinder(const KnownParts& known, StoreId store) : known_(known), store_(store) {}

  std::optional<Found> find(Rank rank, Peer to) override {
    if (!known_.has_shard(store_, rank)) return {};
    return Found{0, to, SharedShard{}};
  }

 private:
  const KnownParts& known_;
  StoreId store_;
};

}  // namespace

void keep_cheaper(std::optional<SourceFinder::Found>& best, SourceFinder::Found other) {
  if (!best || std::tie(other.cost, other.holder) < std::tie(best->cost, best->holder)) best = std::move(other);
}

std::unique_ptr<SourceFinder> find_in_shared_store(const KnownParts& known, StoreId store) {
  return std::make_unique<SharedStoreFinder>(known, store);
}

}  // namespace cairn
