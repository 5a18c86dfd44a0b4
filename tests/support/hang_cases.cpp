#include "support/hang_cases.hpp"

#include "support/hang_facts.hpp"

namespace cairn::test {
namespace {

using hang::Cause;
using hang::Certainty;
using hang::Verdict;

constexpr auto kCertain = Certainty::certain;
constexpr auto kLikely = Certainty::likely;
constexpr auto kUnknown = Certainty::unknown;

using Cases = std::vector<HangCase>;
using Prepare = std::function<void(SampleCalls&)>;

void healthy(Cases& cases, const std::string& name, Prepare prepare) {
  cases.push_back({name, Verdict::healthy, {}, {}, {}, std::move(prepare)});
}
void hangs(Cases& cases, const std::string& name, Cause cause, std::initializer_list<std::uint32_t> blamed,
           Prepare prepare) {
  cases.push_back({name, Verdict::hangs, cause, kCertain, ranks(blamed), std::move(prepare)});
}
void suspect(Cases& cases, const std::string& name, Cause cause, Certainty certainty,
             std::initializer_list<std::uint32_t> blamed, Prepare prepare) {
  cases.push_back({name, Verdict::suspect, cause, certainty, ranks(blamed), std::move(prepare)});
}

Said finalize() {
  Said end{"MPI_Finalize", {}};
  end.record.kind = CallKind::other;
  return end;
}

void add_healthy(Cases& cases) {
  healthy(cases, "all_compute", [](SampleCalls&) {});
  healthy(cases, "all_are_in_a_collective", [](SampleCalls& job) { job.all_last(collective("MPI_Allreduce")); });
  healthy(cases, "a_message_is_under_way", [](SampleCalls& job) {
    job.lasts(0, receive(1, 7));
    job.lasts(1, send(0, 7));
  });
  healthy(cases, "a_short_wait", [](SampleCalls& job) { job.all_last(collective("MPI_Barrier"), {3}, 2); });
}

void add_messages(Cases& cases) {
  hangs(cases, "a_receive_was_left_out", Cause::circle, {0, 1}, [](SampleCalls& job) {
    job.all_last(collective("MPI_Allreduce"), {1});
    job.lasts(1, send(0, 7));
  });
  hangs(cases, "a_send_was_left_out", Cause::circle, {2, 3}, [](SampleCalls& job) {
    job.all_last(collective("MPI_Barrier"), {2});
    job.lasts(2, receive(3, 7));
  });
  hangs(cases, "tags_are_swapped", Cause::circle, {0, 1}, [](SampleCalls& job) {
    job.lasts(0, receive(1, 7));
    job.lasts(1, send(0, 8));
  });
  hangs(cases, "all_send_in_a_circle", Cause::circle, {0, 1, 2, 3}, [](SampleCalls& job) {
    for (std::uint32_t rank = 0; rank < 4; ++rank) job.lasts(rank, send(static_cast<std::int32_t>((rank + 1) % 4), 5));
  });
  hangs(cases, "a_rank_receives_from_itself", Cause::circle, {2},
        [](SampleCalls& job) { job.lasts(2, receive(2, 1)); });
  hangs(cases, "all_receive_from_any_source", Cause::circle, {0, 1},
        [](SampleCalls& job) { job.all_last(receive(kAnyPeer, kAnyTag)); });
  hangs(cases, "a_wildcard_took_the_message_of_another", Cause::circle, {0, 2}, [](SampleCalls& job) {
    job.did(2, send(0, 7, "MPI_Send"));
    job.did(0, receive(kAnyPeer, 7));
    job.all_last(collective("MPI_Barrier"), {0});
    job.lasts(0, receive(2, 7));
  });
  hangs(cases, "a_wait_is_for_the_wrong_request", Cause::circle, {0, 2}, [](SampleCalls& job) {
    job.begins(0, receive(1, 1, "MPI_Irecv"));
    job.waits(0, "MPI_Wait", CallKind::wait_all, {receive(2, 2, "MPI_Irecv")});
    job.all_last(collective("MPI_Barrier"), {0});
  });
  suspect(cases, "a_rank_loops_before_it_sends", Cause::computes, kLikely, {3}, [](SampleCalls& job) {
    job.all_last(receive(3, 7), {3});
    job.facts[3] = kComputes;
  });
  suspect(cases, "a_waitany_has_its_message", Cause::in_call, kLikely, {0}, [](SampleCalls& job) {
    job.waits(0, "MPI_Waitany", CallKind::wait_any, {receive(2, 1, "MPI_Irecv"), receive(1, 1, "MPI_Irecv")});
    job.lasts(2, receive(0, 1));
    job.lasts(1, send(0, 1));
  });
}

void add_collectives(Cases& cases) {
  suspect(cases, "a_rank_computes_before_a_collective", Cause::computes, kLikely, {3}, [](SampleCalls& job) {
    job.all_last(collective("MPI_Allreduce"), {3});
    job.facts[3] = kComputes;
  });
  suspect(cases, "a_rank_idles_before_a_collective", Cause::idles, kLikely, {3}, [](SampleCalls& job) {
    job.all_last(collective("MPI_Allreduce"), {3});
    job.facts[3] = kIdles;
  });
  hangs(cases, "roots_differ", Cause::collective_mismatch, {3}, [](SampleCalls& job) {
    job.all_last(collective("MPI_Reduce", 0), {3});
    job.lasts(3, collective("MPI_Reduce", 1));
  });
  hangs(cases, "collectives_differ", Cause::collective_mismatch, {1}, [](SampleCalls& job) {
    job.all_last(collective("MPI_Allreduce"), {1});
    job.lasts(1, collective("MPI_Barrier"));
  });
  hangs(cases, "a_rank_ends_early", Cause::circle, {0, 2}, [](SampleCalls& job) {
    job.all_last(receive(2, 7), {2});
    job.lasts(2, finalize());
  });
  suspect(cases, "a_rank_does_not_come_to_the_end", Cause::computes, kLikely, {2}, [](SampleCalls& job) {
    job.all_last(finalize(), {2});
    job.facts[2] = kComputes;
  });
}

Said test(const std::string& name, CallKind kind) {
  Said said{name, {}};
  said.record.kind = kind;
  said.record.number = 70'000;
  return said;
}

void add_polls(Cases& cases) {
  hangs(cases, "ranks_test_for_each_other", Cause::circle, {0, 1}, [](SampleCalls& job) {
    for (const std::uint32_t rank : {0U, 1U}) {
      job.did(rank, test("MPI_Test", CallKind::test), 0);
      job.of(rank).past[1].began -= 30'000'000'000;
      job.begins(rank, receive(static_cast<std::int32_t>(1 - rank), 1, "MPI_Irecv"), 1);
    }
  });
  hangs(cases, "a_rank_tests_for_all_of_which_one_never_comes", Cause::dead, {3}, [](SampleCalls& job) {
    job.did(0, test("MPI_Testall", CallKind::test_all), 0);
    job.of(0).past[1].began -= 30'000'000'000;
    for (const std::int32_t peer : {2, 3}) job.begins(0, receive(peer, 1, "MPI_Irecv"), 1);
    job.facts[2] = kComputes;
    job.facts[3] = kDead;
  });
  suspect(cases, "a_rank_tests_for_any_of_which_one_may_come", Cause::computes, kLikely, {2}, [](SampleCalls& job) {
    job.did(0, test("MPI_Testany", CallKind::test), 0);
    job.of(0).past[1].began -= 30'000'000'000;
    for (const std::int32_t peer : {2, 3}) job.begins(0, receive(peer, 1, "MPI_Irecv"), 1);
    job.facts[2] = kComputes;
    job.facts[3] = kDead;
  });
  hangs(cases, "a_rank_probes_for_what_is_never_sent", Cause::circle, {0, 1}, [](SampleCalls& job) {
    job.did(0, iprobe(1, 7, 70'000), 0);
    job.of(0).past[1].began -= 30'000'000'000;
    job.all_last(collective("MPI_Barrier"), {0});
  });
}

void add_unprogressed(Cases& cases) {
  suspect(cases, "a_rank_computes_in_a_nonblocking_collective", Cause::computes, kLikely, {3}, [](SampleCalls& job) {
    const Said reduce = collective("MPI_Iallreduce");
    for (std::uint32_t rank = 0; rank < 3; ++rank) job.waits(rank, "MPI_Wait", CallKind::wait_all, {reduce});
    job.begins(3, reduce);
    job.facts[3] = kComputes;
  });
  hangs(cases, "a_rank_never_begins_a_nonblocking_collective_and_is_stopped", Cause::stopped, {3},
        [](SampleCalls& job) {
          const Said barrier = collective("MPI_Ibarrier");
          for (std::uint32_t rank = 0; rank < 3; ++rank) job.waits(rank, "MPI_Wait", CallKind::wait_all, {barrier});
          job.facts[3] = kStopped;
        });
  suspect(cases, "a_rank_computes_with_a_send_begun", Cause::computes, kLikely, {2}, [](SampleCalls& job) {
    Said message = receive(2, 7);
    message.record.number = 1;
    job.lasts(1, message);
    job.begins(2, send(1, 7, "MPI_Isend"));
    job.facts[2] = kComputes;
  });
  suspect(cases, "all_ranks_are_in_a_call_that_is_not_analysed", Cause::unrecorded, kUnknown, {0, 1, 2, 3},
          [](SampleCalls& job) {
            Said write{"MPI_File_write_all", {}};
            write.record.kind = CallKind::opaque;
            job.all_last(write);
          });
  suspect(cases, "a_rank_is_in_a_call_of_which_little_is_known", Cause::unrecorded, kLikely, {1}, [](SampleCalls& job) {
    Said make{"MPI_Comm_create_group", {}};
    make.record.kind = CallKind::other;
    job.all_last(collective("MPI_Barrier"), {1});
    job.lasts(1, make);
  });
}

void all_in_cairn(SampleCalls& job, CairnCall call, std::uint64_t number) {
  for (std::uint32_t rank = 0; rank < 4; ++rank) job.in_cairn(rank, call, number);
}

// Two nodes with two ranks each, and their heads.
void add_cairn(Cases& cases) {
  hangs(cases, "a_head_is_stopped_while_ranks_take_a_snapshot", Cause::stopped, {}, [](SampleCalls& job) {
    job.has_heads(2);
    all_in_cairn(job, CairnCall::snapshot, 5);
    job.heads[1] = kStopped;
  });
  hangs(cases, "a_head_is_dead_while_ranks_restore", Cause::dead, {}, [](SampleCalls& job) {
    job.has_heads(2);
    all_in_cairn(job, CairnCall::restore, 1);
    job.heads[0] = kDead;
  });
  suspect(cases, "a_rank_does_not_open_a_snapshot_that_others_open", Cause::computes, kLikely, {1},
          [](SampleCalls& job) {
            job.has_heads(2);
            for (std::uint32_t rank = 0; rank < 4; ++rank)
              job.in_cairn(rank, CairnCall::open_snapshot, 2, rank == 1 ? 0 : kLong);
            job.in_cairn(1, CairnCall::open_snapshot, 1, 0);
            job.facts[1] = kComputes;
          });
  hangs(cases, "a_rank_is_stopped_and_does_not_close_a_snapshot", Cause::stopped, {3}, [](SampleCalls& job) {
    job.has_heads(2);
    all_in_cairn(job, CairnCall::close, 1);
    job.of(3).cairn = {};
    job.in_cairn(3, CairnCall::close, 0, 0);
    job.facts[3] = kStopped;
  });
  suspect(cases, "heads_work_while_ranks_wait", Cause::computes, kLikely, {}, [](SampleCalls& job) {
    job.has_heads(2);
    all_in_cairn(job, CairnCall::finalize, 1);
  });
  suspect(cases, "a_rank_leaves_a_snapshot_out_and_computes", Cause::computes, kLikely, {2}, [](SampleCalls& job) {
    job.has_heads(2);
    all_in_cairn(job, CairnCall::snapshot, 5);
    job.of(2).cairn = {};
    job.in_cairn(2, CairnCall::snapshot, 4, 0);
    job.facts[2] = kComputes;
  });
  hangs(cases, "a_rank_leaves_a_restore_out_and_waits_for_others", Cause::circle, {0, 2}, [](SampleCalls& job) {
    job.has_heads(2);
    all_in_cairn(job, CairnCall::restore, 1);
    job.of(2).cairn = {};
    job.lasts(2, collective("MPI_Allreduce"));
  });
  hangs(cases, "a_rank_leaves_a_snapshot_out_that_the_others_in_its_collective_have_taken", Cause::left_out, {2},
        [](SampleCalls& job) {
          for (std::uint32_t rank = 0; rank < 4; ++rank) {
            job.of(rank).head_rank = 0;
            job.in_cairn(rank, CairnCall::snapshot, rank == 2 ? 5 : 6, rank == 0 ? kLong : 0);
          }
          job.all_last(collective("MPI_Allreduce"), {0});
        });
  hangs(cases, "a_rank_is_stopped_in_a_restore", Cause::stopped, {1}, [](SampleCalls& job) {
    job.has_heads(2);
    all_in_cairn(job, CairnCall::restore, 1);
    job.facts[1] = kStopped;
  });
  suspect(cases, "a_rank_waits_for_a_snapshot_that_another_leaves_out", Cause::computes, kLikely, {3},
          [](SampleCalls& job) {
            for (std::uint32_t rank = 0; rank < 3; ++rank) {
              job.in_cairn(rank, CairnCall::snapshot, 7, 0);
              job.in_cairn(rank, CairnCall::wait, 1);
            }
            job.in_cairn(3, CairnCall::snapshot, 6, 0);
            job.facts[3] = kComputes;
          });
  suspect(cases, "a_rank_that_acts_as_the_head_computes", Cause::computes, kLikely, {0}, [](SampleCalls& job) {
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      job.of(rank).head_rank = 0;
      job.in_cairn(rank, CairnCall::snapshot, 5);
    }
    job.of(0).cairn.call = CairnCall::none;
    job.facts[0] = kComputes;
  });
  healthy(cases, "ranks_have_come_out_of_a_snapshot", [](SampleCalls& job) {
    job.has_heads(2);
    for (std::uint32_t rank = 0; rank < 4; ++rank) job.in_cairn(rank, CairnCall::snapshot, 5, 0);
    job.heads[0] = kIdles;
  });
}

void add_processes(Cases& cases) {
  hangs(cases, "a_rank_is_stopped", Cause::stopped, {2}, [](SampleCalls& job) {
    job.all_last(collective("MPI_Allreduce"), {2});
    job.facts[2] = kStopped;
  });
  hangs(cases, "a_rank_is_stopped_inside_a_collective", Cause::stopped, {2}, [](SampleCalls& job) {
    job.all_last(collective("MPI_Allreduce"));
    job.facts[2] = kStopped;
  });
  hangs(cases, "a_rank_is_dead", Cause::dead, {3}, [](SampleCalls& job) {
    job.all_last(collective("MPI_Barrier"), {3});
    job.facts[3] = kDead;
  });
  hangs(cases, "all_ranks_are_stopped", Cause::all_stopped, {}, [](SampleCalls& job) {
    for (std::uint32_t rank = 0; rank < 4; ++rank) job.facts[rank] = kStopped;
  });
  suspect(cases, "a_rank_is_not_seen", Cause::unseen, kLikely, {3}, [](SampleCalls& job) {
    job.all_last(collective("MPI_Barrier"), {3});
    job.lose(3);
  });
}

void add_wildcards(Cases& cases) {
  suspect(cases, "a_wildcard_may_have_taken_one_of_two_messages", Cause::circle, kUnknown, {0, 1},
          [](SampleCalls& job) {
            job.did(0, send(1, 7, "MPI_Send"));
            job.did(1, receive(kAnyPeer, 7));
            job.all_last(collective("MPI_Barrier"), {1});
            job.waits(1, "MPI_Waitall", CallKind::wait_all, {receive(0, 7, "MPI_Irecv"), send(0, 8, "MPI_Isend")});
            job.counts(0, receive(1, 8), 1);
          });
  suspect(cases, "a_wildcard_may_have_taken_a_send", Cause::computes, kLikely, {2}, [](SampleCalls& job) {
    job.did(0, receive(kAnyPeer, 7));
    job.all_last(collective("MPI_Barrier"), {1, 2});
    job.waits(1, "MPI_Waitall", CallKind::wait_all, {send(0, 7, "MPI_Issend"), receive(2, 9, "MPI_Irecv")});
    job.facts[2] = kComputes;
  });
}

void add_gaps(Cases& cases) {
  suspect(cases, "messages_are_not_counted", Cause::circle, kUnknown, {0, 1}, [](SampleCalls& job) {
    job.stops_counting(0);
    job.lasts(0, receive(1, 7));
    job.lasts(1, receive(0, 7));
    job.all_last(collective("MPI_Barrier"), {0, 1});
  });
  suspect(cases, "requests_are_not_recorded", Cause::unrecorded, kUnknown, {1}, [](SampleCalls& job) {
    job.waits(1, "MPI_Waitall", CallKind::wait_all, {});
    job.of(1).lasting[0].number = 3;
  });
}

}  // namespace

hang::HangReport HangCase::examine() const {
  SampleCalls job(4);
  prepare(job);
  return job.examine();
}

void PrintTo(const HangCase& tested, std::ostream* out) { *out << tested.name; }

std::vector<HangCase> hang_cases() {
  Cases cases;
  add_healthy(cases);
  add_messages(cases);
  add_collectives(cases);
  add_polls(cases);
  add_unprogressed(cases);
  add_cairn(cases);
  add_processes(cases);
  add_wildcards(cases);
  add_gaps(cases);
  return cases;
}

}  // namespace cairn::test
