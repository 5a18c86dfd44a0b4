#include "opening/local_rollback.hpp"

#include <utility>

#include "carrier/message_carrier.hpp"
#include "carrier/part_collectives.hpp"
#include "logged/helper_group.hpp"
#include "logged/journaled_rank.hpp"

namespace cairn {

const LocalRollback* local_rollback() {
  static const LocalRollback there_is{
      .rank =
          [](rollback::LoggedRank::Setting setting, rollback::Repairs& repairs) {
            return std::make_unique<rollback::JournaledRank>(std::move(setting), repairs);
          },
      .messages =
          [](LocalRollback::MessageSetting setting, std::shared_ptr<Lifeline> lifeline) {
            return std::make_unique<MessageCarrier>(
                MessageCarrier::Setting{.comm = setting.comm,
                                        .own = setting.own,
                                        .journal = setting.rank.journal(),
                                        .deadlocks = setting.rank.deadlocks(),
                                        .repeats = [rank = &setting.rank] { return rank->take_repeated(); },
                                        .stays = std::move(setting.stays),
                                        .adopts = std::move(setting.adopts),
                                        .limit = setting.limit,
                                        .has_threads = setting.has_threads,
                                        .present_call = std::move(setting.present_call),
                                        .log = std::move(setting.log)},
                std::move(lifeline));
          },
      .helpers =
          [](rollback::Helpers::Setting setting) {
            return std::make_unique<rollback::HelperGroup>(std::move(setting));
          },
      .collective = make_in_part};
  return &there_is;
}

}  // namespace cairn
