#include "engine/health_keeper.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "format/json_file.hpp"
#include "localize/words.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

std::uint64_t seconds_of(HealthKeeper::Today today) { return static_cast<std::uint64_t>(today.count()); }

// Where no time has to be compared with that of another host: before the decision.
void make_ages(localize::Verdict& verdict) {
  for (localize::Observation& seen : verdict.evidence) {
    seen.first = verdict.decided_at - seen.first;
    seen.last = verdict.decided_at - seen.last;
  }
}

}  // namespace

HealthKeeper::HealthKeeper(std::shared_ptr<Store> store, const Topology& topology, Incarnation life, Sealer sealer,
                           Log log)
    : store_(std::move(store)), topology_(topology), life_(life), sealer_(std::move(sealer)), log_(std::move(log)) {}

void HealthKeeper::begin(Today today) {
  const auto text = read_text(*store_, names::health(), kMostHealthBytes);
  if (text || text.error().code != Code::not_found) write_or_warn(today);
}

void HealthKeeper::resume() {
  for (HealthEntry& entry : read())
    if (entry.life == life_) standing_.push_back(std::move(entry));
}

void HealthKeeper::put(const localize::Verdict& verdict, std::string text, Today today) {
  const auto found =
      std::ranges::find_if(standing_, [&](const HealthEntry& one) { return same_fault(one.verdict, verdict); });
  HealthEntry entry{verdict, topology_.hosts()[verdict.suspect.node.value], seconds_of(today), std::move(text)};
  entry.life = life_;
  make_ages(entry.verdict);
  if (found == standing_.end()) {
    standing_.push_back(std::move(entry));
  } else {
    entry.decided = found->decided;
    *found = std::move(entry);
  }
}

void HealthKeeper::take(const localize::Verdict& verdict, Today today) {
  if (verdict.withdrawn) {
    std::erase_if(standing_, [&](const HealthEntry& one) { return same_fault(one.verdict, verdict); });
  } else {
    localize::Setting setting{topology_.hosts(), today};
    put(verdict, verdict_text(verdict, setting), today);
  }
  write_or_warn(today);
}

void HealthKeeper::renew(Today today) {
  if (!standing_.empty() && today - written_ >= kRenewEvery) write_or_warn(today);
}

// A file that is damaged counts as none, and is replaced.
std::vector<HealthEntry> HealthKeeper::read() {
  const auto text = read_text(*store_, names::health(), kMostHealthBytes);
  if (!text && text.error().code == Code::not_found) return {};
  auto health = text ? parse_health_file(*text, sealer_) : fail(text.error());
  if (health) return std::move(health->entries);
  if (!std::exchange(unreadable_, true))
    log_.warning("{}; what earlier runs found sick is forgotten", health.error().in_file(names::health().path).text());
  return {};
}

std::vector<HealthEntry> HealthKeeper::of_earlier_runs(Today today) {
  std::vector<HealthEntry> kept;
  for (HealthEntry& entry : read()) {
    const bool of_now = entry.life == life_;
    const bool found_again = std::ranges::any_of(standing_, [&](const HealthEntry& one) {
      return one.host == entry.host && one.verdict.fault == entry.verdict.fault;
    });
    if (!of_now && !found_again && !entry.verdict.suspect.rank && !entry.expired(seconds_of(today)))
      kept.push_back(std::move(entry));
  }
  return kept;
}

Status HealthKeeper::write(Today today) {
  HealthFile health{life_, standing_};
  for (HealthEntry& entry : health.entries) entry.expires = seconds_of(today + kVerdictLasts);
  std::ranges::move(of_earlier_runs(today), std::back_inserter(health.entries));
  if (health.entries.size() > kMostHealthEntries) health.entries.resize(kMostHealthEntries);
  written_ = today;
  return write_json_text(*store_, names::health(), to_json(health, sealer_), kMostHealthBytes);
}

void HealthKeeper::write_or_warn(Today today) {
  const auto status = write(today);
  if (!status && !std::exchange(unwritable_, true))
    log_.warning("ckpt-tool health cannot show what is sick: {}", status.error().text());
}

}  // namespace cairn
