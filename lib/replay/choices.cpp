#include "replay/choices.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>

namespace cairn::replay {
namespace {

// At the start of the memory. A process may end between any two of its stores, so each is of one word, and the order of
// stores counts: what an entry has got comes last in it; entries first, then their number; a whole half, then which one
// is in use; all that, then the stamp.
struct Header {
  std::uint64_t stamp;
  std::uint64_t half;                  // in use
  std::array<std::uint64_t, 2> count;  // of entries, by half
  std::uint64_t full_until;            // there was no room for all entries of calls before this snapshot() call
};

struct Stored {
  std::uint64_t call;     // snapshot() calls so far, and in the lowest bits the kind of the call
  std::uint64_t channel;  // is known only with `got`; so is what the call names
  std::uint64_t got;
};
static_assert(sizeof(Stored) == Choices::kEntryBytes);

// Bits of the kind.
constexpr std::uint64_t kProbes = 1;
constexpr std::uint64_t kNamesPeer = 2;
constexpr std::uint64_t kNamesTag = 4;
constexpr unsigned kKindBits = 3;

constexpr std::uint64_t kNothing = UINT64_MAX;

Stored stored_of(const Choices::Entry& entry) {
  Stored stored{entry.epoch << kKindBits, replay::kSessionChannel, kNothing};
  if (entry.is_of_probe) stored.call |= kProbes;
  if (!entry.got) return stored;
  const Choice& got = *entry.got;
  if (got.pattern.peer) stored.call |= kNamesPeer;
  if (got.pattern.tag) stored.call |= kNamesTag;
  stored.channel = got.pattern.channel;
  stored.got = std::uint64_t{got.peer} << 32U | static_cast<std::uint32_t>(got.tag);
  return stored;
}

std::uint64_t epoch_of(const Stored& stored) { return stored.call >> kKindBits; }

Choices::Entry entry_of(const Stored& stored) {
  Choices::Entry entry{epoch_of(stored), (stored.call & kProbes) != 0, {}};
  if (stored.got == kNothing) return entry;
  Choice got{static_cast<std::uint32_t>(stored.got >> 32U), static_cast<std::int32_t>(stored.got), entry.is_of_probe};
  got.pattern.channel = stored.channel;
  if ((stored.call & kNamesPeer) != 0) got.pattern.peer = got.peer;
  if ((stored.call & kNamesTag) != 0) got.pattern.tag = got.tag;
  entry.got = got;
  return entry;
}

// A receive that has got nothing gets what MPI chooses, whatever it names.
bool is_of_call(const Choices::Entry& entry, std::uint64_t epoch, const Pattern& pattern, bool probes) {
  return entry.epoch == epoch && entry.is_of_probe == probes && (!entry.got || entry.got->pattern == pattern);
}

std::uint64_t& word_at(MutableBytes memory, std::size_t offset) {
  return *reinterpret_cast<std::uint64_t*>(memory.data() + offset);  // NOLINT: the memory is mapped, and so aligned
}

void put_word(MutableBytes memory, std::size_t offset, std::uint64_t value) {
  std::atomic_ref(word_at(memory, offset)).store(value, std::memory_order_release);
}

std::size_t room_of(std::size_t bytes) {
  return bytes < sizeof(Header) ? 0 : (bytes - sizeof(Header)) / 2 / sizeof(Stored);
}
std::size_t place_of(std::size_t bytes, std::size_t half, std::size_t at) {
  return sizeof(Header) + (half * room_of(bytes) + at) * sizeof(Stored);
}

}  // namespace

std::size_t Choices::room() const { return room_of(memory_.size()); }

void Choices::write(std::size_t half, std::size_t at, const Entry& entry) {
  const std::size_t offset = place_of(memory_.size(), half, at);
  const Stored stored = stored_of(entry);
  put_word(memory_, offset + offsetof(Stored, call), stored.call);
  put_word(memory_, offset + offsetof(Stored, channel), stored.channel);
  put_word(memory_, offset + offsetof(Stored, got), stored.got);
}

void Choices::append(std::size_t half, std::size_t at, const Entry& entry) {
  write(half, at, entry);
  put_word(memory_, offsetof(Header, count) + half * sizeof(std::uint64_t), at + 1);
}

void Choices::records_in(MutableBytes memory, std::uint64_t stamp, const std::vector<Entry>& known) {
  memory_ = memory;
  half_ = 0;
  first_ = next_ = 0;
  entries_.assign(known.begin(), known.end());
  if (entries_.size() > room()) {
    memory_ = {};
    return;
  }
  for (std::size_t at = 0; at < entries_.size(); ++at) append(0, at, entries_[at]);
  put_word(memory_, offsetof(Header, stamp), stamp);
}

void Choices::gives_up(std::uint64_t epoch) {
  if (is_recorded()) put_word(memory_, offsetof(Header, full_until), epoch + 1);
}

std::optional<std::uint64_t> Choices::add(const Entry& entry) {
  if (entries_.size() >= room()) {
    gives_up(entry.epoch);
    return {};
  }
  append(half_, entries_.size(), entry);
  entries_.push_back(entry);
  next_ = first_ + entries_.size();
  return next_ - 1;
}

Result<Choices::Receive> Choices::receives(std::uint64_t epoch, const Pattern& pattern, bool catches_up) {
  if (next_ < first_ + entries_.size()) {
    const Entry& entry = entries_[next_ - first_];
    if (!is_of_call(entry, epoch, pattern, false))
      return fail(Code::mismatch, "it receives a message from any rank or with any tag, and the dead rank did not");
    return Receive{next_++, entry.got};
  }
  if (knows_nothing_ && catches_up)
    return fail(Code::mismatch,
                "it receives a message from any rank or with any tag, and what the dead rank got is not known");
  return Receive{add({epoch, false, {}}), {}};
}

void Choices::chose(std::uint64_t place, const Choice& choice) {
  if (place < first_) return;
  Entry& entry = entries_[place - first_];
  entry.got = choice;
  write(half_, place - first_, entry);
}

Result<Choices::Probe> Choices::probes(std::uint64_t epoch, const Pattern& pattern, bool waits, bool catches_up) {
  if (next_ < first_ + entries_.size()) {
    const Entry& entry = entries_[next_ - first_];
    const bool fits = is_of_call(entry, epoch, pattern, true);
    if (fits) ++next_;
    if (fits) return Probe{false, entry.got};
    if (!waits && entry.epoch >= epoch) return Probe{false, {}};
    return fail(Code::mismatch, "it probes for a message from any rank or with any tag, and the dead rank did not");
  }
  if (knows_nothing_ && catches_up)
    return fail(Code::mismatch,
                "it probes for a message from any rank or with any tag, and what the dead rank got is not known");
  return Probe{};
}

void Choices::skips_to(std::uint64_t epoch) {
  while (next_ < first_ + entries_.size() && entries_[next_ - first_].epoch < epoch) ++next_;
}

// No call is under way. Nothing is lost if the process ends meanwhile: the other half is in use until this one is
// whole.
void Choices::cut(std::uint64_t epoch) {
  std::size_t dropped = 0;
  while (dropped < entries_.size() && entries_[dropped].epoch < epoch) ++dropped;
  if (dropped == 0) return;
  const std::size_t other = 1 - half_;
  put_word(memory_, offsetof(Header, count) + other * sizeof(std::uint64_t), 0);
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(dropped));
  first_ += dropped;
  next_ = std::max(next_, first_);
  for (std::size_t at = 0; at < entries_.size(); ++at) append(other, at, entries_[at]);
  put_word(memory_, offsetof(Header, half), other);
  half_ = other;
}

std::optional<std::vector<Choices::Entry>> read_choices(Bytes memory, std::uint64_t stamp, std::uint64_t epoch) {
  Header header{};
  if (memory.size() < sizeof(header)) return {};
  std::memcpy(&header, memory.data(), sizeof(header));
  if (header.stamp != stamp || header.full_until > epoch || header.half > 1) return {};
  if (header.count.at(header.half) > room_of(memory.size())) return {};
  std::vector<Choices::Entry> entries;
  for (std::size_t at = 0; at < header.count.at(header.half); ++at) {
    Stored stored{};
    std::memcpy(&stored, memory.data() + place_of(memory.size(), header.half, at), sizeof(stored));
    if (epoch_of(stored) >= epoch) entries.push_back(entry_of(stored));
  }
  return entries;
}

Buffer encode(const std::vector<Choices::Entry>& entries) {
  ByteWriter out;
  for (const Choices::Entry& entry : entries) {
    const Stored stored = stored_of(entry);
    out.put(stored.call);
    out.put(stored.channel);
    out.put(stored.got);
  }
  return out.take();
}

std::optional<std::vector<Choices::Entry>> decode_choices(Bytes bytes) {
  ByteReader in(bytes);
  std::vector<Choices::Entry> entries;
  while (in.good() && in.remaining() != 0) {
    Stored stored{};
    for (std::uint64_t* word : {&stored.call, &stored.channel, &stored.got}) *word = in.get<std::uint64_t>();
    entries.push_back(entry_of(stored));
  }
  if (!in.good()) return {};
  return entries;
}

std::vector<Choices::Entry> longer(std::vector<Choices::Entry> one, std::vector<Choices::Entry> other) {
  if (one.size() < other.size()) std::swap(one, other);
  for (std::size_t i = 0; i < other.size(); ++i)
    if (!one[i].got) one[i].got = other[i].got;
  return one;
}

}  // namespace cairn::replay
