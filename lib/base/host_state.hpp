// What the operating system says of this host: its processors, its memory, its network cards. All counts only grow
// since the host started, except those of a card that is removed. Local.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <istream>
#include <map>
#include <optional>
#include <string>

namespace cairn {

struct HostState {
  // Clock ticks of all processors together.
  struct Processors {
    std::uint64_t all = 0;
    std::uint64_t free = 0;    // idle, or busy with processes that have stepped back (nice)
    std::uint64_t stolen = 0;  // by the hypervisor
    std::uint32_t count = 0;
    std::uint32_t runnable = 0;  // threads that run or want to, now
  };
  struct Card {
    std::uint64_t packets = 0;
    std::uint64_t errors = 0;
  };
  std::optional<Processors> processors;
  // How long threads have waited for memory: of all on the host; none: the kernel does not say.
  std::optional<std::chrono::microseconds> memory_waits;
  std::map<std::string, Card> cards;  // by name; "lo" is left out
  // The same for all hosts that are containers of one machine; empty: not known.
  std::string boot_id;
};

// Reads <root>/proc and <root>/sys. What cannot be read is left out.
[[nodiscard]] HostState look_at_host(const std::string& root);
[[nodiscard]] inline HostState look_at_host() { return look_at_host(""); }
using LookAtHost = std::function<HostState()>;

// From the text of /proc/stat; none: it says nothing of processors.
[[nodiscard]] std::optional<HostState::Processors> processors_in(std::istream& stat);
// From the text of /proc/pressure/memory.
[[nodiscard]] std::optional<std::chrono::microseconds> waits_in(std::istream& pressure);

}  // namespace cairn
