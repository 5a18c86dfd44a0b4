// A message of the application that has a request, and what a persistent request has to exchange whenever it is
// started.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "carrier/channels.hpp"
#include "carrier/kept_type.hpp"
#include "replay/number.hpp"
#include "replay/traffic.hpp"
#include "tap/carrier.hpp"

namespace cairn {

// The application may free its datatype before the request, so this has one of its own.
class PreparedMessage {
 public:
  explicit PreparedMessage(const tap::OutgoingMessage& message)
      : type_(message.type), message_(with_own_type(message)) {}
  explicit PreparedMessage(const tap::IncomingMessage& message)
      : type_(message.type), message_(with_own_type(message)) {}

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

struct PendingMessage {
  Channel* channel = nullptr;
  bool sends = false;
  bool is_logged = false;  // otherwise it is MPI's alone
  replay::Number number;
  tap::IncomingMessage in;
  std::shared_ptr<const KeptType> type = nullptr;  // of `in`, unless it stays valid anyway
  std::optional<replay::Need> need;                // of a send: a receive
  std::optional<std::uint64_t> choice;             // see replay::Prologue
  bool is_open = false;                            // MPI does not know it yet: see OpenReceives
  std::optional<std::uint64_t> place;              // see replay::Choices
  MPI_Request real = MPI_REQUEST_NULL;
  bool done = false;
  int code = MPI_SUCCESS;
  MPI_Status status{};
  std::uint64_t order = 0;                          // among those posted
  std::shared_ptr<const PreparedMessage> prepared;  // of a persistent request
  bool is_active = true;  // a persistent request is active once it is started, until it is complete
};

}  // namespace cairn
