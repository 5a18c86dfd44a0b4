#include "torture/mishaps.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "codec/crc32c.hpp"
#include "format/json_file.hpp"
#include "format/sealer.hpp"
#include "store/names.hpp"

namespace cairn::torture {
namespace {

using test::StoreImage;
using Json = nlohmann::ordered_json;
using MishapKind = Mishap::Kind;

constexpr std::uint32_t kNewerFormat = kNewestFormat + 1;

bool is_global(MishapKind kind) { return kind >= MishapKind::lose_global; }
Place place_of(const Mishap& mishap) { return is_global(mishap.kind) ? Place() : mishap.host; }

bool is_mark(const std::string& path) { return path == names::chain_mark().path; }

// What only says how the present run does: the next run replaces it, whoever wrote it.
bool is_of_one_run(const std::string& path) { return path == names::watch().path || path == names::symptoms().path; }

// Of the directory that it is in.
auto snapshot_of(const std::string& path) { return names::parse_snapshot(path.substr(0, path.find('/'))); }

// Whose file it is, by its name; none: it is of all.
std::optional<std::uint32_t> version_of(const std::string& path) {
  const auto dir = snapshot_of(path);
  return dir ? std::optional(dir->version.value) : std::nullopt;
}

// Paths that one may be picked of.
std::vector<std::string> choices(MishapKind kind, const StoreImage& image) {
  std::optional<std::uint32_t> newest;
  if (kind == MishapKind::flip_newest_file) {
    for (const auto& [path, bytes] : image) newest = std::max(newest, version_of(path));
  }
  std::vector<std::string> paths;
  for (const auto& [path, bytes] : image) {
    if (!newest || version_of(path) == newest) paths.push_back(path);
  }
  return paths;
}

Json parse(const Buffer& bytes) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return Json::parse(text, text + bytes.size(), nullptr, false);
}

Buffer bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// A record as the first Cairn would have written it: nothing of what came later, and no seal. False: it had none.
bool make_old(Buffer& bytes) {
  Json json = parse(bytes);
  if (!json.is_object()) return true;
  if (json.value("kind", "") == "chain mark") return false;
  for (const char* key : {"sha256", "master", "node_files"}) json.erase(key);
  json["format"] = 1;
  bytes = bytes_of(json.dump(1) + "\n");
  return true;
}

Sealer another_key() {
  Buffer bytes(SecretKey::kLeastBytes, std::byte{1});
  bytes.front() = std::byte{2};  // bytes that are all the same are no key
  return Sealer(std::make_shared<SecretKey>(SecretKey::from(std::move(bytes)).value()), "job");
}

// A record that claims a newer format, or is sealed with a key that is not the job's, and is whole.
bool make_others(MishapKind kind, Buffer& bytes) {
  Json json = parse(bytes);
  if (!json.is_object() || !json.contains("format")) return false;
  for (const char* key : {"sha256", "hmac-sha256"}) json.erase(key);
  const bool is_forged = kind == MishapKind::forged_node_file || kind == MishapKind::forged_global_file;
  if (!is_forged) json["format"] = kNewerFormat;
  bytes = bytes_of((is_forged ? another_key() : Sealer()).seal(json));
  return true;
}

// The same of a header block: FORMAT.md says where its format and its checksum are.
bool make_new_header(Buffer& bytes) {
  constexpr std::size_t kFormatAt = 8;
  constexpr std::size_t kCrcAt = 4092;
  if (bytes.size() < kCrcAt + 4 || std::memcmp(bytes.data(), "CAIRN", 5) != 0) return false;
  std::memcpy(bytes.data() + kFormatAt, &kNewerFormat, sizeof kNewerFormat);
  const std::uint32_t crc = crc32c(Bytes(bytes).first(kCrcAt));
  std::memcpy(bytes.data() + kCrcAt, &crc, sizeof crc);
  return true;
}

// What becomes of one file; false: it is gone.
bool harm(MishapKind kind, std::uint64_t where, Buffer& bytes) {
  if (kind == MishapKind::remove_node_file) return false;
  if (bytes.empty()) return true;
  if (kind == MishapKind::cut_node_file || kind == MishapKind::cut_global_file) {
    bytes.resize(where % bytes.size());
  } else if (makes_it_others({kind})) {
    make_new_header(bytes);
  } else {
    bytes[where / 8 % bytes.size()] ^= std::byte{static_cast<unsigned char>(1U << (where % 8))};
  }
  return true;
}

}  // namespace

void Mishaps::hurt(const Mishap& mishap) {
  if (is_global(mishap.kind)) {
    model_.global_is_hurt(mishap.kind == MishapKind::lose_global);
  } else {
    model_.host_is_hurt(mishap.host);
  }
}

void Mishaps::happen(const Mishap& mishap) {
  if (!cluster_.has(place_of(mishap))) return;
  switch (mishap.kind) {
    case MishapKind::lose_node: return lose(mishap.host);
    case MishapKind::swap_node: return swap(mishap.host);
    case MishapKind::lose_global: cluster_.lose(std::nullopt); return hurt(mishap);
    case MishapKind::age_node:
    case MishapKind::age_global: return age(mishap);
    default: return damage(mishap);
  }
}

void Mishaps::lose(std::uint32_t host) {
  cluster_.lose(host);
  model_.host_is_hurt(host);
  lost_.push_back(host);
}

void Mishaps::swap(std::uint32_t host) {
  StoreImage now = cluster_.image(host);
  lose(host);
  std::swap(now, swapped_[host]);
  cluster_.put_back(host, now);
}

void Mishaps::age(const Mishap& mishap) {
  if (is_global(mishap.kind)) model_.mark_is_hurt();
  StoreImage image = cluster_.image(place_of(mishap));
  for (auto file = image.begin(); file != image.end();)
    file = file->first.ends_with(".json") && !make_old(file->second) ? image.erase(file) : std::next(file);
  cluster_.put_back(place_of(mishap), image);
}

void Mishaps::damage(const Mishap& mishap) {
  StoreImage image = cluster_.image(place_of(mishap));
  if (image.empty()) return;
  const std::vector<std::string> paths = choices(mishap.kind, image);
  const auto file = image.find(paths[mishap.pick % paths.size()]);
  Buffer theirs = file->second;
  if (makes_it_others(mishap) && make_others(mishap.kind, theirs)) {
    others_.push_back({mishap, file->first, file->second, theirs});
    file->second = theirs;
  } else {
    const auto version = version_of(file->first);
    if (version) {
      model_.version_is_hurt(place_of(mishap), *version);
    } else {
      hurt(mishap);
    }
    const bool left = harm(mishap.kind, mishap.pick / paths.size(), file->second);
    if (is_mark(file->first)) {
      model_.mark_is_hurt();
      without_mark_[place_of(mishap)] = left ? file->second : Buffer();
    }
    if (!left) image.erase(file);
  }
  cluster_.put_back(place_of(mishap), image);
}

std::string Mishaps::end_of_others(const Circumstances& life, bool began_fresh, bool took_snapshots) {
  std::string wrong;
  const bool could_be_read = life.faults != Circumstances::Faults::of_stores;
  // The last first: a file may have been picked twice.
  while (!others_.empty()) {
    const Others others = std::move(others_.back());
    others_.pop_back();
    StoreImage image = cluster_.image(place_of(others.mishap));
    const auto file = image.find(others.path);
    const bool as_it_was = file != image.end() && file->second == others.is;
    const auto dir = snapshot_of(others.path);
    const bool is_partial = dir && dir->partial;
    // Without its mark nothing that a store has can be told from what is damaged; and a directory that is being written
    // or removed is no snapshot, whatever is in it.
    const bool may_go = !could_be_read || is_partial || (began_fresh && is_mark(others.path)) ||
                        without_mark_.contains(place_of(others.mishap)) || is_of_one_run(others.path);
    if (!as_it_was && !may_go) wrong = others.path + " is newer or has another key, and was not left as it is";
    if (!as_it_was || took_snapshots) hurt(others.mishap);
    if (!as_it_was) continue;
    file->second = others.was;
    cluster_.put_back(place_of(others.mishap), image);
  }
  // A life that was refused gives its store no other.
  std::erase_if(without_mark_, [this](const auto& damaged) {
    const StoreImage image = cluster_.image(damaged.first);
    const auto mark = image.find(names::chain_mark().path);
    return mark != image.end() && mark->second != damaged.second;
  });
  return wrong;
}

}  // namespace cairn::torture
