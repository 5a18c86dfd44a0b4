// The message of a persistent request. The application may free its datatype before the request, so this has one of its
// own.
#pragma once

#include <mpi.h>

#include <variant>

#include "mpi/message_carrier.hpp"
#include "mpi/mpi_request.hpp"
#include "tap/carrier.hpp"

namespace cairn {

struct MessageCarrier::Prepared {
 public:
  explicit Prepared(const tap::OutgoingMessage& message) : message_(message) { keep(type()); }
  explicit Prepared(const tap::IncomingMessage& message) : message_(message) { keep(type()); }
  ~Prepared() {
    if (is_own_ && mpi_is_running()) MPI_Type_free(&type());
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  [[nodiscard]] bool sends() const { return std::holds_alternative<tap::OutgoingMessage>(message_); }
  [[nodiscard]] const tap::OutgoingMessage& outgoing() const { return std::get<tap::OutgoingMessage>(message_); }
  [[nodiscard]] const tap::IncomingMessage& incoming() const { return std::get<tap::IncomingMessage>(message_); }

 private:
  MPI_Datatype& type() {
    return std::visit([](auto& one) -> MPI_Datatype& { return one.type; }, message_);
  }
  void keep(MPI_Datatype& type) {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = MPI_COMBINER_NAMED;
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (combiner == MPI_COMBINER_NAMED) return;
    MPI_Datatype own = MPI_DATATYPE_NULL;
    if (MPI_Type_dup(type, &own) != MPI_SUCCESS) return;
    type = own;
    is_own_ = true;
  }

  std::variant<tap::OutgoingMessage, tap::IncomingMessage> message_;
  bool is_own_ = false;
};

}  // namespace cairn
