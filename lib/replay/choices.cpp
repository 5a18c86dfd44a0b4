#include "replay/choices.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>

namespace cairn::replay {
namespace {

// At the start of the memory. A process may end between any two of its stores, so each is of one word, and the order of
// stores counts: entries first, then their number; a whole half, then which one is in use; all that, then the stamp.
struct Header {
  std::uint64_t stamp;
  std::uint64_t half;                  // in use
  std::array<std::uint64_t, 2> count;  // of entries, by half
  std::uint64_t full_until;            // there was no room for all entries of calls before this snapshot() call
};

struct Stored {
  std::uint64_t epoch;
  std::uint64_t got;
  std::uint64_t kind;
};
static_assert(sizeof(Stored) == Choices::kEntryBytes);

constexpr std::uint64_t kNothing = UINT64_MAX;

std::uint64_t word_of(const std::optional<Choice>& got) {
  return got ? std::uint64_t{got->peer} << 32U | static_cast<std::uint32_t>(got->tag) : kNothing;
}

Choices::Entry entry_of(const Stored& stored) {
  Choices::Entry entry{stored.epoch, stored.kind != 0, {}};
  if (stored.got != kNothing)
    entry.got =
        Choice{static_cast<std::uint32_t>(stored.got >> 32U), static_cast<std::int32_t>(stored.got), entry.is_of_probe};
  return entry;
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
  put_word(memory_, offset + offsetof(Stored, epoch), entry.epoch);
  put_word(memory_, offset + offsetof(Stored, got), word_of(entry.got));
  put_word(memory_, offset + offsetof(Stored, kind), std::uint64_t{entry.is_of_probe});
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
  for (std::size_t at = 0; at < entries_.size(); ++at) write(0, at, entries_[at]);
  put_word(memory_, offsetof(Header, stamp), stamp);
}

std::optional<std::uint64_t> Choices::add(const Entry& entry) {
  if (entries_.size() >= room()) {
    put_word(memory_, offsetof(Header, full_until), entry.epoch + 1);
    return {};
  }
  write(half_, entries_.size(), entry);
  entries_.push_back(entry);
  next_ = first_ + entries_.size();
  return next_ - 1;
}

Result<Choices::Receive> Choices::receives(std::uint64_t epoch, bool catches_up) {
  if (next_ < first_ + entries_.size()) {
    const Entry& entry = entries_[next_ - first_];
    if (entry.is_of_probe || entry.epoch != epoch)
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
  put_word(memory_, place_of(memory_.size(), half_, place - first_) + offsetof(Stored, got), word_of(entry.got));
}

Result<Choices::Probe> Choices::probes(std::uint64_t epoch, bool waits, bool catches_up) {
  if (next_ < first_ + entries_.size()) {
    const Entry& entry = entries_[next_ - first_];
    const bool fits = entry.is_of_probe && entry.epoch == epoch;
    if (fits) ++next_;
    if (fits || !waits) return Probe{false, fits ? entry.got : std::nullopt};
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
  for (std::size_t at = 0; at < entries_.size(); ++at) write(other, at, entries_[at]);
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
    if (stored.epoch >= epoch) entries.push_back(entry_of(stored));
  }
  return entries;
}

Buffer encode(const std::vector<Choices::Entry>& entries) {
  ByteWriter out;
  for (const Choices::Entry& entry : entries) {
    out.put(entry.epoch);
    out.put(entry.is_of_probe);
    out.put(word_of(entry.got));
  }
  return out.take();
}

std::optional<std::vector<Choices::Entry>> decode_choices(Bytes bytes) {
  ByteReader in(bytes);
  std::vector<Choices::Entry> entries;
  while (in.good() && in.remaining() != 0) {
    const auto epoch = in.get<std::uint64_t>();
    const auto kind = static_cast<std::uint64_t>(in.get<bool>());
    entries.push_back(entry_of({epoch, in.get<std::uint64_t>(), kind}));
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
