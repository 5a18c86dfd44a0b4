// ckpt-tool health: checks a file of rules for fault localization, and prints the default ones.
#include <fmt/format.h>

#include "base/text_file.hpp"
#include "commands.hpp"
#include "localize/rules.hpp"
#include "localize/words.hpp"

namespace ckpt_tool {
cairn::Result<ExitCode> health(const HealthRequest& request) {
  if (request.rules.empty() != request.default_rules) {
    return cairn::fail(cairn::Code::invalid_argument, "health checks a file of rules, or prints the default ones",
                       "write --check-rules FILE, or --default-rules");
  }
  if (request.default_rules) {
    fmt::print("{}", cairn::localize::default_rules_text());
    return kGood;
  }
  const auto text = cairn::read_text_file(request.rules, cairn::Code::io);
  if (!text) return cairn::fail(text.error());
  const auto rules = cairn::localize::parse_rules(*text);
  if (!rules) {
    for (const auto& mistake : rules.error()) complain(cairn::localize::mistake_text(request.rules, mistake));
    return kDamage;
  }
  for (const auto& rule : rules->rules) fmt::print("{}\n", cairn::localize::rule_text(*rules, rule));
  fmt::print("{}: {} rules are in order\n", request.rules, rules->rules.size());
  return kGood;
}

}  // namespace ckpt_tool
