// What the heads of a job had seen, and not yet analysed, when MPI ended the job: symptoms in the node stores. ckpt-run
// collects them from all hosts by its agent, analyses them, and adds what follows to health.json of the global store.
// Each question has the agent's limit. Local.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "config/config.hpp"
#include "placement.hpp"
#include "process.hpp"

namespace ckpt_run {

// Runs shell commands on hosts, at the same time, and answers in their order.
struct HostCommand {
  std::string host;
  std::string command;
};
using OnHosts = std::function<std::vector<Ending>(const std::vector<HostCommand>& commands)>;
// More output of a command is of no use.
inline constexpr std::size_t kMostAnswerBytes = 1U << 20U;

struct Remains {
  // Application ranks whose head has looked for their process, and has not found it: no doubt is left. Ascending.
  std::vector<std::uint32_t> dead_ranks;
  std::vector<std::string> verdicts;  // in words
  struct Unread {
    std::uint32_t node = 0;
    std::string host;
    std::string why;
    friend bool operator==(const Unread&, const Unread&) = default;
  };
  std::vector<Unread> unread;  // nodes whose symptoms could not be read
};

// `placement`: of the run that has ended. `lost`: hosts that do not answer, which are not asked. `today`: since 1970.
// Nothing, if there is no such run or [localize] mode = off. An error says why the verdicts could not be written.
[[nodiscard]] cairn::Result<Remains> examine_remains(const cairn::Config& config, const Placement& placement,
                                                     const std::vector<std::string>& lost, std::chrono::seconds today,
                                                     const OnHosts& on_hosts);

// "the symptoms that node 3 (host c17) has kept cannot be read: …"
[[nodiscard]] std::string unread_text(const Remains::Unread& unread);

}  // namespace ckpt_run
