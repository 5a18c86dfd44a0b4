#include "localize/rules.hpp"

namespace cairn::localize {

// Our own rules, not those of the paper: see rules.hpp. The numbers were chosen with seeds 1 to 50 of
// tests/support/sick_cluster; its accuracy is measured with other seeds.
std::string_view default_rules_text() {
  return R"rules(# The default rules of Cairn's fault localization.

# MPI, the operating system and the file system do not report these by mistake.
weight process_failed 3
weight process_stopped 3
weight store_full 2
weight store_error 1.5
# Who reports this has looked.
weight suspected 3
weight deadlock 3

# --- which faults are candidates

rule unreachable
if heartbeat_missed.reporters >= 2
if no_response.reporters >= 2
if no_response >= 3
if heartbeat_missed >= 3
if heartbeat_missed and no_response
then fact unreachable
why Several messages in a row from the node, or to it, are lost only if something is wrong.

rule silent_node
if unreachable
then suspect node_down, partition, node_swapping, node_stolen, head_overloaded
why A node is silent if it is off, cut off, or too slow to answer.

rule failed_process
if process_failed
then suspect node_down, partition, process_dead
why MPI reports a process as failed if it ended, or if its node cannot be reached.

rule stopped_process
if process_stopped
then suspect process_stopped
why The operating system knows which processes are stopped.

rule full_store
if store_full
then suspect store_full
why The store reports how much of it is in use.

rule failing_store
if store_error
then suspect store_failing
why Healthy devices do not return EIO.

rule slow_transfers
if low_bandwidth
then suspect node_stolen, node_swapping, head_overloaded, link_degraded
why Transfers are slow if a link is, or if the node has no processor or memory for them.

rule stolen_processor
if processor_stolen
then suspect node_stolen
why The operating system counts the time that others use its processors.

rule short_of_memory
if memory_pressure
then suspect node_swapping
why The operating system counts the time in which threads wait for memory.

rule damaged_file
if crc_mismatch
then suspect store_corrupts
why Data that arrives damaged may lie so in the store of its sender.

rule wrong_data
if crc_mismatch.reporters = 1
then suspect path_corrupts
why Wrong data at one receiver only is the path's: the sender's other receivers got good data.

rule bad_card
if network_error
then suspect link_degraded
why A network card counts packets that it sends or receives with errors.

rule late_rank
if waited_for
then suspect node_down, partition, process_dead, node_stolen, node_swapping, rank_slow, rank_stuck
why Ranks wait for one that is dead, slow, or stuck.

rule ranks_in_deadlock
if deadlock
then suspect deadlock
why The MPI calls of all ranks show which ranks wait for each other.

rule slow_computation
if slow_rank
then suspect node_stolen, node_swapping, rank_slow
why A rank is slow if its process is stopped again and again, or waits for a processor.

rule reported_from_outside
if suspected
then suspect node_down, partition, process_dead, process_stopped, store_failing, store_full, node_stolen, node_swapping, rank_stuck, rank_slow, link_degraded
why Somebody knows something that Cairn does not see, so everything is looked at.

# --- what confirms a fault

rule no_answer_to_anybody
if response.answers = 0 and witness.reached = 0 and witness.near_silent < 2
then confirm node_down
why Nobody reaches the node, and its neighbours can be reached.

rule cut_off_together
if response.answers = 0 and witness.reached = 0 and witness.near_silent >= 2
then confirm partition
why The node cannot be reached, and neither can several of its neighbours.

rule process_is_gone
if response.answers = 1 and response.process_alive = 0
then confirm process_dead
why The head of the node answers, and finds no such process.

rule process_is_stopped
if response.process_stopped = 1
then confirm process_stopped
why The head of the node sees that the process is stopped by a signal or a debugger.

rule processors_are_stolen
if state.stolen >= 0.2
then confirm node_stolen
why The node has lost this share of its processors to others.

rule memory_is_short
if state.memory >= 0.2
then confirm node_swapping
why The threads of the node wait for memory for this share of the time.

rule head_is_late
if state.queue >= 0.1 and state.stolen < 0.1 and state.memory < 0.1
then confirm head_overloaded
why Messages wait for the head, though the node has processors and memory.

rule link_is_slow
if state.bandwidth <= 0.5 and state.stolen < 0.2 and state.memory < 0.2 and state.queue < 0.1
then confirm link_degraded
why All transfers of the node are slow, though it has processors and memory.

rule store_is_full
if state.store_used >= 0.98
if state.store_room < 1
if state.store_refused >= 1
then confirm store_full
why The store has no room left, or none for the next snapshot of its ranks.

rule card_has_errors
if network_error >= 2 and state.network_errors >= 0.001
then confirm link_degraded
why A network card of the node reports errors for this share of its packets.

rule store_fails
if store_error >= 2 and state.store_failed >= 1
then confirm store_failing
why The store has failed several times lately. How many other operations went well does not matter.

rule store_is_damaged
if crc_mismatch >= 2 and state.store_damaged >= 1
then confirm store_corrupts
why The node has read again what others refused, and found it damaged.

rule one_path_is_bad
if crc_mismatch >= 2 and log.bad_peers = 1 and log.bad_share >= 0.05
then confirm path_corrupts
why One receiver has refused data that is whole where it comes from, and no other receiver has.

rule rank_blocks_others
if response.process_alive = 1 and response.process_stopped = 0 and log.blocks > 0
then confirm rank_stuck
why By the MPI calls of all ranks, others have waited for it for this long, and it waits for none of them.

rule none_can_continue
if log.deadlock > 0
then confirm deadlock
why By the MPI calls of all ranks, these have waited for this long, and none of them can continue by itself.

rule rank_is_held_back
if log.held >= 0.2
then confirm rank_slow
why Something stops the process and lets it continue, again and again: it stands still for this share of the time.

rule rank_is_crowded_out
if log.crowded >= 0.2
then confirm rank_slow
why The process waits for a processor for this share of the time, and the other ranks of the node do not.

# --- what shows that the suspect is not the cause

rule blocks_nobody
if waited_for and log.blocks = 0
then excuse
why By the MPI calls of all ranks, none waits for it any longer, or it waits itself.

rule deadlock_is_over
if deadlock and log.deadlock = 0
then excuse
why By the MPI calls of all ranks, these no longer wait for each other.

rule only_the_process_failed
if process_failed and response.answers = 1
then excuse
why The head of the node answers: a process has ended, and not the node.

rule was_continued
if process_stopped and response.process_stopped = 0
then excuse
why The process runs again.

rule answers_again
if unreachable and response.answers = 1 and state.queue < 0.1
if unreachable and response.answers = 0 and witness.reached and state.queue < 0.1
then excuse
why The head of the node answers, and no messages wait for it: what kept it silent is over.

rule fast_enough
if low_bandwidth and state.bandwidth > 0.5 and state.queue < 0.1
then excuse
why The node's other transfers are fast: the slow one was the reporter's, or it is over.

rule pressure_is_over
if processor_stolen and state.stolen < 0.2
if memory_pressure and state.memory < 0.2
then excuse
why The node has processors and memory again.

rule too_early
if suspected = 0 and state.stolen >= 0.1 and state.stolen < 0.2
if suspected = 0 and state.memory >= 0.1 and state.memory < 0.2
then excuse
why The pressure on the node grows or falls: if it grows, the next symptoms will show it.

rule has_room_again
if store_full and state.store_room >= 1 and state.store_refused = 0
then excuse
why The store has room again.

rule card_is_well
if network_error and state.network_errors < 0.001
then excuse
why The network cards of the node report no errors any more.

rule computes_as_usual
if slow_rank and log.held < 0.2 and log.crowded < 0.2
then excuse
why Nothing stops the rank any more, and it gets its processor.
)rules";
}

}  // namespace cairn::localize
