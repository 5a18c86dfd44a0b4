// One node of a SickCluster: what is the case there, and what its head knows of it.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "localize/detect.hpp"
#include "localize/messages.hpp"

namespace cairn::test {

inline constexpr std::uint32_t kRanksPerNode = 4;
inline constexpr std::size_t kPeers = 8;  // that a node fetches data from

// A small generator: a run at 1,024 nodes draws millions of numbers.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  double uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }
  double uniform(double least, double most) { return least + (most - least) * uniform(); }
  bool chance(double share) { return share > 0 && uniform() < share; }
  std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(next() % count); }
  // About normal, with mean 1.
  double factor(double deviation) { return 1 + deviation * (uniform() + uniform() + uniform() + uniform() - 2) * 1.73; }

 private:
  std::uint64_t state_;
};

// What passes by itself: until when, and how much.
struct Spell {
  localize::Time until{};
  double amount = 0;
  [[nodiscard]] double at(localize::Time now) const { return now < until ? amount : 0; }
};

struct SimRank {
  bool alive = true;
  double held = 0;  // share of the time in which something stops it
  double measured_held = 0;
  std::optional<localize::Time> stuck;
  Spell pause;  // its amount: when it began, in seconds
};

struct SimNode {
  using Time = localize::Time;

  bool alive = true;
  double stolen = 0;
  double memory = 0;
  double queue = 0;         // seconds that messages wait for the head
  double link = 1;          // share of its bandwidth
  double refusal_rate = 0;  // of the operations of its store: there is no room
  double store_error_rate = 0;
  double flip_rate = 0;        // of all that it sends
  double damage_rate = 0;      // of its files
  double card_error_rate = 0;  // of its packets
  std::array<SimRank, kRanksPerNode> ranks;

  Spell pause;  // of the head
  Spell stolen_for_a_while, memory_for_a_while, slow_for_a_while;

  Time next_beat{};
  double clock_offset = 0;
  double clock_rate = 1;

  // What its head has measured.
  struct Peer {
    NodeId node;
    Time last_heard{};
    std::optional<Time> asked;  // the transfer that has no answer
    double rate = 0;
    std::uint32_t sent_to = 0, wrong_at = 0;
  };
  std::vector<Peer> watched;       // whose heartbeats it expects
  std::array<Peer, kPeers> peers;  // whose data it fetches
  std::size_t next_peer = 0;
  double measured_stolen = 0, measured_memory = 0;
  double measured_card_errors = 0;
  std::uint32_t operations = 0, failed_operations = 0, refused_operations = 0;
  std::uint32_t damaged_files = 0;
  struct Sent {
    NodeId to;
    std::uint32_t messages = 0, wrong = 0;
  };
  std::vector<Sent> sent;  // lately
  std::map<std::pair<SymptomKind, Suspect>, Time> reported;

  [[nodiscard]] Time clock(Time now) const {
    return Time(static_cast<std::int64_t>(clock_offset * 1e6 + clock_rate * static_cast<double>(now.count())));
  }
  [[nodiscard]] double stolen_at(Time now) const { return std::max(stolen, stolen_for_a_while.at(now)); }
  [[nodiscard]] double memory_at(Time now) const { return std::max(memory, memory_for_a_while.at(now)); }
  [[nodiscard]] double queue_at(Time now) const {
    const double paused = now < pause.until ? std::chrono::duration<double>(pause.until - now).count() : 0;
    return std::max(queue, paused);
  }
  [[nodiscard]] double link_at(Time now) const { return now < slow_for_a_while.until ? std::min(link, 0.3) : link; }
};

}  // namespace cairn::test
