#include "stay_parts.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <cairn/lost_part.hpp>

#include "base/mix.hpp"
#include "codec/crc32c.hpp"

namespace cairn::test {
namespace {

using Kind = Operation::Kind;

constexpr std::int32_t kToReceiver = 1;  // a payload, from the first part to the one that sends it
constexpr std::int32_t kToState = 2;     // a payload, to the first part

std::vector<std::byte> bytes_of_cells(const StayCells& cells) {
  const auto bytes = std::as_bytes(std::span(cells));
  return {bytes.begin(), bytes.end()};
}

StayCells cells_of(std::span<const std::byte> bytes) {
  StayCells cells(bytes.size() / sizeof(std::uint64_t));
  std::memcpy(cells.data(), bytes.data(), bytes.size());
  return cells;
}

// One part, from its first step to the last.
class Part {
 public:
  Part(const Program& program, LostPart& part)
      : operations_(program.at(part.rank())), part_(part), cells_(cells_of(part.state())) {}

  std::vector<std::byte> compute() {
    while (part_.next_step()) {
      while (operations_.at(cells_[0]).kind != Kind::snapshot) make(operations_[cells_[0]++]);
      ++cells_[0];
    }
    return bytes_of_cells(cells_);
  }

 private:
  [[nodiscard]] bool has_state() const { return part_.part() == 0; }
  [[nodiscard]] std::uint32_t part_of(std::uint32_t peer) const { return peer % part_.parts(); }

  void make(const Operation& operation) {
    switch (operation.kind) {
      case Kind::send:
      case Kind::isend: send(operation); break;
      case Kind::receive:
      case Kind::ireceive: pending_.push_back(operation); break;
      default: break;
    }
    if (operation.kind == Kind::isend || operation.kind == Kind::ireceive) return;
    for (const Operation& one : std::exchange(pending_, {})) receive(one);
  }

  void send(const Operation& operation) {
    Buffer payload(operation.words * sizeof(std::uint64_t));
    const std::uint32_t sender = part_of(operation.peer);
    if (has_state()) payload = payload_at(cells_, cells_[0] - 1, operation.words);
    if (has_state() && sender != 0) return part_.send_to_part(sender, kToReceiver, payload);
    if (sender != part_.part()) return;
    if (!has_state()) part_.receive_from_part(0, kToReceiver, payload);
    part_.send(operation.peer, operation.tag, payload);
  }

  void receive(const Operation& operation) {
    Buffer payload(operation.words * sizeof(std::uint64_t));
    const std::uint32_t receiver = part_of(operation.peer);
    if (receiver == part_.part()) part_.receive(operation.peer, operation.tag, payload);
    if (receiver == part_.part() && !has_state()) return part_.send_to_part(0, kToState, payload);
    if (!has_state()) return;
    if (receiver != 0) part_.receive_from_part(receiver, kToState, payload);
    take(cells_, operation.peer, payload);
  }

  const std::vector<Operation>& operations_;
  LostPart& part_;
  StayCells cells_;
  std::vector<Operation> pending_;
};

}  // namespace

StayCells first_cells(std::uint32_t rank) { return {0, mix(rank + 1)}; }

Buffer payload_at(const StayCells& cells, std::uint64_t operation, std::uint64_t words) {
  std::uint64_t state = cells[1] ^ operation * 77;
  Buffer payload;
  for (std::uint64_t i = 0; i < words; ++i) {
    state = mix(state + i + 1);
    const auto* const bytes = reinterpret_cast<const std::byte*>(&state);
    payload.insert(payload.end(), bytes, bytes + sizeof(state));
  }
  return payload;
}

void take(StayCells& cells, std::uint32_t from, Bytes payload) {
  cells[1] = mix(cells[1] ^ crc32c(payload) ^ (std::uint64_t{from} << 40U));
}

// In whatever order they come, the sum is the same.
void add(StayCells& cells, std::uint32_t from, Bytes payload) {
  cells[1] += mix(crc32c(payload) ^ (std::uint64_t{from} << 40U));
}

ComputePart part_computer(const Program& program) {
  return [&program](LostPart& part) { return Part(program, part).compute(); };
}

SplitState part_splitter(const StayCells& cells) {
  return [&cells](std::uint32_t parts) { return std::vector(parts, bytes_of_cells(cells)); };
}

MergeState part_merger(StayCells& cells) {
  return [&cells](std::span<const std::vector<std::byte>> parts, std::uint64_t /*steps*/) {
    const StayCells merged = cells_of(parts.front());
    std::ranges::copy(merged, cells.begin());
  };
}

}  // namespace cairn::test
