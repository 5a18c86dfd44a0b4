#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text_file.hpp"
#include "config/config.hpp"
#include "localize/rules.hpp"
#include "localize/words.hpp"

// POSIX has it, but only unistd.h declares it, and that header would bring in file I/O.
extern "C" char** environ;

namespace cairn {
namespace {

constexpr std::string_view kPrefix = "CAIRN_";
constexpr std::uint32_t kSourceFormat = 1;

std::map<std::string, std::string> cairn_variables() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (!text.starts_with(kPrefix) || equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

// Each head reads the file by itself, again and again; a mistake that is there at the start is an error now.
Status check_rules(const std::string& file) {
  const auto text = read_text_file(file, Code::config);
  if (!text) return fail(text.error().in("[localize] rules"));
  const auto rules = localize::parse_rules(*text);
  if (rules) return {};
  return fail(Code::config, localize::mistake_text(file, rules.error().front()),
              "ckpt-tool health --check-rules lists all mistakes");
}

}  // namespace

Result<ConfigSource> read_config_source(const std::string& file) {
  ConfigSource source;
  source.file = file;
  source.environment = cairn_variables();
  if (!file.empty()) {
    auto text = read_text_file(file, Code::config);
    if (!text) return fail(text.error());
    source.text = *std::move(text);
  }
  const auto config = parse_config(source);
  if (!config) return fail(config.error());
  if (!config->topology.domains.empty()) {
    auto domains = read_text_file(config->topology.domains, Code::config);
    if (!domains) return fail(domains.error().in("[topology] domains"));
    source.domains_text = *std::move(domains);
  }
  if (!config->localize.rules.empty()) {
    if (auto status = check_rules(config->localize.rules); !status) return fail(status.error());
  }
  return source;
}

Buffer encode(const ConfigSource& source) {
  ByteWriter out;
  out.put(kSourceFormat);
  out.put_text(source.file);
  out.put_text(source.text);
  out.put_text(source.domains_text);
  out.put(static_cast<std::uint32_t>(source.environment.size()));
  for (const auto& [variable, value] : source.environment) {
    out.put_text(variable);
    out.put_text(value);
  }
  return out.take();
}

Result<ConfigSource> decode_config_source(Bytes bytes) {
  ByteReader in(bytes);
  ConfigSource source;
  const auto format = in.get<std::uint32_t>();
  source.file = in.get_text();
  source.text = in.get_text();
  source.domains_text = in.get_text();
  const auto variables = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < variables && in.good(); ++i) {
    auto variable = in.get_text();
    source.environment[std::move(variable)] = in.get_text();
  }
  if (!in.good() || in.remaining() != 0 || format != kSourceFormat) {
    return fail_internal(
        Code::corrupt, fmt::format("configuration: a message of {} bytes is damaged, or not of format {}", bytes.size(),
                                   kSourceFormat));
  }
  return source;
}

Result<Config> parse_config(const ConfigSource& source) {
  auto config = parse_config(source.text, source.file, source.environment);
  if (config) config->topology.domains_text = source.domains_text;
  return config;
}

}  // namespace cairn
