"""Read lists: what keeps unread records off them, and lists from where they would be wrong."""

from __future__ import annotations

import re
from typing import Any

from offset_sync.state.committed_offsets import ClusterOffsets
from offset_sync.translate import read_list
from offset_sync.translate.replication_gap import NEVER_YOUNG
from protections import invariant_patches as without
from protections.entry import as_if, false_for, gives, kept_by, nothing, protections, seed, true_for, yes


def _acknowledge_as_if_of_a_log(offsets: Any, *written: Any, real: Any = ClusterOffsets.acknowledge) -> None:
    partitions, offsets.partitions = offsets.partitions, 0
    real(offsets, *written)
    offsets.partitions = partitions


PROTECTIONS = protections(
    "A record that the mirror dropped is on no read list",
    kept_by("read_list._HOLES_ARE_UNREAD", NEVER_YOUNG, "read_list on_a_list_is_what"),
    "Where a log is withheld there is no read list",
    kept_by("read_list.reason_to_withhold", nothing, "read_list of_logs_that_are_withheld[source0-target0]"),
    "A record that the mirror has passed within hole_grace may still come to a read list",
    kept_by("read_list.replication_gaps", as_if(read_list.replication_gaps, 3, NEVER_YOUNG), "read_list what_is_still"),
    "A read list grows with the target's index while read records are missing there",
    kept_by("crossings.pending", gives({}), "read_lists a_list_grows_with_the"),
    "A text of another version is no read list",
    kept_by(
        "read_list._TEXT",
        re.compile(read_list._TEXT.pattern.replace("offset-sync/1", "offset-sync/[0-9]+")),
        "read_list_text each_text_of_the_corpus[version 2]",
    ),
    "Of a hostile text not more is inflated than a read list can have",
    kept_by("read_list.MOST_BYTES", 1 << 40, "read_list_text each_text[deflated, one byte more than may be inflated]"),
    "Ranges of a read list are apart, and within int64",
    kept_by("read_list._is_list", yes, "read_list_text each_text_of_the_corpus[a gap beyond the largest offset]"),
    "A read list is there before the answer of a group that goes back",
    kept_by("read_lists.ReadLists.in_the_way", gives({}), "read_lists of_a_group_that_goes"),
    "A read list that another process has written is read before it is overwritten",
    kept_by("read_lists.ReadLists.believed", lambda *given: (set(given[2]), set()), "moves_by_lists_oracle where_sync"),
    "A read list is removed once its group is past it",
    kept_by("read_lists.ReadLists.passed", gives({}), seed(94, "lists,pause,reset")),
    "A read list is removed once its group has gone back",
    kept_by("read_lists.ReadLists._rewinds", gives((0,)), seed(94, "lists,pause,reset")),
    "A group with members at both clusters has no read list",
    kept_by("state.group_homes.GroupHomes.with_members", gives(set()), "read_lists a_group_with_members_at"),
    "An offset that we have written is not what its group has read",
    kept_by("sync_state.SyncState.has_own", true_for(2), "read_lists what_we_have_brought_to"),
    "An offset that a move has committed is not what its group has read",
    kept_by("sync_state.SyncState._is_of_move", false_for(2), "read_lists what_a_command_has_committed"),
    "A polled commit may be older than a step back at another cluster",
    kept_by(
        "committed_offsets.ClusterOffsets.earliest_ms",
        lambda offsets, kind, rows: offsets.columns[f"{kind}_made_ms"][rows],
        "histories a_history_keeps_the_promise[500001249: a step back may be later]",
    ),
    "A polled commit below what we have written since the poll before is a step back",
    kept_by(
        "committed_offsets.ClusterOffsets.acknowledge",
        _acknowledge_as_if_of_a_log,
        "histories a_history_keeps_the_promise[7: below our write is a step back]",
    ),
    "Read lists of groups that are no longer configured are removed",
    kept_by("read_lists.ReadLists.take_others_away", nothing, "read_lists it_is_taken_away_before"),
    "Groups of ours that hold read lists are never synced",
    kept_by("configuration.OWN_GROUPS", "\0", "read_lists groups_of_ours_are_never"),
    "No group is started at the target before its read list is there and whole",
    kept_by("crossed.CrossedPartition.problems", gives(()), "cutover/skip_read a_group_whose_list_is"),
    "A group that still skips at its source is not moved by its read list",
    kept_by("crossed.CrossedPartition.reasons_to_stay", gives(()), "cutover/skip_read a_group_stays_while_its"),
    "A planned move by read lists needs a mark of the consumer that read last",
    kept_by("crossed.CrossedPartition.is_proven", property(yes), "cutover/skip_read each_reason_not_to_move"),
    "A consumer that is sought back below its group's commit gets everything up to there",
    kept_by(
        "offset_sync_consumer.progress.Progress.is_read", without.on_a_list_of_any_epoch, "python_polls a_position_that"
    ),
)
