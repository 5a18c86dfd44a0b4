// The configuration: one plain struct per section of the INI file, immutable after load. Every key has a
// default that works; every mistake is answered with file, line, key and what to write instead.
// Environment variables CAIRN_<SECTION>_<KEY> override the file; other CAIRN_… variables, which a module may set for
// purposes of its own, are not read. Local and pure but for read_config_source().
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/log.hpp"
#include "localize/action.hpp"
#include "localize/tree.hpp"
#include "store/default_root.hpp"
#include "store/readers.hpp"
#include "topology/topology.hpp"

namespace cairn {

// Of any time in the configuration.
inline constexpr std::chrono::milliseconds kLongestTime = std::chrono::hours(24 * 3650);

// When a level is due: never, every N calls of snapshot(), every so many seconds, or as the model says.
struct Interval {
  enum class Kind { off, calls, time, automatic } kind = Kind::off;
  std::uint64_t calls = 0;
  std::chrono::milliseconds time{0};
  friend bool operator==(const Interval&, const Interval&) = default;
};

struct Config {
  struct Job {
    std::string name = "job";
    // What snapshot() does when a snapshot fails because of storage, in its own write or in the background.
    enum class OnStorageError { continue_, throw_ } on_storage_error = OnStorageError::continue_;
    bool tap = true;  // hears what the application says to MPI
    // What MPI_COMM_WORLD is to the application: its ranks, or what MPI makes. None: auto.
    enum class World { application, as_is };
    std::optional<World> world;
  } job;
  struct Storage {
    std::string local = default_node_root();
    std::string global = "./checkpoints";
    std::uint32_t keep_local = 2;
    std::uint32_t keep_global = 1;
    Readers access = Readers::owner;  // of the global directory
  } storage;
  struct Levels {
    Interval at[kLevels] = {{Interval::Kind::calls, 1, {}},  // index: level − 1
                            {Interval::Kind::calls, 4, {}},
                            {Interval::Kind::calls, 8, {}},
                            {Interval::Kind::time, 0, std::chrono::minutes(30)}};
    LevelSet insisted;  // set by the user, neither left at the default nor to Cairn (auto)
    [[nodiscard]] const Interval& of(LevelId level) const { return at[static_cast<int>(level) - 1]; }
    [[nodiscard]] LevelSet wanted() const;
  } levels;
  struct Head {
    std::optional<HeadMode> mode;                  // none: auto, until a session settles it
    std::uint32_t threads = 0;                     // of a node's head, itself included; 0: auto
    std::chrono::milliseconds wait_limit{600000};  // a longer wait for a free slot is an error
  } head;
  struct Partner {
    std::uint32_t copies = 1;
    std::uint32_t rotation = 1;
  } partner;
  struct Erasure {
    std::uint32_t group = 8;
    std::uint32_t parity = 2;
  } erasure;
  struct TopologySection {
    std::vector<std::uint32_t> node_size;  // empty: hosts are nodes
    std::string domains;                   // file, empty: none
    std::string domains_text;              // its contents, read where the configuration was
  } topology;
  struct Restart {
    enum class Mode { automatic, fresh, required } mode = Mode::automatic;
    std::uint32_t version = 0;   // that the user has chosen; 0: none, or by a label
    std::string label;           // of the snapshot that the user has chosen; empty: none, or by its version
    bool version_again = false;  // also if it was the last to be chosen at a start
    enum class AtEnd { finished, continue_ } at_end = AtEnd::finished;
    bool elastic = true;  // a snapshot of another number of ranks, or of other parts of arrays, is restored
    bool use_failure_topology = true;
    enum class Verify { crc, sha256 } verify = Verify::crc;
    std::optional<int> stop_signal = SIGUSR1;  // asks for a last snapshot at L4; none: off
  } restart;
  struct Integrity {
    std::string key_file;  // empty: files are not sealed with a key
    // What every block of a snapshot has in node stores; L4 always has SHA-256. It is sha256 wherever something needs
    // it.
    enum class Digest { crc32c, sha256 } digest = Digest::crc32c;
  } integrity;
  struct Recovery {
    enum class Mode { restart, respawn, spares } mode = Mode::restart;
    enum class Rollback { all, lost } rollback = Rollback::all;  // who rolls back to the newest snapshot
    std::uint32_t spares = 0;                                    // the last ranks of the world
    enum class WhenSpent { restart, respawn } when_spent = WhenSpent::restart;
    WaitLimit hang_timeout = kForever;        // a process that has been stopped for longer is killed
    WaitLimit straggler_limit = kForever;     // a process that has not come to a repair by then is ended
    std::chrono::milliseconds limit{120000};  // a step of a repair that takes longer ends the job
  } recovery;
  struct Replay {
    std::uint64_t memory = 256 * kMiB;  // of a rank, for messages that it has sent
    std::uint64_t spill = 0;            // of a rank, in the node's store, for those that do not fit
    enum class Survives {
      process,
      node
    } survives = Survives::process;  // what may be lost, so that only the lost roll back
    std::uint32_t helpers = 1;       // processes that recompute the steps of a lost rank: its replacement and spares
  } replay;
  struct Failures {
    std::vector<std::chrono::milliseconds> mtbf{std::chrono::hours(12), std::chrono::hours(72), std::chrono::hours(240),
                                                std::chrono::hours(1440)};  // of L1 … L4
    std::uint32_t nodes = 0;                                                // for which that holds; 0: for any number
  } failures;
  struct Localize {
    bool on = true;  // where all heads are ranks of their own
    std::uint32_t fanout = localize::kDefaultFanout;
    std::uint32_t threshold = localize::kDefaultThreshold;
    std::chrono::milliseconds window = localize::kDefaultWindow;
    std::string rules;  // file; empty: the default rules
    WaitLimit stuck_after = std::chrono::minutes(10);
    WaitLimit silent_after = std::chrono::seconds(30);
    localize::Act act = localize::Act::avoid;  // what follows from a verdict
  } localize;
  struct LogSection {
    LogLevel level = LogLevel::info;
    std::string trace;  // base of the names of trace files; empty: none
  } log;
  // For the log: variables that are not keys, but look much like one.
  std::vector<std::string> warnings;
};

// Parses INI text; `file` is used in messages only. `environment` holds CAIRN_… variables.
[[nodiscard]] Result<Config> parse_config(const std::string& text, const std::string& file,
                                          const std::map<std::string, std::string>& environment);

// Whether there can be so many helpers as [replay] helpers says. Apart from parse_config(), since ckpt-run may start
// more spares than the file says.
[[nodiscard]] Status check_helpers(const Config& config);

// What parse_config needs, read on one rank and sent to the others: inverse pair encode/decode.
struct ConfigSource {
  std::string file;
  std::string text;
  std::string domains_text;
  std::map<std::string, std::string> environment;
};
// Reads the file, the CAIRN_… variables of this process, and the domains file that they name. An empty
// `file` means defaults.
[[nodiscard]] Result<ConfigSource> read_config_source(const std::string& file);
[[nodiscard]] Buffer encode(const ConfigSource& source);
[[nodiscard]] Result<ConfigSource> decode_config_source(Bytes bytes);
[[nodiscard]] Result<Config> parse_config(const ConfigSource& source);

}  // namespace cairn
