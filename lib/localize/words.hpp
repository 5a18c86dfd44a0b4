// The sentences of fault localization. All else in this room is facts: nothing reads a sentence. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "localize/fault.hpp"
#include "localize/rules.hpp"

namespace cairn::localize {

// "sick.rules:12: unknown fact 'x' (did you mean y?)"
[[nodiscard]] std::string mistake_text(std::string_view file, const RuleMistake& mistake);
// "silent_node: if unreachable, suspect node_down, partition: A node is silent if …"
[[nodiscard]] std::string rule_text(const RuleSet& rules, const Rule& rule);

// The snapshot that the job would restore now.
struct Restorable {
  Version version;
  LevelId level{};
  std::optional<std::chrono::seconds> sealed;  // since 1970; none: in an earlier life
};
struct Outlook {
  std::optional<Restorable> newest;  // none: there is no snapshot
};

// What a sentence says besides the verdict's facts.
struct Setting {
  std::vector<std::string> hosts;             // by node; empty: not known
  std::optional<std::chrono::seconds> today;  // since 1970, when the verdict was made; none: no times of day
  std::optional<Outlook> outlook = {};        // without the node, if endangers_node(); none: not known
};
// "missed heartbeats, messages without an answer from nodes 2, 4"
[[nodiscard]] std::string symptoms_text(const Verdict& verdict);
// "response.answers = 0, witness.reached = 0"; empty: there were no probes.
[[nodiscard]] std::string probes_text(const Verdict& verdict);
// "node 5 (host c17) may be down: its host does not answer since the job has ended"; of a job that MPI has ended.
[[nodiscard]] std::string unanswered_text(NodeId node, const Setting& setting);
// As verdict_text(), of a verdict that was made when the job had ended. "node 5 (host c17) may be sick: the job ended
// before a probe found out why (I/O errors of the store from node 5)"
[[nodiscard]] std::string ended_text(const Verdict& verdict, const Setting& setting);
// "node 5 (host c17) is sick: its store fails, 3 of 40 operations since 03:12 (I/O errors of the store from node 5)"
[[nodiscard]] std::string verdict_text(const Verdict& verdict, const Setting& setting = {});

}  // namespace cairn::localize
