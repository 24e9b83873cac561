"""Groups that move while records cross: their read lists, and whether their consumers use them.

A planned move with read lists repeats nothing if four conditions hold for each partition::

    the list is whole       the target's index has all records that the group has read (``pending`` is empty)
    the list fits           all of these records are on it; the others would be repeated (``repeated``)
    the group is past       the list with which it came to the source itself (``until`` is None)
    its consumers skip      they have left a mark at its position or above (``is_proven``)

A consumer that does not skip repeats records and loses none, so the last condition is for the promise, not for safety.
It is decided by offsets, not by times: the interceptor writes a mark at the next offset as it closes, and any consumer
that reads further makes the commit greater. A mark from before the group went back may prove too much.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from offset_sync.kafka.requests import Committed
from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Reason, Said
from offset_sync.model.values import GroupPartition, TopicPartition
from offset_sync.state.cluster_queries import ClusterQueries, GroupAnswers
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.held_lists import listed, own_group, seen_group, text_of_list
from offset_sync.sync.reconciler import Reconciler
from offset_sync.translate.partition import IS_WITHHELD
from offset_sync.translate.read_list import MARK

UNKNOWN = -1
"""The end of a list at a cluster that does not answer."""


@dataclass(frozen=True)
class CrossedPartition:
    """One partition of a group: *skipped* records are on its list; it has read *repeated* others that are not.

    *missing* records that it has read are not at the target yet, one if it is not known which. *is_held*: the target
    holds the list that belongs to its answer, or none if there is none; False if it does not answer. *until*: it still
    skips up to there at the source, None if it does not, UNKNOWN if the source does not answer. *seen* is the next
    offset of the mark there, None without one.
    """

    key: GroupPartition
    source_offset: int
    skipped: int
    repeated: int
    missing: int = 0
    is_held: bool = False
    until: int | None = None
    seen: int | None = None

    @property
    def is_proven(self) -> bool:
        """Whether the consumer that read last has left a mark; none is needed where nothing is to be skipped."""
        return self.skipped == 0 or (self.seen is not None and self.seen >= self.source_offset)

    def reasons_to_stay(self, source: str, *, by_lists: bool) -> Iterator[Said]:
        """Yield why it cannot move, with or without its list."""
        if self.until is not None:
            yield (Reason.MAY_STILL_SKIP if self.until == UNKNOWN else Reason.SKIPS_TO_THERE)(source, self.until)
        elif by_lists:
            if self.repeated:
                yield Reason.NOT_ON_LIST(self.repeated)
            if not self.is_proven:
                yield Reason.NO_MARK(self.seen, self.source_offset)

    def problems(self, target: str) -> Iterator[Said]:
        """Yield why it may not be started at the *target*."""
        if self.missing:
            yield Reason.MISSING(target, self.missing)
        elif not self.is_held:
            yield Reason.LIST_NOT_HELD(target)
        elif self.repeated:
            yield Reason.REPEATS(self.repeated)


def look_at_lists(
    state: SyncState, reconciler: Reconciler, clusters: ClusterQueries, direction: tuple[str, str], rows: KeyRows
) -> list[CrossedPartition]:
    """Return the partitions among *rows*, at home at the source, of groups that get read lists; writes nothing.

    For a source that is given up, as in a disaster, ``until`` is UNKNOWN and there are no marks.
    """
    source, target = direction
    translated, crossings, texts = reconciler.look(source, target, rows)
    commits, answers = translated.commits, translated.answers
    keys = {row: state.offsets.keys[int(commits.key[row])] for row in texts}
    groups = sorted({key.group_id for key in keys.values()})
    lists = [own_group(each) for each in groups]
    there = clusters.committed_offsets(target, lists)
    here = clusters.committed_offsets(source, [*lists, *map(seen_group, groups)])
    found = []
    for row, key in keys.items():
        offset, text, place = int(commits.offset[row]), texts[row], key.topic_partition
        pending = crossings[row].pending if row in crossings else None
        counts = int(answers.duplicates[row]), int(answers.duplicates_at_most[row])
        duplicates, at_most = (0, 0) if IS_WITHHELD[answers.state[row]] else counts
        source_list, held = _at(here, own_group(key.group_id), place), _at(there, own_group(key.group_id), place)
        mark = _at(here, seen_group(key.group_id), place)
        found.append(
            CrossedPartition(
                key,
                offset,
                text.records,
                # Records it may have read whose copies are unknown; dropped records count as read, and were not.
                text.left_out + at_most - duplicates if text.text else at_most,
                1 if pending is None else sum(each.total for each in pending.values()),
                held is not None and text_of_list(held.metadata) == text.text,
                end_above(source_list, offset) if source_list is not None else UNKNOWN,
                mark.offset if mark is not None and mark.metadata.startswith(MARK) else None,
            )
        )
    return found


_NOTHING = Committed(-1, "")
"""The committed offset of a group that has committed nothing."""


def _at(held: GroupAnswers, group: str, place: TopicPartition) -> Committed | None:
    """Return a group's committed offset, None if the cluster did not answer."""
    found = held.get(group)
    return None if found is None or isinstance(found, ClusterError) else found.get(place, _NOTHING)


def end_above(held: Committed | None, offset: int) -> int | None:
    """Return the end of a list that a group has not passed at *offset*, None where it has."""
    told = listed(held.metadata) if held is not None else None
    return told.end if told is not None and told.end > offset else None
