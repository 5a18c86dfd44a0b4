// A part of a lost rank's state, while its steps are recomputed. With [recovery] rollback = lost, a replacement
// computes again what the lost rank had computed. With [replay] helpers = k, its state is cut in up to k parts: the
// replacement computes one of them, spares compute the others at the same time.
//
//     std::vector<std::byte> compute_part(cairn::LostPart& part) {
//       Rows rows(part.state());            // as the function split of on_loss() has made it
//       while (part.next_step()) {
//         exchange(rows, part);             // part.send, part.receive, part.send_to_part, part.receive_from_part
//         relax(rows);
//       }
//       return rows.bytes();                // for the function merge of on_loss()
//     }
//     …
//     return cairn::run(MPI_COMM_WORLD, "heat.ini", simulate, compute_part);
//
// A step is what the application does from one snapshot() call to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ranges>
#include <span>
#include <vector>

#include <cairn/storable.hpp>

namespace cairn {

namespace rollback {
class LostWork;
}
class LostCollectives;

// A part of a lost rank. Parts have numbers from 0.
//
// Calls throw an Exception of kind `rollback` if the part is not needed any more: do not catch it, or throw it again.
// All calls come from the thread that runs the function with this part. Only calls that receive from a part may block.
class LostPart {
 public:
  // Cairn makes it.
  explicit LostPart(rollback::LostWork& work) : work_(work) {}
  LostPart(const LostPart&) = delete;
  LostPart& operator=(const LostPart&) = delete;

  [[nodiscard]] std::uint32_t part() const;   // Number of this part.
  [[nodiscard]] std::uint32_t parts() const;  // Number of parts, at least 2.
  [[nodiscard]] std::uint32_t rank() const;   // The lost rank: a rank of session.comm().
  [[nodiscard]] std::uint32_t ranks() const;  // Number of application ranks.
  // Returns what `split` of on_loss() has made for this part. Valid as long as this object.
  [[nodiscard]] std::span<const std::byte> state() const;

  // Begins the next step. Returns false if all steps are done. To be called before each step, until it returns false.
  [[nodiscard]] bool next_step();

  // Sends elements that the lost rank has sent to `rank` in this step, with this tag on session.comm(). Nothing is
  // sent: Cairn compares it with what `rank` has received, and keeps a copy. All messages of the lost rank with one
  // peer and tag belong to one part, in their order.
  //
  // Requires: `elements` is contiguous, such as a vector or a span.
  // Throws: kind `usage` before the first step or after the last.
  template <std::ranges::contiguous_range Elements>
  requires Storable<std::remove_cv_t<std::ranges::range_value_t<Elements>>>
  void send(std::uint32_t rank, int tag, const Elements& elements) { send_bytes(rank, tag, bytes_of(elements)); }
  // Receives elements that the lost rank has received from `rank` in this step.
  //
  // Throws: kind `usage` as above, or if there is no such message, or if it has another length.
  template <std::ranges::contiguous_range Elements>
  requires Storable<std::ranges::range_value_t<Elements>>
  void receive(std::uint32_t rank, int tag, Elements&& elements) { receive_bytes(rank, tag, writable(elements)); }

  // Sends elements to another part. Messages between two parts with one tag arrive in their order. The call copies the
  // elements, and does not wait for a receive.
  //
  // Throws: kind `usage` if there is no such part, or if it is this one.
  template <std::ranges::contiguous_range Elements>
  requires Storable<std::remove_cv_t<std::ranges::range_value_t<Elements>>>
  void send_to_part(std::uint32_t part, int tag, const Elements& elements) {
    send_bytes_to_part(part, tag, bytes_of(elements));
  }
  // Waits for elements from another part.
  //
  // Throws: kind `usage` as above, or if they have another length.
  template <std::ranges::contiguous_range Elements>
  requires Storable<std::ranges::range_value_t<Elements>>
  void receive_from_part(std::uint32_t part, int tag, Elements&& elements) {
    receive_bytes_from_part(part, tag, writable(elements));
  }

  // Collective calls of the lost rank are those of a LostCollectives, in <cairn/lost_collectives.hpp>.

  // As send(), for bytes.
  void send_bytes(std::uint32_t rank, int tag, std::span<const std::byte> bytes);
  // As receive(), for bytes.
  void receive_bytes(std::uint32_t rank, int tag, std::span<std::byte> bytes);
  // As send_to_part(), for bytes.
  void send_bytes_to_part(std::uint32_t part, int tag, std::span<const std::byte> bytes);
  // As receive_from_part(), for bytes.
  void receive_bytes_from_part(std::uint32_t part, int tag, std::span<std::byte> bytes);

 private:
  friend class LostCollectives;
  template <class Elements>
  static std::span<const std::byte> bytes_of(const Elements& elements) {
    return std::as_bytes(std::span(std::ranges::data(elements), std::ranges::size(elements)));
  }
  template <class Elements>
  static std::span<std::byte> writable(Elements& elements) {
    return std::as_writable_bytes(std::span(std::ranges::data(elements), std::ranges::size(elements)));
  }

  rollback::LostWork& work_;
};

// Computes a part from its first step to the last, and returns its state then. It runs in spares and in a replacement,
// and gets all that it needs from the part. It makes no MPI call that involves other processes, and no call of a
// session.
using ComputePart = std::function<std::vector<std::byte>(LostPart& part)>;

// Cuts the state of a rank in so many parts; see SessionBase::on_loss().
using SplitState = std::function<std::vector<std::vector<std::byte>>(std::uint32_t parts)>;
// Puts the state of a rank together from its parts, after so many steps; see SessionBase::on_loss().
using MergeState = std::function<void(std::span<const std::vector<std::byte>> parts, std::uint64_t steps)>;

}  // namespace cairn
