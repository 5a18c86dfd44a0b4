#include "support/log_messages.hpp"

#include <utility>

#include "logged/journaled_rank.hpp"

namespace cairn::test {

MakeLoggedRank log_messages() {
  return [](rollback::LoggedRank::Setting setting, rollback::Repairs& repairs) {
    return std::make_unique<rollback::JournaledRank>(std::move(setting), repairs);
  };
}

}  // namespace cairn::test
