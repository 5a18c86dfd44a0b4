#include "session/world_mode.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cairn {
namespace {

using World = Config::Job::World;

constexpr const char* kOneFile = "give ckpt-run the INI file that the program reads (--config)";

// What the configuration has, and what ckpt-run has started the job with.
Status refuse_other(const std::string& here, const std::string& started) {
  return fail(Code::config, fmt::format("{}, but ckpt-run started the job with {}", here, started), kOneFile);
}

std::string node_size_text(const std::vector<std::uint32_t>& sizes) {
  return sizes.empty() ? "no [topology] node_size" : fmt::format("[topology] node_size = {}", fmt::join(sizes, ","));
}

// Whether what was asked for is there.
Status check_asked(const WorldMode& mode, bool heads) {
  if (!mode.started) {
    return fail(Code::config, "[job] world = application: ckpt-run did not start this job with world = application",
                "start it with ckpt-run, and give that this INI file (--config); or set world = as is");
  }
  if (mode.replaced || (!heads && !mode.started->repairs)) return {};
  if (!mode.intercepted) {
    return fail(Code::config, "[job] world = application: MPI calls are not intercepted",
                "link cairn-tap before a shared MPI library, as pkg-config --libs cairn does, or set world = as is");
  }
  return fail(Code::config, "[job] world = application: the processes of this job are not those that ckpt-run started",
              "set world = as is for programs that are started by others");
}

}  // namespace

Status check_world_mode(const Config& config, const WorldMode& mode, bool heads, bool is_part) {
  if (config.job.world == World::application) {
    if (auto status = check_asked(mode, heads); !status) return status;
  }
  if (!mode.replaced) return {};
  if (config.job.world == World::as_is) return refuse_other("[job] world = as is", "[job] world = application");
  if (config.recovery.mode != Config::Recovery::Mode::restart && !mode.started->repairs) {
    const char* const name = config.recovery.mode == Config::Recovery::Mode::spares ? "spares" : "respawn";
    return refuse_other(fmt::format("[recovery] mode = {}", name), "[recovery] mode = restart");
  }
  if (config.recovery.mode == Config::Recovery::Mode::restart && mode.started->repairs)
    return refuse_other("[recovery] mode = restart", "[recovery] mode = spares or respawn");
  if (is_part) return {};
  if (heads && config.head.mode.value_or(HeadMode::rank) != HeadMode::rank) {
    const char* const name = config.head.mode == HeadMode::thread ? "thread" : "inline";
    return refuse_other(fmt::format("[head] mode = {}", name), "[head] mode = rank");
  }
  if (config.topology.node_size != mode.started->node_size)
    return refuse_other(node_size_text(config.topology.node_size), node_size_text(mode.started->node_size));
  return {};
}

}  // namespace cairn
