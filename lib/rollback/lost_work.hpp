// A part of the steps of a lost rank, as the application recomputes it: what a LostPart is made of. Errors end the
// part: Code::communication if it is not needed any more, or somebody has died. replay/part_work is one.
//
// One thread.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <cairn/error.hpp>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace cairn::rollback {

class LostWork {
 public:
  LostWork() = default;
  LostWork(const LostWork&) = delete;
  LostWork& operator=(const LostWork&) = delete;
  virtual ~LostWork() = default;

  [[nodiscard]] virtual std::uint32_t part() const = 0;
  [[nodiscard]] virtual std::uint32_t parts() const = 0;
  // The lost rank, of so many.
  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t ranks() const = 0;
  [[nodiscard]] virtual const Buffer& state() const = 0;

  // Begins the next step. False: all are done.
  [[nodiscard]] virtual Result<bool> next_step() = 0;
  // A message of the lost rank in this step, to or from another rank. mismatch: it has received none.
  [[nodiscard]] virtual Status send(std::uint32_t rank, std::int32_t tag, Bytes payload) = 0;
  [[nodiscard]] virtual Result<Buffer> receive(std::uint32_t rank, std::int32_t tag) = 0;
  // Messages between parts.
  [[nodiscard]] virtual Status send_to_part(std::uint32_t part, std::int32_t tag, Bytes payload) = 0;
  [[nodiscard]] virtual Result<Buffer> receive_from_part(std::uint32_t part, std::int32_t tag) = 0;
};

// Throws what the function that computes a part is to get.
template <class T>
T value_or_stop(Result<T> result) {
  if (result) {
    if constexpr (std::is_void_v<T>)
      return;
    else
      return std::move(*result);
  }
  const bool stops = result.error().code == Code::communication;
  throw Exception(stops ? ErrorKind::rollback : ErrorKind::usage, result.error().text());
}

}  // namespace cairn::rollback
