#include "reshape/roster.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fields.hpp"
#include "reshape/placement.hpp"

namespace cairn::reshape {

void fields(auto& io, Entry& m) {
  auto type = static_cast<std::uint8_t>(m.type.type);
  io(m.type.name), io(type), io(m.type.element_bytes), io(m.type.type_name), io(m.type.shape);
  io.check(type <= static_cast<std::uint8_t>(ElementType::float64));
  m.type.type = static_cast<ElementType>(type);
  enum_fields(io, m.kind, Kind::of_rank);
  io(m.stored_ghosts), io(m.like), io(m.said_by);
}

namespace {

Entry entry_of(const Wanted& wanted, std::uint32_t rank) {
  Entry entry;
  entry.type = wanted.info;
  entry.type.global_shape.clear();
  entry.type.global_offset.clear();
  entry.type.ghosts_before.clear();
  entry.type.ghosts_after.clear();
  entry.kind = kind_of(wanted.share);
  entry.said_by = rank;
  if (entry.kind == Kind::of_rank || entry.kind == Kind::unsaid) entry.type.shape.clear();
  if (entry.needed_on_all() && !entry.type.shape.empty()) entry.type.shape.front() = 0;
  if (const auto* block = std::get_if<Block>(&wanted.share)) {
    entry.type.shape = block->shape;
    entry.stored_ghosts = block->stored_ghosts;
  }
  if (const auto* sequence = std::get_if<Sequence>(&wanted.share)) entry.like = sequence->like;
  return entry;
}

Buffer encode(std::vector<Entry>& entries) {
  PutFields put;
  put(entries);
  return put.take();
}

// Nothing of a list that is damaged: then whoever sent it misses its regions, and compare() says so.
std::vector<Entry> decode(Bytes bytes) {
  GetFields get(bytes);
  std::vector<Entry> entries;
  get(entries);
  if (!get.whole()) return {};
  return entries;
}

std::string lengths_text(const Entry& entry) {
  std::string lengths;
  for (const std::uint64_t length : entry.type.shape) lengths += fmt::format("[{}]", length);
  if (!entry.stored_ghosts.empty())
    lengths += fmt::format(" with stored ghosts {}", fmt::join(entry.stored_ghosts, ", "));
  return lengths;
}

// How `mine` contradicts what another rank says of the same name.
Findings difference(const Entry& mine, const Entry& listed) {
  Finding finding{.region = mine.type.name, .ranks = {listed.said_by, mine.said_by}};
  if (mine.kind != listed.kind || mine.like != listed.like) {
    finding.cause = Cause::kinds_differ;
    finding.numbers = {static_cast<std::uint64_t>(listed.kind), static_cast<std::uint64_t>(mine.kind)};
    finding.texts = {listed.like, mine.like};
  } else if (!same_type(mine.type, listed.type)) {
    finding.cause = Cause::types_differ;
    finding.texts = {listed.type.type_text(), mine.type.type_text()};
  } else if (mine.type.shape != listed.type.shape || mine.stored_ghosts != listed.stored_ghosts) {
    finding.cause = Cause::shapes_differ;
    finding.texts = {lengths_text(listed), lengths_text(mine)};
  } else {
    return {};
  }
  return finding;
}

// What is impossible about a region by itself.
std::string trouble_with(const Wanted& wanted) {
  if (auto status = check(wanted.info); !status) return status.error().message;
  const auto* memory = std::get_if<MutableBytes>(&wanted.memory);
  if (memory != nullptr && memory->size() != wanted.info.size_bytes())
    return "its memory has another size than its type";
  if (memory == nullptr && wanted.info.shape.empty()) return "a single value cannot be resized";
  if (const auto* block = std::get_if<Block>(&wanted.share)) {
    return memory == nullptr ? "a block has a fixed size" : trouble_with(wanted.info, *block);
  }
  if (const auto* sequence = std::get_if<Sequence>(&wanted.share)) {
    if (wanted.info.shape.empty()) return "a single value is no sequence";
    if (sequence->part && !sequence->like.empty())
      return "it is cut like another sequence, so it has no part of its own";
    if (sequence->part && (sequence->part->first > kLargestIndex || sequence->part->count > kLargestIndex))
      return "its part is too large";
  }
  return {};
}

// Whether it is cut like a sequence that is cut by itself.
bool has_model(const Roster& roster, const Entry& entry) {
  const auto model = roster.find(entry.like);
  return model && roster.entries()[*model].kind == Kind::sequence && roster.entries()[*model].like.empty();
}

// Then explain_unsaid() names the other region.
bool is_like_unsaid(const Roster& roster, const Entry& entry) {
  const auto model = roster.find(entry.like);
  return model && roster.entries()[*model].kind == Kind::unsaid;
}

}  // namespace

Kind kind_of(const Share& share) { return static_cast<Kind>(share.index()); }

Roster::Roster(std::vector<Entry> entries) : entries_(std::move(entries)) {
  for (std::uint32_t i = 0; i < entries_.size(); ++i) by_name_.try_emplace(entries_[i].type.name, i);
}

std::optional<std::uint32_t> Roster::find(const std::string& name) const {
  const auto known = by_name_.find(name);
  if (known == by_name_.end()) return std::nullopt;
  return known->second;
}

Findings Roster::compare(const std::vector<Wanted>& wanted, std::uint32_t rank) const {
  std::vector<bool> mine(entries_.size(), false);
  for (const Wanted& one : wanted) {
    if (auto trouble = trouble_with(one); !trouble.empty())
      return Finding{.cause = Cause::impossible, .region = one.info.name, .ranks = {rank}, .texts = {trouble}};
    const auto listed = find(one.info.name);
    if (!listed) return Finding{.cause = Cause::damaged_message, .region = one.info.name, .ranks = {rank}};
    mine[*listed] = true;
    if (auto finding = difference(entry_of(one, rank), entries_[*listed])) return finding;
  }
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.needed_on_all() && !mine[i])
      return Finding{.cause = Cause::not_wanted, .region = entry.type.name, .ranks = {rank, entry.said_by}};
    if (!entry.like.empty() && !has_model(*this, entry) && !is_like_unsaid(*this, entry))
      return Finding{
          .cause = Cause::like_unknown, .region = entry.type.name, .ranks = {entry.said_by}, .texts = {entry.like}};
  }
  return {};
}

Result<Roster> gather_roster(Comm& comm, Post& post, const std::vector<Wanted>& wanted) {
  std::vector<Entry> mine;
  for (const Wanted& one : wanted) mine.push_back(entry_of(one, comm.rank().value));
  const Peer first{0};
  const auto common = comm.broadcast(encode(mine), first);
  if (!common) return fail(common.error());
  auto entries = decode(*common);

  Outbox letters;
  {
    const Roster known(entries);
    std::erase_if(mine, [&](const Entry& entry) { return known.find(entry.type.name).has_value(); });
  }
  if (!mine.empty()) letters[first.value] = encode(mine);
  const auto others = post.exchange(comm, letters);
  if (!others) return fail(others.error());

  std::unordered_map<std::string, bool> listed;
  std::vector<Entry> more;
  for (const Letter& letter : *others) {
    for (Entry& entry : decode(letter.bytes)) {
      if (listed.try_emplace(entry.type.name, true).second) more.push_back(std::move(entry));
    }
  }
  const auto rest = comm.broadcast(encode(more), first);
  if (!rest) return fail(rest.error());
  std::ranges::move(decode(*rest), std::back_inserter(entries));
  return Roster(std::move(entries));
}

}  // namespace cairn::reshape
