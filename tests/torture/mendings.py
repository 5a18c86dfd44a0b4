"""What was mended in Cairn once, and how each mending is taken out of today's tree again.

A mending is a sentence that says what was wrong without it, and edits. Some defects had two guards since; then both go.
mutants.py plays torture without them. What torture has not missed in thousands of seeds, or cannot, is seen by the test
that is named.
"""

from typing import NamedTuple


class Edit(NamedTuple):
    """A text that is in a file exactly once, and what takes its place."""

    file: str
    text: str
    instead: str


class Mending(NamedTuple):
    """`seen_by`: the test that goes red without it, where torture does not; empty: torture does. `test`: the executable
    that has it, so that mutants.py can play it; empty: not named."""

    without: str
    edits: list[Edit]
    seen_by: str = ""
    test: str = ""


MENDINGS = [
    # Fault localization.
    Mending("what somebody suspects of a node is withdrawn when a rank of it dies", [
        Edit("lib/localize/verdicts.cpp",
             "         (!is_of_rank(fault.fault) || undetermined.suspect.rank.has_value() ||\n",
             "         (!is_of_rank(fault.fault) || is_of_rank(fault.fault) ||\n"),
    ], seen_by="Localizer.keeps_what_somebody_suspects_of_a_node_when_a_rank_of_it_dies", test="unit_localize"),
    # Snapshots that are abandoned.
    Mending("after an abandoned snapshot, its levels wait until they are due again", [
        Edit("lib/engine/seal_desk.cpp",
             "  owed_.add(sealing.vote.levels());\n",
             ""),
    ], seen_by="StorageError.lets_the_next_snapshot_reach_the_levels_of_one_that_is_abandoned", test="cluster_faults"),
    # Objects and files of the application.
    Mending("files are put back before all ranks have read the same snapshot", [
        Edit("lib/session/protected_path.cpp",
             "  if (!added) return added;\n  return of_own_file(finish());\n",
             "  if (!added) return added;\n  return of_own_file(finish()).and_then([&] { return put_back(); });\n"),
    ], seen_by="Files.are_all_left_as_they_were_if_one_cannot_be_put_back", test="cluster_files"),
    Mending("what cannot be loaded on one rank is no error on the others", [
        Edit("lib/session/session_restore.cpp",
             "  auto all = agree(ranks(), mine, \"rank\");\n",
             "  Status all = mine;\n"),
    ], seen_by="Objects.that_cannot_be_loaded_on_one_rank_are_an_error_on_all", test="cluster_objects"),
    Mending("a file may change while a snapshot reads it", [
        Edit("lib/store/posix/user_file.cpp",
             "  if (same) return {};\n",
             "  if (same || !same) return {};\n"),
    ], seen_by="Files.that_change_while_they_are_read_cost_a_snapshot", test="cluster_files"),
    Mending("a scratch file that was restored, and not written again, is in the next snapshot", [
        Edit("lib/session/scratch_file.cpp",
             "  if (!old_ || old_->stamp != *read_) return {};\n",
             "  if (!old_ || old_) return {};\n"),
    ], seen_by="ScratchFiles.that_one_rank_has_not_written_cost_a_snapshot_on_all_ranks", test="cluster_files"),
    Mending("many files of a directory are on no disk where no call syncs them all", [
        Edit("lib/session/protected_directory.cpp",
             "  const bool synced = sync_->sync();\n",
             "  const bool synced = sync_->sync() || sync_;\n"),
    ], seen_by="ManyFiles.are_synced_one_by_one_where_no_call_syncs_all", test="contract_lacking"),
    Mending("files of another file system below a directory are on no disk when they are put back", [
        Edit("lib/session/protected_directory.cpp",
             "    if (synced && replacement->unsynced() == sync_->device()) continue;\n",
             "    if (synced) continue;\n"),
    ], seen_by="ManyFiles.of_another_file_system_below_the_directory_are_synced_one_by_one", test="contract_lacking"),
    Mending("a scratch file that cannot be removed is taken for a new one", [
        Edit("lib/session/scratch_file.cpp",
             "  if (stamp) old_ = {*stamp, ",
             "  if (!stamp) old_ = {*stamp, "),
    ], seen_by="ScratchFiles.that_cannot_be_removed_are_not_taken_for_new_ones", test="cluster_files"),
    Mending("a scratch file stays after the snapshot that has it", [
        Edit("lib/session/scratch_file.cpp",
             "void ScratchFile::end_snapshot() { remove(); }\n",
             "void ScratchFile::end_snapshot() {}\n"),
    ], seen_by="ScratchFiles.are_in_the_snapshot_and_removed_after_it", test="cluster_files"),
    Mending("scratch files that killed ranks have left stay in the node's store", [
        Edit("lib/engine/engine_open.cpp",
             "    remove_files_of_ranks(*head_.node.local, catalog_.contents, kept, head_.node.log);\n",
             ""),
    ], seen_by="ScratchFiles.of_earlier_runs_are_removed_at_the_next_start", test="cluster_files"),
    Mending("a snapshot reaches L4, and its file not its destination", [
        Edit("lib/engine/promoter.cpp",
             "    status = agree(head_.heads, mine, \"node\");\n",
             "    status = agree(head_.heads, mine ? mine : Status{}, \"node\");\n"),
    ], seen_by="Destinations.that_cannot_be_written_keep_a_snapshot_from_l4_and_are_named", test="cluster_files"),
    Mending("a snapshot that was restored has no destinations", [
        Edit("lib/engine/restore_desk.cpp",
             "    if (!result.destinations.empty()) answers.destinations",
             "    if (false) answers.destinations"),
    ], seen_by="Destinations.have_a_restored_snapshot_that_reaches_l4_at_the_end", test="cluster_files"),
    # Snapshots that are opened.
    Mending("a version that was rejected is given again", [
        Edit("lib/recover/plan.cpp",
             "  return request.rejected.contains(snapshot) || (",
             "  return ("),
    ], seen_by="OpenSnapshot.that_one_rank_rejects_is_given_no_more", test="cluster_reading"),
    Mending("a version that was rejected under way is restored by the next life, which begins before another restore", [
        Edit("lib/engine/life.cpp",
             "  rejected.push_back(snapshot);\n",
             ""),
    ], seen_by="OpenSnapshot.that_was_rejected_is_restored_by_no_later_run_unless_it_is_chosen", test="cluster_reading"),
    Mending("a version that was rejected cannot be chosen by a later life", [
        Edit("lib/recover/plan.cpp",
             "(request.chosen.value == 0 && request.branch.has_rejected(snapshot))",
             "request.branch.has_rejected(snapshot)"),
    ], seen_by="OpenSnapshot.that_was_rejected_is_restored_by_no_later_run_unless_it_is_chosen", test="cluster_reading"),
    Mending("a version that was rejected is restored by the next life", [
        Edit("lib/engine/restore_adopt.cpp",
             "  if (is_chosen || is_instead_of_rejected(snapshot))\n",
             "  if (is_chosen)\n"),
        Edit("lib/engine/life.cpp",
             "  rejected.push_back(snapshot);\n",
             ""),
    ], seen_by="OpenSnapshot.that_one_rank_rejects_is_given_no_more", test="cluster_reading"),
    Mending("a snapshot is retired while it is open", [
        Edit("lib/recover/catalog.cpp",
             "    if (is_held(id)) continue;\n",
             ""),
    ], seen_by="OpenSnapshot.stays_in_the_stores_while_it_is_open_and_takes_no_slot", test="cluster_reading"),
    Mending("what is brought for a snapshot that is opened becomes a part of it", [
        Edit("lib/engine/restore_open.cpp",
             "  opening_->aside = true;\n",
             ""),
    ], seen_by="OpenSnapshot.comes_from_every_level_and_changes_no_store", test="cluster_reading"),
    Mending("a snapshot that only the global store has is unknown to the run that took it", [
        Edit("lib/engine/promoter.cpp",
             "    if (!in_manifest) catalog_.chain.remember(head_.node.levels, level, known.manifest.identity);\n",
             ""),
        Edit("lib/recover/catalog.cpp",
             "    for (const LevelId level : shared_levels_of(one)) inventory.shared[level].push_back(id);\n",
             ""),
    ], seen_by="Choice.reaches_versions_of_this_life_that_only_the_global_store_has", test="cluster_choice"),
    # Damage.
    Mending("a snapshot that was found damaged still counts as complete", [
        Edit("lib/recover/catalog.cpp",
             "    complete.remove(level);\n    struck.add(level);\n  }",
             "  }"),
    ]),
    Mending("a restore gives up when what it brought in the place of a damaged shard cannot be read once", [
        Edit("lib/recover/retrieve.cpp",
             "  return news || state.rounds_without_news++ < kMostRoundsWithoutNews;\n",
             "  return news || state.rounds_without_news > kMostRoundsWithoutNews;\n"),
    ], seen_by="FailingRead.of_what_was_brought_home_has_it_brought_once_more"),
    Mending("damaged blocks are copied, encoded and flushed", [
        Edit("lib/format/checked_shard.cpp",
             "return blocks.check_crc(block, crc32c(bytes)).and_then([&] {",
             "return Status{}.and_then([&] {"),
    ], seen_by="Struck.shard_is_never_copied_encoded_or_flushed"),
    Mending("a manifest that is not what was written is taken", [
        Edit("lib/format/sealer.cpp",
             "  if (seal == SealState::broken) return fail(Code::corrupt, \"its bytes do not match its sha256\");\n",
             ""),
    ]),
    Mending("with a key, a damaged chain mark makes all of the global store as if damaged", [
        Edit("lib/engine/life_start.cpp",
             "  if (auto status = judge_by_other_stores(roll); !status) return status;\n",
             ""),
    ], seen_by="Key.checks_the_global_store_by_the_chain_mark_of_a_node_where_its_own_is_lost"),
    Mending("with a key, a new chain takes the place of one whose marks are all lost", [
        Edit("lib/engine/restore_offer.cpp",
             "  if (auto status = life_.check_chain_is_known(); !status) return fail(status.error());\n",
             ""),
    ], seen_by="Key.refuses_to_start_where_no_chain_mark_is_whole"),
    Mending("with a key, L4 is told to be safe beside a chain mark that could not be read, and is damaged", [
        Edit("lib/engine/life.cpp",
             "  if (!catalog_.chain.mark_unknown) return false;\n",
             "  if (entries.size() + 1 > 0) return false;\n"),
    ], seen_by="Key.puts_nothing_into_a_global_store_whose_chain_mark_could_not_be_read_but_beside_a_whole_one"),
    Mending("what another key sealed beside a damaged chain mark goes as damaged", [
        Edit("lib/recover/catalog.cpp",
             "    if (!again && again.error().code == Code::corrupt) warn(retire(dir));\n",
             "    if (!again) warn(retire(dir));\n"),
    ], seen_by="Key.keeps_what_another_key_has_sealed_beside_a_chain_mark_that_was_damaged"),
    Mending("a read error on a rank's own shard fails the restore", [
        Edit("lib/engine/restore_desk.cpp",
             "    if (is_of_source(error->code) && plan_ &&",
             "    if (error->code == Code::corrupt && plan_ &&"),
    ]),

    Mending("a shard that is brought home takes its name before it is known to be right", [
        Edit("lib/recover/retrieve.cpp",
             "arrival.file ? Shard::open(arrival.file->read_back(), home) : Shard::open(*node.local, home)",
             "Shard::open(*node.local, home)"),
        Edit("lib/recover/retrieve.cpp",
             "    const Status good = verify(",
             "    if (arrival.file && !arrival.file->commit()) continue;\n    const Status good = verify("),
        Edit("lib/recover/retrieve.cpp",
             "      if (auto named = arrival.file ? arrival.file->commit() : Status{}; !named) return named;\n",
             ""),
    ], seen_by="Struck.source_does_not_take_the_place_of_a_good_shard"),
    Mending("regions that do not match are told of before damage of the shard that has them", [
        Edit("lib/session/session_restore.cpp",
             "  if (!read && read.error().code != Code::mismatch) return fail(read.error());\n",
             "  if (!read) return fail(read.error());\n"),
        Edit("lib/engine/restore_desk.cpp",
             "    if (again && *again) {\n",
             "    if (again && *again && answers.complaint) {\n"),
    ], seen_by="Struck.version_of_other_regions_is_no_mismatch"),

    Mending("of a shard that stays where it is only the data are looked at", [
        Edit("lib/recover/retrieve.cpp",
             "    const Status good = verify(node, task, arrival, !delivery.in_place() || state.verify_own);\n",
             "    const Status good = delivery.in_place() && !state.verify_own ? Status{}\n"
             "                                                                 : verify(node, task, arrival, true);\n"),
    ], seen_by="Struck.version_is_passed_over_for_what_its_ranks_do_not_read"),
    Mending("where one region is asked for another one may be damaged", [
        Edit("lib/session/session_restore.cpp",
             "  if (!read || !only.empty()) {\n",
             "  if (!read) {\n"),
    ], seen_by="Struck.version_is_passed_over_where_one_region_is_asked_for_and_another_one_is_damaged"),

    Mending("a version that a restore no longer finds keeps its slot", [
        Edit("lib/recover/catalog.cpp",
             "    if (!holds) free.push_back(version);\n    return !holds;\n",
             "    if (found == known.end()) return false;\n    if (!holds) free.push_back(version);\n    return !holds;\n"),
    ], seen_by="RemovedStore.holds_no_slots_after_a_restore"),
    Mending("a version that is kept beside those that count keeps its slot", [
        Edit("lib/recover/catalog.cpp",
             "      holds = struck.empty() && std::ranges::find(",
             "      holds = std::ranges::find("),
    ], seen_by="RemovedStore.holds_no_slots_for_what_is_kept_beside_whole_versions"),

    # What cannot be read.
    Mending("a shard that cannot be read where it was brought to strikes its source", [
        Edit("lib/recover/retrieve.cpp",
             "    } else if (good.error().code == Code::io || good.error().code == Code::not_found) {\n",
             "    } else if (false) {\n"),
    ], seen_by="FailingRead.of_what_was_brought_home_has_it_brought_once_more"),
    Mending("what is of a newer format is not refused", [
        Edit("lib/engine/life_start.cpp",
             "      if (!fresh && mine) mine = fail(refusal);\n",
             ""),
    ]),
    Mending("what a newer Cairn wrote in a life without a record is of the past", [
        Edit("lib/recover/unreadable.hpp",
             "(!start_is_known || lives_since.contains(what.run))",
             "lives_since.contains(what.run)"),
    ], seen_by="Newer.is_refused_of_a_life_that_has_no_record_any_more"),
    Mending("a damaged record says nothing", [
        Edit("lib/recover/chain.cpp",
             "      chain.has_snapshots = true;\n      chain.finished = false;\n      continue;",
             "      continue;"),
    ]),
    Mending("a snapshot whose manifest cannot be read is removed as one that was never completed", [
        Edit("lib/recover/inventory.cpp",
             "} else if (there && !there->contains(names::manifest(dir).path)) {",
             "} else if (there) {"),
    ]),
    Mending("a damaged snapshot goes before a newer one is complete at all its levels", [
        Edit("lib/recover/catalog.cpp",
             "  if (id.incarnation != node.incarnation || newer.complete.empty() || reached != "
             "newer.complete) return;\n",
             ""),
    ], seen_by="Damaged.a_manifest_goes_once_a_newer_snapshot_is_complete_at_all_its_levels"),
    Mending("what cannot be read any more at a later restore of a life is nothing", [
        Edit("lib/engine/life_start.cpp",
             "    if (matters(what)) found = std::max(found, what.kind());\n",
             "    if (false) found = std::max(found, what.kind());\n"),
    ], seen_by="Unlistable.snapshots_are_no_reason_to_call_a_later_restore_of_a_life_fresh"),
    Mending("a snapshot that cannot be read keeps no start from being fresh", [
        Edit("lib/engine/restore_offer.cpp",
             "  if (!life_.has_unreadable() || catalog_.chain.finished || life_.began_fresh()) return {};\n",
             "  return {};\n"),
    ], seen_by="Damaged.manifests_and_no_records_are_no_fresh_start"),
    Mending("a record is written before a start is known to be possible", [
        Edit("lib/engine/life_start.cpp",
             "  return check_unreadable(roll);\n",
             "  if (auto status = head_.node.leads() ? write_record() : Status{}; !status) return status;\n"
             "  return check_unreadable(roll);\n"),
    ]),
    Mending("a chain mark that cannot be read now is written over", [
        Edit("lib/engine/life_start.cpp",
             "if (mark_.id.value == 0 && !catalog_.chain.mark_unknown && !roll.mark_unknown) mark_.id",
             "if (mark_.id.value == 0) mark_.id"),
        Edit("lib/engine/life.cpp",
             "if (!recorded_ && !catalog_.chain.mark_unknown && catalog_.chain.mark != mark_)",
             "if (!recorded_ && catalog_.chain.mark != mark_)"),
    ]),
    Mending("a node's chain mark that cannot be read now is written over", [
        Edit("lib/engine/life_start.cpp",
             "if (mark_.id.value == 0 && !catalog_.chain.mark_unknown && !roll.mark_unknown) mark_.id",
             "if (mark_.id.value == 0 && !catalog_.chain.mark_unknown) mark_.id"),
    ]),
    Mending("with a key a store is damaged where its chain mark cannot be read now", [
        Edit("lib/recover/belonging.cpp",
             "of_unknown_chain(why == Code::not_found ? Code::corrupt : why)",
             "of_unknown_chain(Code::corrupt)"),
    ], seen_by="Key.goes_on_from_other_stores_where_a_chain_mark_cannot_be_read_and_keeps_what_is_beside_it"),

    # The end of a chain, and its beginning.
    Mending("finalize after a failed restore ends the chain", [
        Edit("lib/engine/ending.cpp",
             "  if (words[kUndefined] != 0) return {};\n",
             ""),
    ]),
    Mending("finalize of a session that neither restored nor took a snapshot ends the chain", [
        Edit("lib/engine/ending.cpp",
             "  raise(kNothingOwn, has_nothing_of_its_own() ? 1 : 0);\n",
             ""),
    ]),
    Mending("the end raises the newest snapshot known, which may be of another chain", [
        Edit("lib/engine/promoter.cpp",
             "  if (!head_.usable.has(level) || !catalog_.state) return {};\n"
             "  const auto found = catalog_.known.find(*catalog_.state);",
             "  if (!head_.usable.has(level) || catalog_.known.empty()) return {};\n"
             "  const auto found = std::prev(catalog_.known.end());"),
    ]),
    Mending("a fresh start is refused after its record is written", [
        Edit("lib/engine/life.cpp",
             "    head_.node.log.warning(\"{}\", status.error().in(\"unfinished files of earlier runs could not "
             "be removed\").text());\n",
             "    return status;\n"),
    ]),
    Mending("a pin of the first snapshot of a job is forgotten", [
        Edit("lib/engine/seal_desk.cpp",
             "  if (sealing.pin) catalog_.chain.pins.insert(id);\n",
             "  if (sealing.vote.has_pin()) catalog_.chain.pins.insert(id);\n"),
    ], seen_by="Pins.stay_also_of_the_first_snapshot_of_a_job", test="cluster_pins"),
    Mending("a fresh record is delayed beside other snapshots", [
        Edit("lib/engine/life.cpp",
             "  if (parent == RunRecord::Parent::fresh && is_first_) {\n",
             "  if (parent == RunRecord::Parent::fresh) {\n"),
    ], seen_by="Mode.fresh_without_a_snapshot_of_its_own_is_fresh_at_the_next_start_too", test="cluster_runs"),
    Mending("a second restore of a life that began fresh looks behind that", [
        Edit("lib/engine/restore_offer.cpp",
             "if (life_.began_fresh() || (begins_fresh && chosen.value == 0)) return",
             "if (begins_fresh && chosen.value == 0) return"),
    ]),
    Mending("a chain's first snapshot is told to be safe before its record is written", [
        Edit("lib/engine/seal_desk.cpp",
             "  call_vote(version, sealing, head_.node.leads() ? life_.record_first_snapshot() : Status{});\n  return true;",
             "  if (head_.node.leads()) (void)life_.record_first_snapshot();\n  life_.note_first_snapshot();\n"
             "  return false;"),
    ]),
    Mending("a node writes its first manifest before the life is recorded", [
        Edit("lib/engine/seal_desk.cpp",
             "    sealing.step = life_.begun() ? Sealing::Step::seal : Sealing::Step::begin;\n"
             "    call_vote(version, sealing, life_.begun() ? seal_here(version, sealing) : begin_here(sealing));\n",
             "    life_.has_begun();\n    sealing.step = Sealing::Step::seal;\n"
             "    call_vote(version, sealing, seal_here(version, sealing));\n"),
    ], seen_by="FirstSnapshot.is_nothing_that_is_lost_when_one_node_alone_has_sealed_it"),
    Mending("a start is called fresh after regions were overwritten", [
        Edit("lib/engine/restore_offer.cpp",
             "    if (!plan || !nothing_was_sealed()) return plan;\n",
             "    return plan;\n"),
        Edit("lib/engine/restore_offer.cpp",
             "    if (regions_touched_) {\n",
             "    if (false) {\n"),
    ], seen_by="FirstSnapshot.that_was_not_recorded_and_is_damaged_leaves_regions_as_they_are"),
    Mending("node stores of another chain are taken", [
        Edit("lib/recover/belonging.cpp",
             "  if (!mark || (mark->id == id && (known || mark->global == global))) return {};",
             "  if (!mark || known || id.value != 0 || mark->global == global) return {};"),
    ], seen_by="Belonging.a_copy_of_the_job_in_another_directory_is_refused_and_touches_nothing"),

    # Calls that not all ranks make, or not in time.
    Mending("after a wait limit of one rank snapshots of two safe points are sealed as one", [
        Edit("lib/session/snapshot_write.cpp",
             "  if (written) {\n    const auto bytes = try_to_write_shard_of(session, version);\n",
             "  if (!written) {\n    --session.application.last_version.value;\n    return written;\n  }\n"
             "  {\n    const auto bytes = try_to_write_shard_of(session, version);\n"),
        Edit("lib/engine/vote.cpp",
             "if (!all_gave_the_same(kSafePoint)) return",
             "if (false) return"),
        Edit("lib/engine/seal_desk.cpp",
             "    if (sealing.safe_point != seal.safe_point) {",
             "    if (false) {"),
    ]),
    Mending("a rank that left out a snapshot leaves the others waiting", [
        Edit("lib/engine/seal_desk.cpp",
             "      if (!head_.requests.waits(rank)) return false;\n      left_out",
             "      if (!head_.requests.waits(rank) || !head_.ranks.empty()) return false;\n      left_out"),
    ]),
    Mending("the end comes though ranks have not made the same snapshot calls", [
        Edit("lib/engine/ending.cpp",
             "  if (words[kVersion] != ~words[kVersion + 1] || words[kCalls] != ~words[kCalls + 1]) "
             "return compare_calls();\n",
             "  (void)&Ending::compare_calls;\n"),
    ]),
    Mending("the end comes though a rank has dropped its session", [
        Edit("lib/engine/ending.cpp",
             "    if (request.abandoned) raise(kLeft, to_word(head_.left_by(rank, request)));\n",
             ""),
    ]),
    Mending("a rank that is a head drops its session and tells no other head", [
        Edit("lib/engine/engine.cpp",
             "  head_.send_to_other_heads(gone);\n",
             ""),
    ]),
    Mending("restore on some ranks and finalize on others is no error", [
        Edit("lib/engine/seal_desk.cpp",
             "  if (closed_) different_calls_ = closing_->different_calls();\n",
             ""),
    ]),
    Mending("heads that compute raise what was restored before all have voted", [
        Edit("lib/engine/engine.cpp",
             "(heads == Heads::serve || seals_.all_have_voted())",
             "(heads == Heads::serve || heads == Heads::compute)"),
    ]),

    # What is kept.
    Mending("a version goes for a newer one though it is the newest at L2", [
        Edit("lib/recover/retention.cpp",
             "  for (const LevelId level : levels) kept.merge(newest_at(known, level, keep.of(level)));\n",
             "  for (const LevelId level : levels - LevelSet{LevelId::partner})\n"
             "    kept.merge(newest_at(known, level, keep.of(level)));\n"),
    ]),
    Mending("a version goes for a newer one though it is the newest at L3", [
        Edit("lib/recover/retention.cpp",
             "  for (const LevelId level : levels) kept.merge(newest_at(known, level, keep.of(level)));\n",
             "  for (const LevelId level : levels - LevelSet{LevelId::erasure})\n"
             "    kept.merge(newest_at(known, level, keep.of(level)));\n"),
    ]),

    # Stores that are lost, stay full, or are to be given back.
    Mending("what is left of a version's redundancy where a node has lost its part counts for nothing", [
        Edit("lib/recover/inventory.cpp",
             "      else if (there.count == nodes_ || redundancy.has(level))\n",
             "      else if (there.count == nodes_ || (redundancy.has(level) && nodes_ == 0))\n"),
    ], seen_by="Struck.version_that_cannot_be_made_redundant_again_does_not_go_for_one_that_is_not"),
    Mending("a version that could not be rebuilt at a level where it never was displaces one that was", [
        Edit("lib/engine/promoter.cpp",
             "    known.rebuild_failed = true;\n",
             "    known.rebuild_failed = true;\n    known.struck.add(level);\n"),
    ], seen_by="Struck.version_that_cannot_be_made_redundant_again_does_not_take_one_along_that_has_lost_less"),
    Mending("a later restore that finds nothing is a fresh start, where no record told of what the first went on from", [
        Edit("lib/engine/restore_offer.cpp",
             "  if (left_some || life_.has_snapshots()) {\n",
             "  if (left_some || (life_.began_fresh() && life_.has_snapshots())) {\n"),
    ], seen_by="LostRecords.make_no_fresh_start_of_a_later_restore_that_finds_nothing"),
    Mending("what a store has lost while the job runs still counts as complete", [
        Edit("lib/engine/seal_desk.cpp",
             "  for (const Version version : losses.versions) vote.note_lost(version);\n",
             "  (void)vote;\n"),
    ], seen_by="RemovedStore.of_one_version_only_is_no_reason_to_retire_an_older_one"),
    Mending("a version whose directory was removed is whole as soon as a promotion has made it again", [
        Edit("lib/recover/catalog.cpp",
             "is_there(dir, names::manifest(dir))",
             "is_there(DirName{}, FileName{dir.path})"),
    ], seen_by="RemovedStore.of_one_version_only_is_no_reason_to_retire_an_older_one"),
    Mending("a node store that was removed is not marked again", [
        Edit("lib/engine/seal_desk.cpp",
             "  if (losses.mark) life_.lose_mark();\n",
             ""),
    ], seen_by="RemovedStore.is_marked_again_as_one_of_the_same_chain"),
    Mending("a global store that was lost under way has no record again", [
        Edit("lib/engine/life.cpp",
             "  if (!head_.node.leads() || !recorded_) return {};\n",
             "  if (head_.node.leads() || !head_.node.leads()) return {};\n"),
    ], seen_by="Key.counts_in_a_global_store_that_was_lost_under_way"),
    Mending("the slot of a retired file that cannot be removed is not given back", [
        Edit("lib/recover/catalog.cpp",
             "  std::vector<Version> free = take_free_slots(old);\n",
             "  std::vector<Version> free = take_free_slots();\n"),
    ], seen_by="BackPressure.waits_for_no_slot_that_the_store_does_not_give_back"),
    Mending("what killed writers have left in the global store stays", [
        Edit("lib/engine/life.cpp",
             "  if (auto status = remove_partial(*head_.node.global, catalog_.chain, record_.run); !status) {",
             "  if (false) {\n"
             "    const Status status = remove_partial(*head_.node.global, catalog_.chain, record_.run);"),
    ]),
    Mending("snapshots that were never completed stay", [
        Edit("lib/recover/catalog.cpp",
             "  for (const DirName& orphan : contents.orphans) warn(retire(orphan));\n",
             ""),
    ]),
    Mending("what L4 has goes before its successor is in place", [
        Edit("lib/level/global_level.cpp",
             "  if (is_whole(node, dir, *global)) return node.global->remove_directory(partial);\n",
             "  (void)is_whole;\n"),
    ], seen_by="GlobalLevel.that_is_written_again_is_whole_at_every_moment"),

    # Labels and attributes. No mending of the past.
    Mending("a label is taken again in each life", [
        Edit("lib/engine/restore_offer.cpp",
             "(request.label.empty() || request.label == label) ? 0U : 1U};\n",
             "request.label == label && false ? 0U : 1U};\n"),
    ], seen_by="Choice.by_a_label_is_not_taken_again_even_if_a_newer_snapshot_has_it", test="cluster_choice"),
    Mending("ranks of different nodes may set different labels", [
        Edit("lib/engine/seal_desk.cpp",
             "    sealing.notes.put_into(sealing.vote);\n",
             ""),
    ], seen_by="Notes.that_differ_between_ranks_are_refused_by_name", test="cluster_notes"),
    Mending("a node whose store was lost does not learn the label of what it restores", [
        Edit("lib/engine/restore_adopt.cpp",
             "  known.manifest.notes.fill_from(notes_);\n",
             ""),
    ], seen_by="Notes.reach_a_node_whose_store_was_lost_and_the_levels_that_are_rebuilt", test="cluster_notes"),
    # Pins. No mending of the past.
    Mending("a pin is ignored", [
        Edit("lib/recover/retention.cpp",
             "  std::erase_if(others, &KnownSnapshot::pinned);\n",
             ""),
    ], seen_by="Pins.stay_in_the_global_store_beside_those_that_are_kept", test="cluster_pins"),
    Mending("a pin is written after its snapshot", [
        Edit("lib/engine/promoter.cpp",
             "life_.renew_records().and_then([&] { return keep_pin(known); }).and_then([&] {\n",
             "life_.renew_records().and_then([&] {\n"),
        Edit("lib/engine/promoter.cpp",
             "  if (status) status = strategy(level).protect(head_.heads, head_.node, known.manifest, turn);\n",
             "  if (status) status = strategy(level).protect(head_.heads, head_.node, known.manifest, turn);\n"
             "  if (status && !in_manifest) status = agree(head_.heads, keep_pin(known), \"node\");\n"),
    ], seen_by="Pins.crash_at_any_store_operation_leaves_a_snapshot_at_l4_pinned", test="cluster_pins"),
    # A version that was chosen. No mending of the past.
    Mending("a choice is taken again in each life", [
        Edit("lib/engine/restore_offer.cpp",
             "const bool may_be_taken = request.at_start && !request.again;\n",
             "const bool may_be_taken = request.at_start && !request.again && false;\n"),
    ], seen_by="Choice.is_not_taken_again_by_the_same_call_in_a_later_life", test="cluster_choice"),
    Mending("the abandoned branch is restored", [
        Edit("lib/recover/plan.cpp",
             "  return request.branch.has(snapshot) || request.branch.has_rejected(snapshot);\n",
             "  return true;\n"),
    ], seen_by="Choice.holds_in_later_lives_also_if_no_snapshot_of_the_branch_was_taken", test="cluster_choice"),
    Mending("a snapshot of the abandoned branch keeps its level while one of the branch is there", [
        Edit("lib/recover/retention.cpp",
             "      if (whole == 0) kept.insert(snapshot->identity);\n",
             "      kept.insert(snapshot->identity);\n"),
    ], seen_by="Choice.retires_abandoned_versions_level_by_level", test="cluster_choice"),

    # Layouts.
    Mending("nodes that have changed places have the layout of before", [
        Edit("lib/engine/engine_open.cpp",
             "  head_.node.layout.arrangement = roll.arrangement;\n",
             ""),
    ]),
    Mending("a restore that fails, since it cannot be recorded, drops what there was by an earlier layout", [
        Edit("lib/engine/restore_adopt.cpp",
             "  if (auto status = record(plan.snapshot); !status) return status;\n  catalog_.state = plan.snapshot;\n",
             "  if (auto status = record(plan.snapshot); !status) unrecorded = status;\n"
             "  catalog_.state = plan.snapshot;\n"),
        Edit("lib/engine/restore_adopt.cpp",
             "  const LevelId own = head_.node.levels.of_own_shards();\n",
             "  const LevelId own = head_.node.levels.of_own_shards();\n  Status unrecorded;\n"),
        Edit("lib/engine/restore_adopt.cpp",
             "  promoter_.add(known);\n  return {};\n",
             "  promoter_.add(known);\n  return unrecorded;\n"),
    ], seen_by="Migration.that_could_not_be_recorded_removes_nothing"),
    Mending("parity of an older layout goes when only copies were rebuilt", [
        Edit("lib/recover/catalog.cpp",
             "  const LevelSet renewed = redundancy & snapshot.today;\n",
             "  const LevelSet renewed = redundancy;\n"),
    ], seen_by="Migration.keeps_the_old_parity_when_only_copies_are_built"),
    Mending("a version of another number of ranks is refused though it is not whole", [
        Edit("lib/recover/plan.cpp",
             "      if (one.missing.empty()) return fail(wrong_number_of_ranks(",
             "      return fail(wrong_number_of_ranks("),
    ], seen_by="Plan.passes_over_another_number_of_ranks_that_is_not_whole"),

    # Another number of ranks. No mending of the past: what the tests would have to find.
    Mending("a snapshot of another number of ranks becomes a part of today's layout", [
        Edit("lib/engine/restore_desk.cpp",
             "  } else if (status && plan_ && plan_->of_other_ranks) {",
             "  } else if (status && plan_ && plan_->of_other_ranks && head_.ranks.empty()) {"),
    ]),
    Mending("a life that goes on from another number of ranks does not record it", [
        Edit("lib/engine/restore_adopt.cpp",
             "  if (auto status = record(plan.snapshot); !status) return status;\n  catalog_.state.reset();\n",
             "  catalog_.state.reset();\n"),
    ]),
    Mending("a snapshot of another number of ranks goes as soon as the next one is sealed, before that has its levels", [
        Edit("lib/engine/seal_desk.cpp",
             "  catalog_.of_other_ranks.reset();\n",
             "  if (const auto old = std::exchange(catalog_.of_other_ranks, {}))\n"
             "    (void)catalog_.retire(head_.node.dir(*old));\n"),
    ], seen_by="Elastic.goes_back_to_the_old_snapshot_if_the_new_one_is_lost_with_a_node", test="cluster_elastic"),
    Mending("what was brought for another number of ranks stays in node stores", [
        Edit("lib/engine/restore_desk.cpp",
             "std::exchange(retrieval().brings_aside, false)) remove_brought(head_.node);",
             "std::exchange(retrieval().brings_aside, false)) return;"),
    ], seen_by="Elastic.leaves_nothing_behind_of_what_was_brought"),
    Mending("a version that is removed while it is restored counts as kept", [
        Edit("lib/engine/restore_adopt.cpp",
             "  if (has_shards(head_.node, known.manifest.identity, *holding->own)) return {};\n",
             "  if (has_shards(head_.node, known.manifest.identity, *holding->own) || holding) return {};\n"),
    ], seen_by="Struck.version_that_is_removed_while_it_is_restored_does_not_take_an_older_one_along", test="cluster_struck"),
    Mending("what was brought for a snapshot that then could not be read stays in node stores", [
        Edit("lib/recover/retrieve.cpp",
             "      if (std::exchange(state.brings_aside, false)) remove_brought(node);\n",
             "      state.brings_aside = false;\n"),
    ], seen_by="Elastic.leaves_nothing_behind_of_what_was_brought_for_a_snapshot_that_then_could_not_be_read",
            test="cluster_elastic"),
    Mending("after a restore on another number of ranks, the next snapshot is taken when one is due", [
        Edit("lib/schedule/schedule.cpp",
             "  due.add(std::exchange(required_, {}));\n",
             ""),
    ], seen_by="Elastic.takes_the_next_snapshot_for_the_levels_of_the_old_one"),
    Mending("after an exchange of regions, only lost ranks roll back, and wait for others to exchange regions again", [
        Edit("lib/session/session_restore.cpp",
             "if (taken.exchanged) obstruct(",
             "if (taken.exchanged && !state_.logged) obstruct("),
    ], seen_by="ElasticReport.lets_a_failure_roll_back_all_ranks_until_there_is_a_snapshot_of_their_number"),
    Mending("finalize() ends the chain of a snapshot of another number of ranks that nothing has replaced", [
        Edit("lib/engine/ending.cpp",
             "  if (const auto& old = catalog_.of_other_ranks) {",
             "  if (const auto& old = catalog_.of_other_ranks; old && words[kLeft] != 0) {"),
    ]),
    Mending("shards stay on heads without ranks, where nobody reads them", [
        Edit("lib/recover/shard_homes.cpp",
             "return head.value < shards_.size() && !today_.ranks_on(NodeId{head.value}).empty();",
             "return head.value < shards_.size();"),
    ], seen_by="PlanOfOtherRanks.takes_shards_from_heads_without_ranks_to_nodes_with_ranks"),
    Mending("on another number of ranks, copies are brought to the nodes that have them", [
        Edit("lib/recover/plan.cpp",
             "      if (found[rank] && !found[rank]->in_place()) found[rank].reset();\n",
             ""),
    ], seen_by="PlanOfOtherRanks.brings_copies_of_lost_nodes_to_nodes_that_need_them"),
    Mending("shards that lie on no node go to a node that needs none of them", [
        Edit("lib/recover/shard_homes.cpp",
             "(2 * std::uint64_t{old.value} + 1) * ranks",
             "(2 * (old_ranks_ - old.value) - 1) * ranks"),
    ], seen_by="ShardHomes.need_more_of_a_shard_than_any_other_node"),
    Mending("on another number of ranks, the first rank without a larger share of a sequence gets one element too many", [
        Edit("lib/reshape/tiles.cpp",
             "least + (part < larger ? 1 : 0)",
             "least + (part <= larger ? 1 : 0)"),
    ], seen_by="Reshape.brings_each_element_to_its_place_for_all_numbers_of_ranks"),
    Mending("on another number of ranks, an element comes from the highest rank that owns it", [
        Edit("lib/reshape/tile_match.cpp",
             "std::ranges::stable_sort(touching, {}, [](const OldBox* one) { return one->old_rank; });",
             "std::ranges::stable_sort(touching, std::greater{}, [](const OldBox* one) { return one->old_rank; });"),
    ], seen_by="TileMatch.takes_each_element_from_the_lowest_owner_and_compares_the_others"),
    Mending("on another number of ranks, what lies one element behind a box is left out", [
        Edit("lib/reshape/box.cpp",
             "    if (common->end(d) < left.end(d)) {",
             "    if (common->end(d) + 1 < left.end(d)) {"),
    ], seen_by="Reshape.brings_each_element_to_its_place_for_all_numbers_of_ranks"),
    Mending("on another number of ranks, old ghosts behind a block count as its data", [
        Edit("lib/reshape/placement.cpp",
             "static_cast<std::int64_t>(shape[d]) ? 0 : at(ghosts, d);",
             "static_cast<std::int64_t>(shape[d]) ? 0 : 0 * at(ghosts, d);"),
    ], seen_by="Reshape.brings_each_element_to_its_place_for_all_numbers_of_ranks"),
    Mending("on another number of ranks, two old ranks of one directory have the same place in a sequence", [
        Edit("lib/reshape/rank_directory_numbers.cpp",
             "    add(*before, counts_of(filed_[i]));\n",
             ""),
    ], seen_by="Reshape.brings_each_element_to_its_place_for_all_numbers_of_ranks"),
    Mending("on another number of ranks, places in a sequence count only the last few directories", [
        Edit("lib/reshape/rank_directory_numbers.cpp",
             "      std::vector<std::uint64_t> sums = before;\n      add(sums, mine);\n",
             "      std::vector<std::uint64_t> sums = mine;\n"),
    ], seen_by="Reshape.brings_each_element_to_its_place_for_all_numbers_of_ranks"),
    Mending("on another number of ranks, elements that two old ranks own are not compared", [
        Edit("lib/reshape/customer.cpp",
             "    list_errands(true);\n",
             "    left_ = 0;\n"),
    ], seen_by="ReshapeMismatch.of_values_that_are_to_be_equal"),
    Mending("on another number of ranks, an exchange of letters ends before all have arrived", [
        Edit("lib/reshape/post.cpp",
             "  return sum_ == 0;\n",
             "  return true;\n"),
    ], seen_by="Post.brings_each_letter_of_a_round_and_no_other"),
    Mending("an export takes a shard that is whole, but not the one that its manifest names", [
        Edit("lib/inspect/snapshot_reader.cpp",
             "  if (const Sha256 is = sha256(*frame); is != expected.digest)\n",
             "  if (const Sha256 is = sha256(*frame); is != expected.digest && frame->empty())\n"),
    ], seen_by="Export.reads_around_damage"),
    Mending("an export ends at the first damaged block, though another level has the data", [
        Edit("lib/inspect/snapshot_reader.cpp",
             "  return !again ? status : read_now(rank, region, parts);\n",
             "  return again ? status : status;\n"),
    ], seen_by="Export.reads_around_damage"),
    Mending("an export says of elements that nobody has that they are zero", [
        Edit("tools/ckpt-tool/export_copier.cpp",
             "        if (one->has_gaps) fill_with_nothing(one->info, *bytes);\n",
             "        if (one->has_gaps && !one->whole) fill_with_nothing(one->info, *bytes);\n"),
    ], seen_by="Export.leaves_lost_ranks_out_if_asked"),
    Mending("a copy is put where a run has continued", [
        Edit("lib/inspect/snapshot_copy.cpp",
             "    if (is_own || is_known) continue;\n",
             "    if (is_own || is_known || run) continue;\n"),
    ], seen_by="Copies.are_refused_where_a_run_has_continued", test="cluster_copy"),
    Mending("a copy ends at the first damaged file, though another level has the data", [
        Edit("lib/inspect/snapshot_copy.cpp",
             "      if (!report && reader_.find_good_sources(report.error()) && reader_.missing().empty())\n"
             "        report = write_node(dir, NodeId{i});\n",
             ""),
    ], seen_by="Copies.pass_over_a_damaged_source", test="cluster_copy"),
    Mending("prune counts snapshots that are not recoverable, and takes the last one that is", [
        Edit("lib/inspect/removal.cpp",
             "    if (stored.usable) one.complete.add(kRecoverable);\n",
             "    one.complete.add(kRecoverable);\n"),
    ], seen_by="Removals.by_prune_do_not_count_what_a_lost_node_has_made_unrecoverable", test="cluster_removal"),
    Mending("delete takes the last recoverable snapshot without --force", [
        Edit("lib/inspect/removal.cpp",
             "(loses_usable && !keeps_usable) || (loses_any && plan_.kept.empty());\n",
             "loses_usable && loses_any && keeps_usable;\n"),
    ], seen_by="Removals.tell_that_no_snapshot_would_be_left", test="cluster_removal"),
    Mending("delete removes files before the manifests that name them", [
        Edit("lib/inspect/removal.cpp",
             "      if (part.holder.is_shared() || !part.has_manifest) continue;\n",
             "      if (part.holder.is_shared() || part.has_manifest) continue;\n"),
    ], seen_by="Removals.that_crash_at_any_store_operation_leave_what_is_listed_whole", test="cluster_removal"),
    Mending("prune removes a snapshot of which a manifest has a newer format", [
        Edit("lib/inspect/removal.cpp",
             "    if (stored.unjudged) return plan_.spared.push_back(*stored.unjudged);\n",
             ""),
    ], seen_by="Remove.never_touches_what_it_cannot_judge"),
    Mending("delete does not hold the locks of the stores", [
        Edit("tools/ckpt-tool/locked_stores.cpp",
             "    locked.locks.push_back(std::move(*lock));\n",
             ""),
    ], seen_by="Remove.holds_the_locks_while_it_removes"),
    Mending("blocks of a global array are joined one below the other", [
        Edit("lib/format/joined_regions.cpp",
             "  if (!in_one_array) return join_in_order(regions);\n",
             "  if (!in_one_array || regions.size() > 1) return join_in_order(regions);\n"),
    ], seen_by="JoinedRegions.lie_where_their_places_say"),
    Mending("on another number of ranks, a directory of columns is cut into rows", [
        Edit("lib/reshape/tiles.cpp",
             "      if (counts_[d] > shape_[d] / 2) continue;\n",
             "      if (d > 0 || counts_[d] > shape_[d] / 2) continue;\n"),
    ], seen_by="ReshapeFlow.messages_of_a_rank_do_not_grow_with_the_number_of_ranks"),
    Mending("on another number of ranks, a rank that holds much answers all orders at once", [
        Edit("lib/reshape/supplier.cpp",
             "(in_flight_ > 0 && in_flight_ + kOrderBytes > kBytesInFlight)) return moved;",
             "(in_flight_ > 0 && in_flight_ + kOrderBytes > kBytesInFlight * 99)) return moved;"),
    ], seen_by="ReshapeFlow.rank_that_holds_all_sends_64_MiB_at_once_at_most"),
    Mending("on another number of ranks, a rank that wants much orders all at once", [
        Edit("lib/reshape/customer.cpp",
             "in_flight_ + kOrderBytes <= kBytesInFlight)) {",
             "in_flight_ + kOrderBytes <= kBytesInFlight * 99)) {"),
    ], seen_by="ReshapeFlow.rank_that_wants_all_has_64_MiB_under_way_at_most"),
    Mending("on another number of ranks, parts that leave a gap are taken", [
        Edit("lib/reshape/tile_match.cpp",
             "  if (covered == tile.elements()) return {};\n",
             "  if (covered <= tile.elements()) return {};\n"),
    ], seen_by="ReshapeMismatch.of_parts_that_overlap_leave_a_gap_or_lie_outside"),
    Mending("on another number of ranks, a sequence of several numbers for each element is cut as if it had one", [
        Edit("lib/reshape/wants.cpp",
             "    return {first * factor, count * factor};\n",
             "    return {first, factor == 0 ? 0 : count};\n"),
    ], seen_by="Reshape.brings_each_element_to_its_place_for_all_numbers_of_ranks"),
    Mending("on another number of ranks, a box that cannot be read counts as read", [
        Edit("lib/reshape/order.cpp",
             "    is_bad[i] = std::byte{1};\n",
             ""),
    ], seen_by="ReshapeFault.region_that_cannot_be_read_is_found_by_each_way_to_it"),
    Mending("on another number of ranks, elements of a rank of the same node are ordered all the same", [
        Edit("lib/reshape/plan.cpp",
             "      if (is_sequence && source.begins.size() == 1)\n",
             "      if (is_sequence && source.begins.size() != 1)\n"),
    ], seen_by="Elastic.sends_no_elements_between_ranks_of_a_node"),
    Mending("on another number of ranks, what a rank reaches is read whatever its table says", [
        Edit("lib/reshape/customer.cpp",
             "held->owned.first == source.begins && contains(held->array.box, source.box);",
             "held->owned.first == source.begins;"),
    ], seen_by="ReshapeFlow.orders_what_is_odd_from_its_holder"),
    Mending("on another number of ranks, a piece that cannot be read counts as read", [
        Edit("lib/reshape/customer.cpp",
             "  if (!status) note(unreadable(",
             "  if (!status && piece.source->same_as) note(unreadable("),
    ], seen_by="ReshapeFault.region_that_cannot_be_read_is_found_by_each_way_to_it"),
    Mending("on another number of ranks, memory is touched before all know that all fits", [
        Edit("lib/reshape/plan.cpp",
             "  auto unread = agree_on(comm_, values->finding);\n  if (!unread || *unread) return unread;\n",
             ""),
    ], seen_by="ReshapeFault.region_of_equal_values_that_cannot_be_read_ends_all_before_memory_is_touched"),

    # Only the lost ranks roll back.
    Mending("a failure that strikes a call of the session makes all ranks roll back", [
        Edit("lib/logged/journaled_rank.cpp",
             "error.code == Code::communication && repairs_.stays();",
             "error.code == Code::communication && false;"),
    ], seen_by="Stay.comes_to_the_same_result_whichever_operation_a_rank_dies_at", test="cluster_stay"),
    Mending("a replacement takes snapshots again in calls that others have made", [
        Edit("lib/logged/journaled_rank.hpp",
             "return call <= journal_.past();",
             "return call < journal_.past();"),
    ], seen_by="Stay.comes_to_the_same_result_whichever_operation_a_rank_dies_at", test="cluster_stay"),
    Mending("a log is cut at a snapshot that is not safe", [
        Edit("lib/session/session_stay.cpp",
             "[&](LevelId level) { return state_.link().reached(level); });\n}\n\n// A replacement",
             "[&](LevelId) { return state_.application.last_version; });\n}\n\n// A replacement"),
    ], seen_by="Stay.comes_to_the_same_result_whichever_operation_a_rank_dies_at", test="cluster_stay"),
    Mending("survivors do not ship what the dead rank exchanged before restore()", [
        Edit("lib/logged/journaled_rank_settle.cpp",
             "    if ((*told)[rank].front() != std::byte{0}) out[rank] = journal_.prologue_for(rank);\n",
             "    if ((*told)[rank].front() == std::byte{2}) out[rank] = journal_.prologue_for(rank);\n"),
    ], seen_by="Stay.comes_to_the_same_result_whichever_operation_a_rank_dies_at", test="cluster_stay"),
    Mending("messages that do not match after a failure are not noticed", [
        Edit("lib/logged/journaled_rank.cpp",
             "  if (sum == 0) {\n    journal_.is_checked();\n",
             "  if (sum != 1) {\n    journal_.is_checked();\n"),
    ], seen_by="Stay.lets_all_ranks_roll_back_when_a_replacement_diverges", test="cluster_stay"),
    Mending("a rank that is replaced on another node does not get the record of what it received from any rank", [
        Edit("lib/logged/choice_record.cpp",
             "agreement.stamp, epoch)) out[rank] = encode(*found);\n",
             "agreement.stamp + 1, epoch)) out[rank] = encode(*found);\n"),
    ], seen_by="Stay.comes_to_the_same_result_when_the_replacement_is_on_another_node", test="cluster_stay"),
    Mending("ranks do not know when their records of receives from any rank began", [
        Edit("lib/logged/choice_record.cpp",
             "  journal_.has_stamp(stamp);\n",
             ""),
    ], seen_by="Stay.comes_to_the_same_result_when_the_replacement_is_on_another_node", test="cluster_stay"),
    Mending("ranks do not tell senders what they received from any rank before restore()", [
        Edit("lib/logged/journaled_rank_settle.cpp",
             "  journal_.prologue().keep_choices(std::move(*choices));\n",
             ""),
    ], seen_by="StaySeeds.come_to_the_same_results", test="cluster_stay"),
    Mending("a replacement sends again what others have received", [
        Edit("lib/replay/catch_up.cpp",
             "  if (had == content || compares_ == Compares::numbers) return false;\n",
             "  if (had == content || compares_ == Compares::numbers) return true;\n"),
    ], seen_by="Stay.comes_to_the_same_result_whichever_operation_a_rank_dies_at", test="cluster_stay"),
    Mending("survivors send again what the other survivors have received", [
        Edit("lib/replay/catch_up.cpp",
             "      if (there == theirs.end() || !there->second.contains(entry.place)) lost.push_back({lane, entry.place});\n",
             "      if (there == theirs.end() || entry.place < UINT64_MAX) lost.push_back({lane, entry.place});\n"),
    ], seen_by="Stay.comes_to_the_same_result_whichever_operation_a_rank_dies_at", test="cluster_stay"),
    Mending("survivors do not send again what was under way to other survivors", [
        Edit("lib/replay/journal.cpp",
             "    again.insert(again.end(), lost.begin(), lost.end());\n",
             ""),
    ], seen_by="Stay.comes_to_the_same_result_whichever_operation_a_rank_dies_at", test="cluster_stay"),
    Mending("a replacement that catches up sends nothing again to another one", [
        Edit("lib/replay/journal.cpp",
             "    for (const std::uint32_t peer : agreement.replaced) catch_up_->forget_receipts_of(peer);\n",
             "    for (const std::uint32_t peer : agreement.replaced) (void)peer;\n"),
    ], seen_by="Stay.comes_to_the_same_result_whenever_another_rank_dies_while_a_replacement_catches_up",
       test="cluster_stay"),
    Mending("what was shipped to a replacement is sent to it once more in the next failure", [
        Edit("lib/replay/journal.cpp",
             "  if (catch_up_)\n    for (const auto& [lane, waiting] : catch_up_->waiting_from(peer)) {\n",
             "  if (catch_up_ && epoch == UINT64_MAX)\n    for (const auto& [lane, waiting] : catch_up_->waiting_from(peer)) {\n"),
    ], seen_by="Stay.comes_to_the_same_result_whenever_another_rank_dies_while_a_replacement_catches_up",
       test="cluster_stay"),
    Mending("messages are numbered on over snapshot() calls", [
        Edit("lib/replay/journal.cpp",
             "  receives_.enter(call);\n  look_whether",
             "  look_whether"),
    ], seen_by="Stay.comes_to_the_same_result_whichever_operation_a_rank_dies_at", test="cluster_stay"),
    Mending("calls of ranks that have died since an earlier failure are forgotten", [
        Edit("lib/replay/standing.cpp",
             "std::max({agreement.newest, standing.calls, standing.past});",
             "std::max({agreement.newest, standing.calls});"),
    ], seen_by="Stay.comes_to_the_same_result_whenever_another_rank_dies_while_a_replacement_catches_up",
       test="cluster_stay"),
    Mending("what a receive from any rank has got is not recorded", [
        Edit("lib/replay/choices.cpp",
             "  entry.got = choice;\n  write(half_, place - first_, entry);\n",
             "  entry.got = choice;\n"),
    ], seen_by="Stay.comes_to_the_same_result_when_the_replacement_is_on_another_node", test="cluster_stay"),
    Mending("a replacement does not keep the snapshots that others have taken", [
        Edit("lib/replay/journal.cpp",
             "  taken_ = agreement.taken;\n",
             ""),
    ], seen_by="Stay.comes_to_the_same_result_whichever_operation_a_rank_dies_at", test="cluster_stay"),
    Mending("ranks die in catch-ups again and again", [
        Edit("lib/repair/roles.cpp",
             "    roster_[*who].catch_ups = hole.catch_ups + 1;\n",
             "    roster_[*who].catch_ups = 1;\n"),
    ], seen_by="Stay.lets_all_ranks_roll_back_when_two_replacements_in_a_row_die_before_they_have_caught_up",
       test="cluster_stay"),
    Mending("ranks that wait for each other after a failure wait for ever", [
        Edit("lib/replay/deadlock_check.cpp",
             "none_can_continue();\n    stage_",
             "false;\n    stage_"),
    ], seen_by="Stay.lets_all_ranks_roll_back_when_a_replacement_diverges", test="cluster_stay"),
    Mending("a replacement whose record of receives from any rank is lost receives whatever comes", [
        Edit("lib/logged/choice_record.cpp",
             "  if (!known) journal_.choices().knows_nothing();\n",
             ""),
    ], seen_by="StayLost.lets_all_ranks_roll_back_where_what_a_lost_rank_has_received_is_not_known",
       test="cluster_stay"),
    Mending("a log that is to survive the loss of nodes is cut at a snapshot at L1", [
        Edit("lib/logged/journaled_rank.cpp",
             "    if (level > LevelId::local || !survives_nodes) safe",
             "    if (level >= LevelId::local || !survives_nodes) safe"),
    ], seen_by="Stay.comes_to_the_same_result_when_a_node_is_lost", test="cluster_stay"),
    Mending("what helpers have sent for a replacement is not in its log", [
        Edit("lib/replay/journal.cpp",
             "    balance_.sent(me_, number, {payload.size(), crc32c(payload)});\n    logged_",
             "    logged_"),
    ], seen_by="StayHelped.comes_to_the_same_result_whichever_operation_a_rank_dies_at", test="cluster_stay"),
    Mending("a survivor that could not join the repaired world votes that it can continue", [
        Edit("lib/rollback/repairs.cpp",
             "host_.vote(ok && phase_ == Phase::joined, {});",
             "host_.vote(phase_ == Phase::joined, {});"),
    ], seen_by="RepairsTest.rank_that_cannot_join_the_repaired_world_votes_so_and_raises_the_alarm", test="unit_rollback"),
    Mending("a rank that has voted votes again in the same life", [
        Edit("lib/rollback/repairs.cpp",
             "  if (phase_ == Phase::voted) return;\n  (void)host_",
             "  (void)host_"),
    ], seen_by="RepairsTest.rank_that_cannot_join_the_repaired_world_votes_so_and_raises_the_alarm", test="unit_rollback"),
    Mending("a rank with an obstacle does not tell the others why", [
        Edit("lib/rollback/repairs.cpp",
             "  vote.obstacle = std::exchange(obstacle_, {});\n",
             ""),
    ], seen_by="RepairsTest.rank_with_an_obstacle_leaves_its_call_and_tells_why_at_the_meeting", test="unit_rollback"),

    # Meetings after a failure.
    Mending("processes wait in a meeting for one that a death has struck there", [
        Edit("lib/repair/pool_meeting.cpp",
             "  if (!team) life.pool->revoke();\n",
             ""),
    ], seen_by="Meeting.comes_to_one_pool_whichever_operation_of_it_another_process_dies_at", test="cluster_meeting"),
    Mending("a process takes the new pool although another one has none", [
        Edit("lib/repair/pool_meeting.cpp",
             "  if (!word || word->word != 1) return false;\n",
             "  if (!word || !team) return false;\n"),
    ], seen_by="Meeting.comes_to_one_pool_whichever_operation_of_it_another_process_dies_at", test="cluster_meeting"),
    Mending("processes that an agreement has missed wait for it for ever", [
        Edit("lib/repair/pool_meeting.cpp",
             "  if (word->word == kRepair) life.team.alarm->revoke();\n",
             ""),
    ], seen_by="Meeting.reaches_members_that_an_agreement_has_missed", test="cluster_meeting"),
    Mending("a process keeps its number in the pool of before", [
        Edit("lib/repair/pool_meeting.cpp",
             "  life.me = static_cast<std::uint32_t>(std::ranges::find(decision.live, life.me) - decision.live.begin());\n",
             ""),
    ], seen_by="Meeting.comes_to_one_pool_whichever_operation_a_process_dies_at", test="cluster_meeting"),
    Mending("the processes of a pool are those of before", [
        Edit("lib/repair/pool_meeting.cpp",
             "  life.processes = decision.processes;\n",
             ""),
    ], seen_by="Meeting.comes_to_one_pool_whichever_operation_a_process_dies_at", test="cluster_meeting"),
    Mending("processes wait for ever for one whose death MPI never reports", [
        Edit("lib/repair/unreported_deaths.cpp",
             "    if (now - since < kLongestUnreported) continue;\n",
             "    if (now - since >= std::chrono::seconds(0)) continue;\n"),
    ], seen_by="Meeting.ends_the_job_if_mpi_never_reports_a_death", test="cluster_meeting"),
    Mending("new processes are started again and again though none lives", [
        Edit("lib/repair/growth.cpp",
             "      ++state.failed_growths;\n",
             ""),
    ], seen_by="Growth.ends_the_job_on_all_processes_if_no_new_one_ever_lives", test="cluster_meeting"),
    Mending("a process that does not come to a repair is waited for", [
        Edit("lib/repair/muster.cpp",
             "    if (!neighbour.has_joined && !host_.is_gone(neighbour.process)) end(neighbour);\n",
             "    if (neighbour.has_joined && !host_.is_gone(neighbour.process)) end(neighbour);\n"),
    ], seen_by="Meeting.kills_and_replaces_those_that_do_not_come", test="cluster_meeting"),
    Mending("a new process does not know which snapshot the job has come to", [
        Edit("lib/repair/pool_state.cpp",
             "  state.progress = in.get<std::uint32_t>();\n",
             "  (void)in.get<std::uint32_t>();\n"),
    ], seen_by="Growth.replaces_new_processes_that_die_at_any_operation", test="cluster_meeting"),
    Mending("some processes start new ones while others, which a death has struck, cannot", [
        Edit("lib/repair/pool_meeting.cpp",
             "  if (!may_grow(config_.recovery)) return mine;\n",
             "  if (may_grow(config_.recovery) || !mine) return mine;\n"),
    ], seen_by="Growth.replaces_survivors_that_die_at_any_operation_of_it", test="cluster_meeting"),
    Mending("a host that takes no new process is not remembered", [
        Edit("lib/repair/growth.cpp",
             "      state.closed_hosts.insert(host);\n      continue;\n",
             "      return false;\n"),
    ], seen_by="Growth.starts_new_processes_elsewhere_if_a_host_takes_none", test="cluster_meeting"),
    Mending("the last process that knows why all roll back gives the reason, and not the first", [
        Edit("lib/repair/decision.cpp",
             "    if (one.reason > decision.best_reason) decision",
             "    if (one.reason >= decision.best_reason) decision"),
    ], seen_by="Decision.lets_the_first_process_that_knows_the_reason_give_it", test="unit_decision"),
    Mending("it is not counted that repairs bring no newer snapshot", [
        Edit("lib/repair/decision.cpp",
             "decision.restored > state.progress ? 0",
             "decision.restored >= state.progress ? 0"),
    ], seen_by="Decision.counts_repairs_that_find_no_dead_process_and_those_without_a_newer_snapshot",
       test="unit_decision"),
]
