#include "engine/health_keeper.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "format/json_file.hpp"
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
  if (read().any) write_or_warn(today);
}

void HealthKeeper::resume() {
  for (HealthEntry& entry : read().entries) {
    const auto is_it = [&](const HealthEntry& one) { return same_fault(one.verdict, entry.verdict); };
    if (entry.life == life_ && std::ranges::none_of(standing_, is_it)) standing_.push_back(std::move(entry));
  }
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

void HealthKeeper::take(const localize::Verdict& verdict, const std::string& text, Today today) {
  if (verdict.withdrawn) {
    std::erase_if(standing_, [&](const HealthEntry& one) { return same_fault(one.verdict, verdict); });
  } else {
    put(verdict, text, today);
  }
  write_or_warn(today);
}

bool HealthKeeper::notice_clear() {
  if (standing_.empty() || !in_file_) return false;
  const auto file = store_->open(names::health());
  if (file || file.error().code != Code::not_found) return false;
  log_.info("the verdicts of this run are forgotten, since {} was removed", names::health().path);
  standing_.clear();
  in_file_ = false;
  return true;
}

void HealthKeeper::end(Today today) {
  const auto is_of_rank = [](const HealthEntry& entry) { return entry.verdict.suspect.rank.has_value(); };
  for (const HealthEntry& entry : standing_)
    if (is_of_rank(entry)) log_.info("withdrawn, since the run has ended well: {}", entry.text);
  if (std::erase_if(standing_, is_of_rank) > 0) write_or_warn(today);
}

void HealthKeeper::renew(Today today) {
  if (!standing_.empty() && today - written_ >= kRenewEvery) write_or_warn(today);
}

void HealthKeeper::read(const FileName& name, Kept& kept) {
  const auto text = read_text(*store_, name, kMostHealthBytes);
  if (!text && text.error().code == Code::not_found) return;
  kept.any = true;
  auto health = text ? parse_health_file(*text, sealer_) : fail(text.error());
  const bool is_own = name == names::health();
  if (health) {
    std::ranges::move(health->entries, std::back_inserter(kept.entries));
    if (!is_own) kept.beside.push_back(name);
    return;
  }
  const bool damaged = health.error().code == Code::corrupt;
  kept.stays |= is_own && !damaged;
  if (!unreadable_.insert(name.path).second) return;
  const std::string error = health.error().in_file(name.path).text();
  if (damaged) {
    log_.warning("{}; what earlier runs found sick is forgotten", error);
  } else if (is_own) {
    log_.warning("{}; the file stays, and {} will have what this run finds", error, names::health_of(life_).path);
  } else {
    log_.warning("{}; the file stays", error);
  }
}

HealthKeeper::Kept HealthKeeper::read() {
  Kept kept;
  read(names::health(), kept);
  const auto entries = store_->list(DirName{});
  if (!entries) return kept;
  for (const Entry& entry : *entries)
    if (!entry.directory && names::is_health_of_a_run(entry.name)) read(FileName{entry.name}, kept);
  return kept;
}

std::vector<HealthEntry> HealthKeeper::of_earlier_runs(std::vector<HealthEntry> all, Today today) const {
  std::erase_if(all, [&](const HealthEntry& entry) {
    const bool of_now = entry.life == life_;
    const bool found_again = std::ranges::any_of(standing_, [&](const HealthEntry& one) {
      return one.host == entry.host && one.verdict.fault == entry.verdict.fault;
    });
    return of_now || found_again || entry.verdict.suspect.rank || entry.expired(seconds_of(today));
  });
  return all;
}

Status HealthKeeper::write(Today today) {
  Kept kept = read();
  HealthFile health{life_, standing_};
  for (HealthEntry& entry : health.entries) entry.expires = seconds_of(today + kVerdictLasts);
  std::ranges::move(of_earlier_runs(std::move(kept.entries), today), std::back_inserter(health.entries));
  if (health.entries.size() > kMostHealthEntries) health.entries.resize(kMostHealthEntries);
  written_ = today;
  if (kept.stays && health.entries.empty() && kept.beside.empty()) return {};
  const FileName name = kept.stays ? names::health_of(life_) : names::health();
  auto status = write_json_text(*store_, name, to_json(health, sealer_), kMostHealthBytes);
  in_file_ = status && name == names::health();
  // What they hold is in the new one.
  for (const FileName& beside : kept.beside) {
    if (status && beside != name) status = store_->remove(beside);
  }
  return status;
}

void HealthKeeper::write_or_warn(Today today) {
  const auto status = write(today);
  if (!status && !std::exchange(unwritable_, true))
    log_.warning("ckpt-tool health cannot show what is sick: {}", status.error().text());
}

}  // namespace cairn
