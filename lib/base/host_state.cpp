#include "base/host_state.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace cairn {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> entries_of(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(directory, error); !error && at != fs::directory_iterator(); at.increment(error))
    entries.push_back(at->path());
  return entries;
}

std::uint64_t number_in(const fs::path& file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  in >> number;
  return in ? number : 0;
}

std::uint64_t sum_of(const fs::path& directory, std::initializer_list<const char*> files) {
  std::uint64_t sum = 0;
  for (const char* const file : files) sum += number_in(directory / file);
  return sum;
}

void add_cards(std::map<std::string, HostState::Card>& cards, const std::string& root) {
  for (const fs::path& card : entries_of(root + "/sys/class/net")) {
    if (card.filename() == "lo") continue;
    const fs::path counters = card / "statistics";
    cards[card.filename().string()] = {sum_of(counters, {"rx_packets", "tx_packets"}),
                                       sum_of(counters, {"rx_errors", "tx_errors"})};
  }
  for (const fs::path& card : entries_of(root + "/sys/class/infiniband")) {
    for (const fs::path& port : entries_of(card / "ports")) {
      const fs::path counters = port / "counters";
      cards[card.filename().string() + "/" + port.filename().string()] = {
          sum_of(counters, {"port_rcv_packets", "port_xmit_packets"}),
          sum_of(counters, {"symbol_error", "port_rcv_errors", "link_error_recovery", "link_downed"})};
    }
  }
}

}  // namespace

std::optional<HostState::Processors> processors_in(std::istream& stat) {
  std::optional<HostState::Processors> found;
  HostState::Processors processors;
  for (std::string line; std::getline(stat, line);) {
    std::istringstream in(line);
    std::string name;
    in >> name;
    if (name == "cpu") {
      // user, nice, system, idle, iowait, irq, softirq, steal; what follows is in user and nice already.
      std::array<std::uint64_t, 8> ticks{};
      for (std::uint64_t& one : ticks) in >> one;
      if (!in) return {};
      for (const std::uint64_t one : ticks) processors.all += one;
      processors.free = ticks[1] + ticks[3] + ticks[4];
      processors.stolen = ticks[7];
      found = processors;
    } else if (found && name.starts_with("cpu")) {
      ++found->count;
    } else if (found && name == "procs_running") {
      in >> found->runnable;
    }
  }
  return found;
}

std::optional<std::chrono::microseconds> waits_in(std::istream& pressure) {
  constexpr std::string_view kTotal = "total=";
  for (std::string word; pressure >> word && word == "some";) {
    while (pressure >> word) {
      if (!word.starts_with(kTotal)) continue;
      std::istringstream in(word.substr(kTotal.size()));
      std::int64_t total = 0;
      if (in >> total) return std::chrono::microseconds(total);
      return {};
    }
  }
  return {};
}

HostState look_at_host(const std::string& root) {
  HostState host;
  std::ifstream stat(root + "/proc/stat");
  host.processors = processors_in(stat);
  std::ifstream pressure(root + "/proc/pressure/memory");
  host.memory_waits = waits_in(pressure);
  add_cards(host.cards, root);
  std::ifstream boot(root + "/proc/sys/kernel/random/boot_id");
  boot >> host.boot_id;
  return host;
}

}  // namespace cairn
