// The message of a persistent request. The application may free its datatype before the request, so this has one of its
// own.
#pragma once

#include <mpi.h>

#include <variant>

#include "mpi/kept_type.hpp"
#include "mpi/message_carrier.hpp"
#include "tap/carrier.hpp"

namespace cairn {

struct MessageCarrier::Prepared {
 public:
  explicit Prepared(const tap::OutgoingMessage& message) : type_(message.type), message_(with_own_type(message)) {}
  explicit Prepared(const tap::IncomingMessage& message) : type_(message.type), message_(with_own_type(message)) {}

  [[nodiscard]] bool sends() const { return std::holds_alternative<tap::OutgoingMessage>(message_); }
  [[nodiscard]] const tap::OutgoingMessage& outgoing() const { return std::get<tap::OutgoingMessage>(message_); }
  [[nodiscard]] const tap::IncomingMessage& incoming() const { return std::get<tap::IncomingMessage>(message_); }

 private:
  template <class Message>
  [[nodiscard]] Message with_own_type(Message message) const {
    message.type = type_.get();
    return message;
  }

  KeptType type_;
  std::variant<tap::OutgoingMessage, tap::IncomingMessage> message_;
};

}  // namespace cairn
