#include "torture/draw_settings.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace cairn::torture {
namespace {

std::string draw_interval(Dice& dice, bool often, Levels levels) {
  if (levels == Levels::seldom) return often ? "every 1" : fmt::format("every {}", dice.between(2, 3));
  if (!often && dice.one_in(4)) return "90s";
  return fmt::format("every {}", dice.between(1, 3));
}

}  // namespace

void draw_settings(Dice& dice, Life& life, Levels levels) {
  const auto nodes = static_cast<std::uint32_t>(life.nodes.size());
  const bool more = levels != Levels::local;
  const bool l2 = more && nodes >= 2 && !dice.one_in(3);
  const bool l3 = more && nodes >= 3 && !dice.one_in(3) && !(l2 && levels == Levels::seldom);
  const bool l4 = more && !dice.one_in(3);
  life.copies = nodes >= 4 && dice.one_in(2) ? 2 : 1;
  const std::uint32_t rotation = nodes >= 5 && life.copies == 1 ? dice.between(1, 2) : 1;
  const std::uint32_t group = nodes >= 3 ? dice.between(3, std::min(nodes, 4U)) : 2;
  life.parity = group >= 4 && nodes % group == 0 ? dice.between(1, 2) : 1;
  life.finishes = dice.one_in(2);
  std::string& text = life.settings;
  // One after the other: compilers differ in the order in which they evaluate the arguments of a call.
  const std::string of_l4 = l4 ? draw_interval(dice, false, levels) : "off";
  const std::string of_l3 = l3 ? draw_interval(dice, false, levels) : "off";
  const std::string of_l2 = l2 ? draw_interval(dice, false, levels) : "off";
  const std::string of_l1 = draw_interval(dice, true, levels);
  text += fmt::format("[levels]\nl1 = {}\nl2 = {}\nl3 = {}\nl4 = {}\n", of_l1, of_l2, of_l3, of_l4);
  text += fmt::format("[partner]\ncopies = {}\nrotation = {}\n", life.copies, rotation);
  text += fmt::format("[erasure]\ngroup = {}\nparity = {}\n", group, life.parity);
  life.keep_local = more ? dice.between(1, 2) : 2;
  life.keep_global = dice.between(1, 2);
  text += fmt::format("[storage]\nkeep_local = {}\nkeep_global = {}\n", life.keep_local, life.keep_global);
  text += fmt::format("[job]\non_storage_error = {}\n", dice.one_in(2) ? "throw" : "continue");
  const bool digests = dice.one_in(3) || life.keyed;  // a key needs them
  // Last, since the start of each life is one key more of it.
  text +=
      fmt::format("[restart]\nelastic = off\nat_end = {}\nverify = {}\nuse_failure_topology = {}\n",
                  life.finishes ? "finished" : "continue", digests ? "sha256" : "crc", dice.one_in(4) ? "off" : "on");
}

}  // namespace cairn::torture
