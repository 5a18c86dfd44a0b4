#include "sick_hosts.hpp"

#include <set>

#include "format/health_file.hpp"
#include "inspect/survey.hpp"
#include "localize/action.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"

namespace ckpt_run {

using cairn::Code;

cairn::Result<std::vector<std::string>> sick_hosts(const cairn::Config& config, std::chrono::seconds today) {
  using Hosts = std::vector<std::string>;
  if (!config.localize.on || config.localize.act < cairn::localize::Act::replace) return Hosts{};
  const auto existing = cairn::PosixStore::open_existing(config.storage.global, config.job.name);
  if (!existing && existing.error().code == Code::not_found) return Hosts{};
  if (!existing) return cairn::fail(existing.error());
  auto sealer = cairn::make_sealer(config.integrity.key_file, config.job.name);
  if (!sealer) return cairn::fail(sealer.error());
  const cairn::JobStores stores{{}, *existing, std::move(*sealer)};
  const auto text = read_text(**existing, cairn::names::health(), cairn::kMostHealthBytes);
  if (!text && text.error().code == Code::not_found) return Hosts{};
  if (!text) return cairn::fail(text.error());
  const auto health = cairn::parse_health_file(*text, stores.sealer_at(cairn::StoreId::global()));
  if (!health) return cairn::fail(health.error().in_file(cairn::names::health().path));
  std::set<std::string> hosts;
  for (const cairn::HealthEntry& entry : health->entries) {
    if (entry.expired(static_cast<std::uint64_t>(today.count()))) continue;
    if (cairn::localize::calls_for_replacing(entry.verdict)) hosts.insert(entry.host);
  }
  return Hosts(hosts.begin(), hosts.end());
}

}  // namespace ckpt_run
