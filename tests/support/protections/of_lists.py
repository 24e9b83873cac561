"""Read lists: what keeps unread records off them, and lists from where they would be wrong."""

from __future__ import annotations

import re
from typing import Any

from offset_sync.state.committed_offsets import ClusterOffsets
from offset_sync.translate import read_list
from offset_sync.translate.replication_gap import NEVER_YOUNG
from protections.entry import as_if, false_for, gives, kept_by, nothing, protections, seed, true_for, yes


def _wherever_it_began(progress: Any, offset: int, epoch: int | None) -> bool:
    found = progress.read_list
    return found is not None and epoch is not None and found.contains(offset)


def _acknowledge_as_if_of_a_log(offsets: Any, *written: Any, real: Any = ClusterOffsets.acknowledge) -> None:
    partitions, offsets.partitions = offsets.partitions, 0
    real(offsets, *written)
    offsets.partitions = partitions


PROTECTIONS = protections(
    {
        "A record that the mirror dropped is on no read list": kept_by(
            "translate.read_list._HOLES_ARE_UNREAD", NEVER_YOUNG, "translate/test_read_list.py on_a_list_is_what"
        ),
        "Where a log is withheld there is no read list": kept_by(
            "translate.read_list.reason_to_withhold",
            nothing,
            "translate/test_read_list.py of_logs_that_are_withheld[source0-target0]",
        ),
        "A record that the mirror has passed within hole_grace may still come to a read list": kept_by(
            "translate.read_list.replication_gaps",
            as_if(read_list.replication_gaps, 3, NEVER_YOUNG),
            "translate/test_read_list.py what_is_still_to_come",
        ),
        "A read list grows with the target's index while read records are missing there": kept_by(
            "sync.crossings.pending", gives({}), "sync/test_read_lists.py a_list_grows_with_the_targets"
        ),
        "A text of another version is no read list": kept_by(
            "translate.read_list._TEXT",
            re.compile(read_list._TEXT.pattern.replace("offset-sync/1", "offset-sync/[0-9]+")),
            "translate/test_read_list_text.py each_text_of_the_corpus[version 2]",
        ),
        "Of a hostile text not more is inflated than a read list can have": kept_by(
            "translate.read_list.MOST_BYTES",
            1 << 40,
            "translate/test_read_list_text.py each_text_of_the_corpus[deflated, one byte more than may be inflated]",
        ),
        "Ranges of a read list are apart, and within int64": kept_by(
            "translate.read_list._is_list",
            yes,
            "translate/test_read_list_text.py each_text_of_the_corpus[a gap beyond the largest offset]",
        ),
        "A read list is there before the answer of a group that goes back": kept_by(
            "sync.read_lists.ReadLists.in_the_way", gives({}), "sync/test_read_lists.py of_a_group_that_goes"
        ),
        "A read list that another process has written is read before it is overwritten": kept_by(
            "sync.read_lists.ReadLists.believed",
            lambda _lists, _alias, writes: (set(writes), set()),
            "cutover/test_moves_by_lists_oracle.py where_sync_offsets_has",
        ),
        "A read list is removed once its group is past it": kept_by(
            "sync.read_lists.ReadLists.passed", gives({}), seed(94, "lists", "pause", "reset")
        ),
        "A read list is removed once its group has gone back": kept_by(
            "sync.read_lists.ReadLists._rewinds",
            gives((0,)),
            seed(94, "lists", "pause", "reset"),
        ),
        "A group with members at both clusters has no read list": kept_by(
            "state.group_homes.GroupHomes.with_members", gives(set()), "sync/test_read_lists.py a_group_with_members"
        ),
        "An offset that we have written is not what its group has read": kept_by(
            "state.sync_state.SyncState.has_own", true_for(2), "sync/test_read_lists.py what_we_have_brought"
        ),
        "An offset that a move has committed is not what its group has read": kept_by(
            "state.sync_state.SyncState._is_of_move", false_for(2), "sync/test_read_lists.py what_a_command_has"
        ),
        "A polled commit may be older than a step back at another cluster": kept_by(
            "state.committed_offsets.ClusterOffsets.earliest_ms",
            lambda offsets, kind, rows: offsets.columns[f"{kind}_made_ms"][rows],
            "tests/simulation/test_histories.py a_history_keeps_the_promise[500001249: a step back may be later]",
        ),
        "A polled commit below what we have written since the poll before is a step back": kept_by(
            "state.committed_offsets.ClusterOffsets.acknowledge",
            _acknowledge_as_if_of_a_log,
            "tests/simulation/test_histories.py a_history_keeps_the_promise[7: below our write is a step back]",
        ),
        "Read lists of groups that are no longer configured are removed": kept_by(
            "sync.read_lists.ReadLists.take_others_away", nothing, "sync/test_read_lists.py it_is_taken_away"
        ),
        "Groups of ours that hold read lists are never synced": kept_by(
            "config.configuration.OWN_GROUPS", "\0", "sync/test_read_lists.py groups_of_ours_are_never"
        ),
        "No group is started at the target before its read list is there and whole": kept_by(
            "cutover.crossed.CrossedPartition.problem", nothing, "cutover/test_skip_read.py a_group_whose_list"
        ),
        "A group that still skips at its source is not moved by its read list": kept_by(
            "cutover.crossed.CrossedPartition.reasons_to_stay",
            gives(()),
            "cutover/test_skip_read.py a_group_stays_while",
        ),
        "A planned move by read lists needs a mark of the consumer that read last": kept_by(
            "cutover.crossed.CrossedPartition.is_proven",
            property(yes),
            "cutover/test_skip_read.py each_reason_not_to_move",
        ),
        "A consumer that is sought back below its group's commit gets everything up to there": kept_by(
            "offset_sync_consumer.progress.Progress.is_read",
            _wherever_it_began,
            "consumer/test_python_polls.py a_position_that_the_application",
        ),
    }
)
