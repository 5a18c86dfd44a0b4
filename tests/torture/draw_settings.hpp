// Parts of draw() that its files share.
#pragma once

#include "torture/dice.hpp"
#include "torture/scenario.hpp"

namespace cairn::torture {

// Levels of a configuration: any; L1 alone; L1 of each snapshot, and of some L2 or L3, and L4.
enum class Levels { some, local, seldom };
// Adds the levels and all that comes after them to the settings of a life whose cluster is drawn.
void draw_settings(Dice& dice, Life& life, Levels levels = Levels::some);

// Some seeds play one thing only, more often than it comes about among others.
void narrow(Scenario& scenario);

}  // namespace cairn::torture
