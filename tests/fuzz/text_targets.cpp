// Text that people, the environment and launchers give: configuration, marks, names, command lines.
#include <algorithm>
#include <sstream>

#include "base/plain_text.hpp"
#include "config/config.hpp"
#include "facts.hpp"
#include "format/json_text.hpp"
#include "fuzz/target.hpp"
#include "options.hpp"
#include "session/handover.hpp"
#include "store/names.hpp"
#include "topology/topology.hpp"

namespace cairn::fuzz {
namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The text before the first zero byte, and what follows it.
std::pair<std::string, std::string> halves(Bytes input) {
  const std::string_view text = text_of(input);
  const std::size_t end = std::min(text.find('\0'), text.size());
  return {std::string(text.substr(0, end)), std::string(text.substr(std::min(end + 1, text.size())))};
}

// An INI file; then lines NAME=value of the environment.
bool run_config(Bytes input) {
  const auto [text, variables] = halves(input);
  std::map<std::string, std::string> environment;
  for (const std::string& line : lines_of(variables)) {
    const std::size_t equals = std::min(line.find('='), line.size());
    environment.emplace("CAIRN_" + line.substr(0, equals), line.substr(std::min(equals + 1, line.size())));
  }
  const auto config = parse_config(text, "job.ini", environment);
  if (config) {
    must(config->erasure.parity < config->erasure.group, "a group has more nodes than parity");
    must(config->failures.mtbf.size() == kLevels, "every level has a time between failures");
    return true;
  }
  const std::string& message = config.error().message;
  must(config.error().code == Code::config, "a mistake in a configuration is one");
  must(message.starts_with("job.ini:") || message.starts_with("CAIRN_") || message.starts_with("["),
       "a mistake in a configuration has a place: " + message);
  return false;
}

bool run_domains(Bytes input) {
  Topology topology = make_topology({"a", "a", "b", "b", "c", "c"}, {}, HeadMode::rank).value();
  const Status assigned = assign_domains(topology, std::string(text_of(input)));
  must(!assigned || topology.domain_of_node.size() == topology.node_count(), "every node has a domain");
  must(assigned || assigned.error().code == Code::config, "a mistake in a configuration is one");
  return assigned.has_value();
}

bool run_mark(Bytes input) {
  const auto mark = parse_mark(text_of(input));
  if (!mark) return false;
  must(parse_mark(to_text(*mark)).value() == *mark, "a mark that is written again is the same");
  return mark->kind != CompletionMark::Kind::none;
}

bool run_numbers(Bytes input) {
  const std::string_view text = text_of(input);
  if (const auto started = parse_started(text); started && *started)
    must(parse_started(started_text(**started)).value() == **started, "what was started is told on");
  const auto world =
      parse_world({{kWorldVariable, "application"}, {kNodeSizeVariable, std::string(text)}, {kSparesVariable, "0"}});
  if (world) must(parse_world(world_variables(*world)).value() == *world, "what is said of the world is told on");
  const auto numbers = parse_numbers(kDeadRanksVariable, text);
  if (!numbers) return false;
  must(parse_numbers(kDeadRanksVariable, numbers_text(*numbers)).value() == *numbers, "numbers are told on");
  return true;
}

bool run_names(Bytes input) {
  const std::string name(text_of(input));
  bool any = false;
  const auto is = [&](const std::string& built) {
    must(built == name, "a thing has one name");
    any = true;
  };
  if (const auto dir = names::parse_snapshot(name))
    is((dir->partial ? names::partial_snapshot(dir->version, dir->run) : names::snapshot(dir->version, dir->run)).path);
  if (const auto rank = names::parse_shard(name)) is(names::shard({}, *rank).path);
  if (const auto copy = names::parse_copy(name)) is(names::copy({}, *copy).path);
  if (const auto parity = names::parse_parity(name)) is(names::parity({}, *parity).path);
  if (const auto record = names::parse_run_record(name)) is(names::run_record(record->incarnation, record->run).path);
  if (const auto run = names::parse_run(name)) is(names::hex(*run));
  return any;
}

// What is written into JSON, or to a terminal, in place of any bytes.
bool run_escapes(Bytes input) {
  const std::string bytes(text_of(input));
  for (const std::string& text : {escaped(bytes), escaped_for_terminal(bytes)}) {
    must(unescaped(text) == bytes, "what was escaped comes back");
    must(plain_text(text, text.size()).find('?') == std::string::npos || bytes.find('?') != std::string::npos,
         "what was escaped is UTF-8");
  }
  const nlohmann::ordered_json json{{"name", bytes}, {"list", {bytes, 1}}};
  const auto read = nlohmann::ordered_json::parse(json_text(json, -1));
  must(unescaped(read["name"].get<std::string>()) == bytes, "JSON keeps any bytes");
  return true;
}

// One argument a line.
bool run_command_line(Bytes input) {
  const std::vector<std::string> words = lines_of(text_of(input));
  std::vector<const char*> argv{"ckpt-run"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  const auto line = ckpt_run::parse_command_line(static_cast<int>(argv.size()), argv.data());
  must(line.options || !line.text.empty(), "who does not start a job says why");
  if (!line.options) return false;
  must(line.options->ranks > 0 && !line.options->application.empty(), "a job has ranks and a program");
  must(line.options->grace.count() > 0 && line.options->agent_limit.count() > 0, "times are times");
  return true;
}

// What a launcher says of its version; then what ompi_info says, or a file of hosts.
bool run_launcher(Bytes input) {
  const auto [version, more] = halves(input);
  std::istringstream file(more);
  for (const std::string& host : ckpt_run::hosts_in(file)) must(!host.empty(), "a host has a name");
  const auto facts = ckpt_run::read_launcher(version, more);
  must(!facts || !facts->fault_tolerant || facts->major >= 5, "Open MPI can lose ranks from version 5 on");
  return facts.has_value();
}

std::vector<Buffer> texts(std::initializer_list<std::string_view> all) {
  std::vector<Buffer> seeds;
  std::ranges::transform(all, std::back_inserter(seeds), buffer_of);
  return seeds;
}

std::vector<Buffer> config_seeds() {
  using namespace std::string_view_literals;
  return texts(
      {"# a job\n[job]\nname = heat\non_storage_error = throw\n[storage]\nlocal = /dev/shm/x\nkeep_local = 3\n"
       "[levels]\nl1 = every 2\nl2 = 90s\n  l3 = auto ; so\nl4 = off\n[head]\nmode = thread\nthreads = auto\n"sv,
       "[erasure]\ngroup = 4\nparity = 1\n[partner]\ncopies = 2\nrotation = 2\n[recovery]\nmode = spares\n"
       "spares = 2\n[topology]\nnode_size = (3, 2,2)\n[failures]\nmtbf = 12h, 3d, 10d, 60d\n[log]\n"
       "level = debug\n\0LEVELS_L2=off\nHEAD_WAIT_LIMIT=10min\nRESTART_VERIFY=sha256\n"sv});
}

std::vector<Buffer> domains_seeds() { return texts({"a rack1\nb rack2 # two\n\n# none\nc rack1\n"}); }
std::vector<Buffer> mark_seeds() {
  return texts({"opened\n", "opened 0123456789abcdef\n", "finished\n", "stopped\n", "error no such key\n"});
}
std::vector<Buffer> numbers_seeds() { return texts({"8,2,2", "1", "", "4294967295,0"}); }

std::vector<Buffer> names_seeds() {
  return texts({"v00000042-0123456789abcdef", "v00000042-0123456789abcdef.partial", "rank000007.shard",
                "node0003.rank000010.abcdef01.copy", "parity.c02.p1.abcdef01", "run-00000003-0123456789abcdef.json",
                "0123456789abcdef"});
}

std::vector<Buffer> escapes_seeds() { return texts({"temp\xe9rature", "C:\\x41\\\\", "\x1b[31m \xc3\xbc"}); }

std::vector<Buffer> command_line_seeds() {
  return texts(
      {"-n\n8\n--\nheat\n--config\nheat.ini\n",
       "-n\n96\n--hosts\na,b,c\n--spare-hosts\nd\n--shrink-hosts\n--spares\n2\n--max-restarts\n3\n--config\nx.ini\n"
       "--launcher\nmpirun\n--mpi-options\n--mca btl self,tcp\n--agent\nssh -q\n--agent-limit\n3s\n"
       "--start-limit\n1min\n--grace\n2s\n--linger\n1h\n--\n./simulate\n-x\n"});
}

std::vector<Buffer> launcher_seeds() {
  using namespace std::string_view_literals;
  return texts(
      {"mpirun (Open MPI) 4.1.4\n\0package:Open MPI\nompi:version:full:4.1.4\noptions:ft_support:yes\n"sv,
       "mpirun (Open MPI) 5.0.7\n\0ompi:version:full:5.0.7\noptions:ft_support:yes (checkpoint thread: no)\n"sv,
       "HYDRA build details:\n    Version: 4.0.2\n\0a\na\nb slots=2\n"sv, "slurm-wlm 22.05.8\n"sv});
}

}  // namespace

std::vector<Target> text_targets() {
  return {{"config", run_config, config_seeds},
          {"domains", run_domains, domains_seeds},
          {"mark", run_mark, mark_seeds},
          {"numbers", run_numbers, numbers_seeds},
          {"names", run_names, names_seeds},
          {"escapes", run_escapes, escapes_seeds},
          {"command_line", run_command_line, command_line_seeds},
          {"launcher", run_launcher, launcher_seeds}};
}

}  // namespace cairn::fuzz
