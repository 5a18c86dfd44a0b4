#include "reshape/customer.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "reshape/equal_values.hpp"
#include "reshape/wire.hpp"

namespace cairn::reshape {
namespace {

constexpr std::uint64_t kPieceBytes = 8 * kMiB;  // that are read without looking for orders and answers

}  // namespace

Customer::Customer(Comm& comm, const Plan& plan) : comm_(comm), plan_(plan) {
  for (const auto& [region, sources] : plan.sources) left_ += sources.size();
  here_.piece_bytes = kPieceBytes;
  list_errands(false);
}

// The members that it orders from first are others for each member, so that not all ask one at once.
void Customer::list_errands(bool compared) {
  for (const auto& [region, sources] : plan_.sources) {
    for (const Source& source : sources) {
      if (source.same_as.has_value() != compared) continue;
      Errand& errand = find_here(region, source) == nullptr ? errands_[source.holder.value] : here_;
      errand.sources.emplace_back(region, &source);
    }
  }
  const auto first = errands_.lower_bound(comm_.rank().value);
  for (auto errand = first; errand != errands_.end(); ++errand) ready_.push_back(errand->first);
  for (auto errand = errands_.begin(); errand != first; ++errand) ready_.push_back(errand->first);
}

// Where this member reads it itself; null: it orders it from its holder. So it does with anything odd.
const HeldRegion* Customer::find_here(std::uint32_t region, const Source& source) const {
  const Holdings& all = source.holder == comm_.rank() ? plan_.holdings : plan_.reached;
  const HeldRegion* held = all.find(source.old_rank, region);
  const bool is_here = held != nullptr && held->owned.first == source.begins && contains(held->array.box, source.box);
  return is_here ? held : nullptr;
}

std::uint64_t Customer::bytes_of(const Piece& piece) const {
  return piece.box.elements() * plan_.targets.at(piece.region).array.element_bytes;
}

const Customer::Piece* Customer::next_piece(Errand& errand) {
  if (errand.cut.empty() && !errand.sources.empty()) {
    const auto [region, source] = errand.sources.front();
    errand.sources.pop_front();
    --left_;
    const std::uint64_t element_bytes = plan_.targets.at(region).array.element_bytes;
    for (Box& box : pieces(source->box, errand.piece_bytes / element_bytes))
      errand.cut.push_back({region, source, std::move(box)});
  }
  return errand.cut.empty() ? nullptr : &errand.cut.front();
}

// False: it is all ordered, or must wait for answers.
bool Customer::order_from(Peer holder, Errand& errand) {
  const Piece* next = next_piece(errand);
  if (next == nullptr || errand.free_slots == 0) return false;
  Open& open = open_.emplace_back();
  open.holder = holder;
  open.slot = static_cast<std::uint8_t>(std::countr_zero(errand.free_slots));
  errand.free_slots &= static_cast<std::uint8_t>(~(1U << open.slot));
  Order order{open.slot, {}};
  while (next != nullptr && order.boxes.size() < kMostBoxes &&
         (order.boxes.empty() || open.payload + bytes_of(*next) <= kOrderBytes)) {
    open.payload += bytes_of(*next);
    order.boxes.push_back({next->region, next->source->old_rank, next->box});
    open.pieces.push_back(*next);
    errand.cut.pop_front();
    next = next_piece(errand);
  }
  open.order = to_bytes(order);
  open.longest = longest_answer(open.pieces.size(), open.payload);
  open.buffer = buffers_.take(open.longest);
  in_flight_ += open.longest;
  open.received = comm_.irecv(holder, answer_tag(open.slot), MutableBytes(open.buffer).first(open.longest));
  open.sent = comm_.isend(holder, kOrderTag, open.order);
  return true;
}

bool Customer::order_more() {
  bool moved = false;
  while (!ready_.empty() && (in_flight_ == 0 || in_flight_ + kOrderBytes <= kBytesInFlight)) {
    const std::uint32_t holder = ready_.front();
    ready_.pop_front();
    if (!order_from(Peer{holder}, errands_[holder])) continue;
    ready_.push_back(holder);
    moved = true;
  }
  return moved;
}

void Customer::note(Finding finding) {
  if (finding_) return;
  finding_ = std::move(finding);
}

void Customer::take(const Piece& piece, Bytes bytes) {
  const Target& target = plan_.targets.at(piece.region);
  if (piece.source->same_as) return compare(piece, bytes);
  write_part(target.array, target.memory, piece.box, bytes);
}

void Customer::compare(const Piece& piece, Bytes bytes) {
  const Target& target = plan_.targets.at(piece.region);
  const auto different = first_difference(target.array, target.memory, piece.box, bytes);
  if (!different) return;
  note({.cause = Cause::values_differ,
        .region = plan_.roster.entries()[piece.region].type.name,
        .ranks = {piece.source->same_as->value, piece.source->old_rank.value},
        .range = *different});
}

void Customer::take(const Open& open) {
  const Answer answer = read_answer(Bytes(open.buffer).first(open.longest), open.pieces.size(), open.payload);
  Bytes rest = answer.payload;
  for (std::size_t i = 0; i < open.pieces.size(); ++i) {
    const Piece& piece = open.pieces[i];
    const std::uint64_t bytes = bytes_of(piece);
    if (answer.is_bad.empty() || answer.is_bad[i] != std::byte{0}) {
      const Error damaged{Code::failed_elsewhere, "the answer of another rank is damaged", {}};
      note(unreadable(plan_.roster.entries()[piece.region].type.name, piece.source->old_rank,
                      answer.error.value_or(damaged)));
    } else {
      take(piece, rest.first(bytes));
    }
    if (!rest.empty()) rest = rest.subspan(bytes);
  }
}

Result<bool> Customer::take_answers() {
  bool moved = false;
  for (auto open = open_.begin(); open != open_.end();) {
    const auto received = open->received->test();
    if (!received) return fail(received.error());
    const auto sent = *received ? open->sent->test() : Result<bool>(false);
    if (!sent) return fail(sent.error());
    if (!*sent) {
      ++open;
      continue;
    }
    take(*open);
    in_flight_ -= open->longest;
    buffers_.give_back(std::move(open->buffer));
    errands_[open->holder.value].free_slots |= static_cast<std::uint8_t>(1U << open->slot);
    if (std::ranges::find(ready_, open->holder.value) == ready_.end()) ready_.push_back(open->holder.value);
    open = open_.erase(open);
    moved = true;
  }
  return moved;
}

bool Customer::read_piece() {
  if (next_piece(here_) == nullptr) return false;
  const Piece piece = std::move(here_.cut.front());
  here_.cut.pop_front();
  const HeldRegion& held = *find_here(piece.region, *piece.source);
  const Target& target = plan_.targets.at(piece.region);
  Status status;
  if (piece.source->same_as) {
    Buffer bytes(bytes_of(piece));
    status = read_part(held.array, held.read, alone(held.array, piece.box), bytes, piece.box);
    if (status) compare(piece, bytes);
  } else {
    status = read_part(held.array, held.read, target.array, target.memory, piece.box);
  }
  if (!status) note(unreadable(plan_.roster.entries()[piece.region].type.name, piece.source->old_rank, status.error()));
  return true;
}

Result<bool> Customer::advance() {
  auto moved = take_answers();
  if (!moved) return moved;
  if (order_more()) moved = true;
  const bool has_read = here_.cut.empty() && here_.sources.empty();
  if (open_.empty() && has_read && !compares_) {
    compares_ = true;
    errands_.clear();
    list_errands(true);
    if (order_more()) moved = true;
  }
  return moved;
}

}  // namespace cairn::reshape
