// Keeps health.json of the global store, for ckpt-tool health and for later runs: the verdicts that hold, each with the
// day it was first announced, and those of earlier runs until they expire. Of earlier runs, verdicts about ranks are
// dropped: their processes are gone. Used by the head that announces verdicts. Local. One thread.
//
// A file that is damaged is replaced. One that cannot be read now, that is sealed with another key, or that a newer
// Cairn has written, stays. The verdicts of this run then lie beside it (names::health_of), until a run can read it.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/log.hpp"
#include "format/health_file.hpp"
#include "format/sealer.hpp"
#include "localize/fault.hpp"
#include "store/store.hpp"
#include "topology/topology.hpp"

namespace cairn {

class HealthKeeper {
 public:
  using Today = std::chrono::seconds;  // since 1970

  // So long after it was last written, a verdict no longer counts.
  static constexpr std::chrono::hours kVerdictLasts{24};
  // How often verdicts that still hold are written again.
  static constexpr std::chrono::hours kRenewEvery{1};

  // Keeps a reference to `topology`. `store`: the global one. `life`: this run.
  HealthKeeper(std::shared_ptr<Store> store, const Topology& topology, Incarnation life, Sealer sealer, Log log);

  // At the start of a run, by one head: drops from the file what no longer counts.
  void begin(Today today);
  // For a process that adds to what this run has written: takes that up.
  void resume();
  // The verdicts of this run that hold.
  [[nodiscard]] const std::vector<HealthEntry>& standing() const { return standing_; }
  // A verdict in the words `text`; write() is to follow.
  void put(const localize::Verdict& verdict, std::string text, Today today);
  [[nodiscard]] Status write(Today today);
  // A verdict is new, has changed, or was withdrawn. Writes the file; an error is logged once.
  void take(const localize::Verdict& verdict, const std::string& text, Today today);
  // Whether somebody has removed the file since it was written: ckpt-tool health --clear. Then no verdict stands any
  // more; what still holds is put again when its analyst confirms it. To be called now and then.
  bool notice_clear();
  // The run has ended well: none of its processes is dead, stopped or stuck any more. What is known of nodes stays.
  void end(Today today);
  // To be called now and then.
  void renew(Today today);

 private:
  // What lies in the store.
  struct Kept {
    std::vector<HealthEntry> entries;
    std::vector<FileName> beside;  // files of runs that could not read the other one; `entries` has what they hold
    bool stays = false;            // the file cannot be read, and is not damaged
    bool any = false;              // there is a file
  };
  [[nodiscard]] Kept read();
  void read(const FileName& name, Kept& kept);
  [[nodiscard]] std::vector<HealthEntry> of_earlier_runs(std::vector<HealthEntry> all, Today today) const;
  void write_or_warn(Today today);

  std::shared_ptr<Store> store_;
  const Topology& topology_;
  Incarnation life_;
  Sealer sealer_;
  Log log_;
  std::vector<HealthEntry> standing_;
  Today written_{};
  bool in_file_ = false;              // what stands, as far as this process knows
  bool unwritable_ = false;           // said once
  std::set<std::string> unreadable_;  // files; each is said once
};

}  // namespace cairn
