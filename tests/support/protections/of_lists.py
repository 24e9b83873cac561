"""Read lists: what keeps unread records off them, and lists from where they would be wrong."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from offset_sync.state.committed_offsets import ClusterOffsets
from offset_sync.translate import read_list
from offset_sync.translate.replication_gap import NEVER_YOUNG
from protections.entry import Protection, Seed, kept_by, nothing, yes

_LIST, _LISTS = "offset_sync.translate.read_list.", "offset_sync.sync.read_lists.ReadLists."
_STATE, _CROSSED = "offset_sync.state.", "offset_sync.cutover.crossed.CrossedPartition."
_OF_LIST = "tests/unit/translate/test_read_list.py::test_"
_OF_TEXT = "tests/unit/translate/test_read_list_text.py::test_each_text_of_the_corpus_is_read_as_it_says"
_OF_LISTS = "tests/unit/sync/test_read_lists.py::test_"
_OF_MOVES = "tests/unit/cutover/test_skip_read.py::test_"
_OF_CONSUMERS = "tests/unit/consumer/test_python_polls.py::test_"
_OF_HISTORIES = "tests/simulation/test_histories.py::test_a_history_keeps_the_promise"
_OFFSETS = _STATE + "committed_offsets.ClusterOffsets."


def _never_young(
    origin: int, source: Any, target: Any, _since: int, *between: int, real: Any = read_list.replication_gaps
) -> Any:
    return real(origin, source, target, NEVER_YOUNG, *between)


def _as_known(_lists: Any, _alias: str, writes: Any) -> Any:
    return set(writes), set()


def _each(_state: Any, _alias: str, rows: Any) -> Any:
    return np.ones(len(rows), np.bool_)


def _wherever_it_began(progress: Any, offset: int, epoch: int | None) -> bool:
    found = progress.read_list
    return found is not None and epoch is not None and found.contains(offset)


def _as_late_as_can_be(offsets: Any, kind: str, rows: Any) -> Any:
    return offsets.columns[f"{kind}_made_ms"][rows]


def _acknowledge_as_if_of_a_log(offsets: Any, *written: Any, real: Any = ClusterOffsets.acknowledge) -> None:
    partitions, offsets.partitions = offsets.partitions, 0
    real(offsets, *written)
    offsets.partitions = partitions


PROTECTIONS: tuple[Protection, ...] = (
    kept_by(
        "A record that the mirror dropped is on no read list",
        "translate.read_list._HOLES_ARE_UNREAD",
        NEVER_YOUNG,
        "translate/test_read_list.py::"
        "test_on_a_list_is_what_brute_force_finds_at_any_time_also_where_pages_were_let_go",
    ),
    kept_by(
        "Where a log is withheld there is no read list",
        "translate.read_list.reason_to_withhold",
        nothing,
        "translate/test_read_list.py::"
        "test_of_logs_that_are_withheld_or_cut_and_of_a_commit_beyond_the_end_there_is_no_list[source0-target0]",
    ),
    kept_by(
        "A record that the mirror has passed within hole_grace may still come to a read list",
        "translate.read_list.replication_gaps",
        _never_young,
        "translate/test_read_list.py::test_what_is_still_to_come_is_what_brute_force_finds",
    ),
    kept_by(
        "A read list grows with the target's index while read records are missing there",
        "sync.crossings.pending",
        lambda *_asked: {},
        "sync/test_read_lists.py::test_a_list_grows_with_the_targets_index_without_commits",
    ),
    kept_by(
        "A text of another version is no read list",
        "translate.read_list._TEXT",
        re.compile(read_list._TEXT.pattern.replace("offset-sync/1", "offset-sync/[0-9]+")),
        "translate/test_read_list_text.py::test_each_text_of_the_corpus_is_read_as_it_says[version 2]",
    ),
    kept_by(
        "Of a hostile text not more is inflated than a read list can have",
        "translate.read_list.MOST_BYTES",
        1 << 40,
        "translate/test_read_list_text.py::"
        "test_each_text_of_the_corpus_is_read_as_it_says[deflated, one byte more than may be inflated]",
    ),
    kept_by(
        "Ranges of a read list are apart, and within int64",
        "translate.read_list._is_list",
        yes,
        "translate/test_read_list_text.py::"
        "test_each_text_of_the_corpus_is_read_as_it_says[a gap beyond the largest offset]",
    ),
    kept_by(
        "A read list is there before the answer of a group that goes back",
        "sync.read_lists.ReadLists.in_the_way",
        lambda *_asked: {},
        "sync/test_read_lists.py::test_of_a_group_that_goes_back_the_list_comes_first_and_else_the_answer_waits",
    ),
    kept_by(
        "A read list that another process has written is read before it is overwritten",
        "sync.read_lists.ReadLists.believed",
        _as_known,
        "cutover/test_moves_by_lists_oracle.py::"
        "test_where_sync_offsets_has_replaced_the_list_meanwhile_the_answer_of_a_command_waits_once",
    ),
    kept_by(
        "A read list is removed once its group is past it",
        "sync.read_lists.ReadLists.passed",
        lambda *_asked: {},
        Seed(frozenset({"lists", "pause", "reset"}), 52),
    ),
    kept_by(
        "A read list is removed once its group has gone back",
        "sync.read_lists.ReadLists._rewinds",
        lambda _lists, _row: (0,),
        Seed(frozenset({"lists", "pause", "reset"}), 52),
    ),
    kept_by(
        "A group with members at both clusters has no read list",
        "state.group_homes.GroupHomes.with_members",
        lambda _homes, _alias: set(),
        "sync/test_read_lists.py::test_a_group_with_members_at_both_clusters_gets_none",
    ),
    kept_by(
        "An offset that we have written is not what its group has read",
        "state.sync_state.SyncState.has_own",
        _each,
        "sync/test_read_lists.py::test_what_we_have_brought_to_the_home_of_a_group_is_not_what_it_has_read",
    ),
    kept_by(
        "An offset that a move has committed is not what its group has read",
        "state.sync_state.SyncState._is_of_move",
        lambda _state, _alias, rows: np.zeros(len(rows), np.bool_),
        "sync/test_read_lists.py::"
        "test_what_a_command_has_committed_for_a_group_that_it_has_moved_is_not_what_the_group_has_read",
    ),
    kept_by(
        "A polled commit may be older than a step back at another cluster",
        "state.committed_offsets.ClusterOffsets.earliest_ms",
        _as_late_as_can_be,
        "tests/simulation/test_histories.py::"
        "test_a_history_keeps_the_promise[500001249: a step back may be later than what a poll has found]",
    ),
    kept_by(
        "A polled commit below what we have written since the poll before is a step back",
        "state.committed_offsets.ClusterOffsets.acknowledge",
        _acknowledge_as_if_of_a_log,
        "tests/simulation/test_histories.py::"
        "test_a_history_keeps_the_promise[7: below what we wrote between two polls is a step back]",
    ),
    kept_by(
        "Read lists of groups that are no longer configured are removed",
        "sync.read_lists.ReadLists.take_others_away",
        nothing,
        "sync/test_read_lists.py::test_it_is_taken_away_before_a_group_that_went_back_meanwhile_is_answered",
    ),
    kept_by(
        "Groups of ours that hold read lists are never synced",
        "config.configuration.OWN_GROUPS",
        "\0",
        "sync/test_read_lists.py::test_groups_of_ours_are_never_synced",
    ),
    kept_by(
        "No group is started at the target before its read list is there and whole",
        "cutover.crossed.CrossedPartition.problem",
        nothing,
        "cutover/test_skip_read.py::test_a_group_whose_list_is_not_at_the_target_is_not_moved",
    ),
    kept_by(
        "A group that still skips at its source is not moved by its read list",
        "cutover.crossed.CrossedPartition.reason_to_stay",
        nothing,
        "cutover/test_skip_read.py::test_a_group_stays_while_its_source_does_not_say_whether_it_still_skips",
    ),
    kept_by(
        "A planned move by read lists needs a mark of the consumer that read last",
        "cutover.crossed.CrossedPartition.is_proven",
        property(yes),
        "cutover/test_skip_read.py::test_each_reason_not_to_move_by_lists_is_named",
    ),
    kept_by(
        "A consumer that is sought back below its group's commit gets everything up to there",
        "offset_sync_consumer.progress.Progress.is_read",
        _wherever_it_began,
        "consumer/test_python_polls.py::test_a_position_that_the_application_sets_counts_as_sought",
    ),
)
