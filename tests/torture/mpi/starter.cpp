#include "torture/mpi/starter.hpp"

#include <numeric>

#include <fmt/format.h>

namespace cairn::torture {
namespace {

using Words = std::vector<std::string>;

// As ckpt-run starts such jobs: new processes need TCP.
const Words kMends{"--with-ft",
                   "ulfm",
                   "--mca",
                   "coll",
                   "self,basic,tuned,libnbc,inter,ftagree",
                   "--mca",
                   "async_mpi_finalize",
                   "1",
                   "--mca",
                   "btl_tcp_flags",
                   "9",
                   "--mca",
                   "btl",
                   "self,sm,tcp",
                   "--mca",
                   "btl_tcp_if_include",
                   "lo",
                   "--prtemca",
                   "state_base_recoverable",
                   "1"};

bool has_head_ranks(const Life& life) { return life.settings.find("[head]\nmode = rank") != std::string::npos; }

}  // namespace

Words start_command(const Programs& programs, const Life& life, const std::filesystem::path& config,
                    const Words& arguments) {
  auto ranks = std::accumulate(life.nodes.begin(), life.nodes.end(), std::size_t{0});
  Words words;
  if (life.outside.supervised) {
    if (has_head_ranks(life)) ranks -= life.nodes.size();
    words = {programs.ckpt_run,
             "-n",
             std::to_string(ranks),
             "--config",
             config,
             "--launcher",
             programs.mpirun,
             "--grace",
             "2s",
             "--"};
  } else {
    words = {programs.mpirun, "-n", std::to_string(ranks)};
    if (programs.mpi != Mpi::mpich) words.insert(words.end(), {"--oversubscribe", "--bind-to", "none"});
    if (life.outside.mending != Outside::Mending::none) words.insert(words.end(), kMends.begin(), kMends.end());
  }
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

Words start_environment(const std::filesystem::path& root, bool apart) {
  Words variables{fmt::format("CAIRN_STORAGE_LOCAL={}", (root / "local").string()),
                  fmt::format("CAIRN_STORAGE_GLOBAL={}", (root / "global").string()),
                  fmt::format("TMPDIR={}", root.string()),
                  "CAIRN_LOG_LEVEL=info",
                  "OMPI_ALLOW_RUN_AS_ROOT=1",
                  "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                  "OMPI_MCA_mpi_yield_when_idle=1"};
  // What killed ranks leave goes with the directory.
  if (!apart) variables.push_back(fmt::format("OMPI_MCA_btl_vader_backing_directory={}", root.string()));
  return variables;
}

}  // namespace cairn::torture
