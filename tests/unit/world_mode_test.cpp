// A configuration that says otherwise than what ckpt-run was told is refused; the error names both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "session/world_mode.hpp"
#include "support/facts.hpp"

namespace cairn {
namespace {

using test::Fails;

// Started with nodes of three processes, and so substituted.
WorldMode replaced() { return {.started = StartedWorld{{3}, 0}, .replaced = true}; }

Status checked(const std::string& text, const WorldMode& mode, bool heads = true, bool is_part = false) {
  return check_world_mode(parse_config(text, "test.ini", {}).value(), mode, heads, is_part);
}

TEST(WorldMode, is_right_where_the_file_says_what_ckpt_run_has_read) {
  EXPECT_TRUE(checked("[topology]\nnode_size = 3", replaced()));
  EXPECT_TRUE(checked("[topology]\nnode_size = 3\n[job]\nworld = application\n[head]\nmode = rank", replaced()));
  EXPECT_TRUE(checked("[topology]\nnode_size = 4\n[job]\nworld = as is", {}));
  EXPECT_TRUE(checked("[recovery]\nmode = spares\n[head]\nmode = inline", {}));
}

TEST(WorldMode, that_ckpt_run_was_told_otherwise_is_an_error_that_names_both) {
  EXPECT_THAT(checked("[topology]\nnode_size = 2,4", replaced()),
              Fails(Code::config, {"[topology] node_size = 2,4", "[topology] node_size = 3", "--config"}));
  EXPECT_THAT(checked("", replaced()), Fails(Code::config, {"[topology] node_size", "[topology] node_size = 3"}));
  EXPECT_THAT(checked("[job]\nworld = as is", replaced()),
              Fails(Code::config, {"[job] world = as is", "[job] world = application"}));
  for (const std::string mode : {"thread", "inline"}) {
    EXPECT_THAT(checked("[topology]\nnode_size = 3\n[head]\nmode = " + mode, replaced()),
                Fails(Code::config, {"[head] mode = " + mode, "[head] mode = rank"}));
  }
  for (const std::string mode : {"spares", "respawn"}) {
    EXPECT_THAT(checked("[topology]\nnode_size = 3\n[recovery]\nmode = " + mode, replaced()),
                Fails(Code::config, {"[recovery] mode = " + mode, "[recovery] mode = restart"}));
  }
}

TEST(WorldMode, of_a_job_that_repairs_itself_is_that_of_the_start) {
  const WorldMode repairs{.started = StartedWorld{{3}, 2, true}, .replaced = true};
  const std::string sizes = "[topology]\nnode_size = 3\n";
  for (const std::string mode : {"spares", "respawn"})
    EXPECT_TRUE(checked(sizes + "[job]\nworld = application\n[recovery]\nmode = " + mode, repairs)) << mode;
  EXPECT_THAT(checked(sizes + "[recovery]\nmode = restart", repairs),
              Fails(Code::config, {"[recovery] mode = restart", "spares or respawn", "--config"}));
  // It may have no heads, but spares.
  EXPECT_TRUE(checked(sizes + "[head]\nmode = inline\n[recovery]\nmode = spares", repairs, false));
  const WorldMode not_there{.started = StartedWorld{{}, 2, true}};
  EXPECT_THAT(checked("[job]\nworld = application\n[recovery]\nmode = spares", not_there, false),
              Fails(Code::config, {"[job] world = application", "as is"}));
}

// It has nodes of its own, and any rank may have the head's work.
TEST(WorldMode, of_a_part_of_the_ranks_is_about_less) {
  EXPECT_TRUE(checked("[topology]\nnode_size = 1\n[head]\nmode = inline", replaced(), true, true));
  EXPECT_FALSE(checked("[job]\nworld = as is", replaced(), true, true));
  EXPECT_FALSE(checked("[recovery]\nmode = spares", replaced(), true, true));
}

TEST(WorldMode, that_was_asked_for_and_is_not_there_is_an_error_that_says_why) {
  const std::string asked = "[job]\nworld = application";
  EXPECT_THAT(checked(asked, {}), Fails(Code::config, {"[job] world = application", "ckpt-run", "--config"}));
  WorldMode unheard{.started = StartedWorld{}, .intercepted = false};
  EXPECT_THAT(checked(asked, unheard), Fails(Code::config, {"[job] world = application", "cairn-tap"}));
  unheard.intercepted = true;
  EXPECT_THAT(checked(asked, unheard), Fails(Code::config, {"[job] world = application", "ckpt-run", "as is"}));
  // Without heads it is the application's whoever looks.
  EXPECT_TRUE(checked(asked, {.started = StartedWorld{}}, false));
  EXPECT_TRUE(checked("", {.started = StartedWorld{}, .intercepted = false}));
}

}  // namespace
}  // namespace cairn
