// The sentences of fault localization. All else in this room is facts: nothing reads a sentence. Pure.
#pragma once

#include <string>
#include <string_view>

#include "localize/fault.hpp"
#include "localize/rules.hpp"

namespace cairn::localize {

// "sick.rules:12: unknown fact 'x' (did you mean y?)"
[[nodiscard]] std::string mistake_text(std::string_view file, const RuleMistake& mistake);
// "silent_node: if unreachable, suspect node_down, partition: A node is silent if …"
[[nodiscard]] std::string rule_text(const RuleSet& rules, const Rule& rule);

// "missed heartbeats, messages without an answer from nodes 2, 4; probes: response.answers = 0"
[[nodiscard]] std::string evidence_text(const Verdict& verdict);
// "node 5 is down: no other node reaches it (missed heartbeats from …)"
[[nodiscard]] std::string verdict_text(const Verdict& verdict);

}  // namespace cairn::localize
