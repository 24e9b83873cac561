"""Frozen values and the enums of the tables, used by every room; imports the standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

ABSENT = -1
"""Marks an absent offset or time in arrays and formats; real ones are 0 or more."""
CLUSTER_ID = "offset-sync.cluster.id"
"""Of ours, among the options of a client: the id that the cluster had when it first answered."""
CONSUMER_OFFSETS = "__consumer_offsets"
"""The topic in which a cluster keeps what its groups have committed."""
POLLED = -2
"""The partition of ``__consumer_offsets`` of commits that were polled from the coordinators instead of read there.

Where the log is read too, those of the coordinator of partition p have POLLED - 1 - p, and the offset before which the
log does not have them.
"""
CLOCKS_APART_MS = 60_000
"""The clock skew allowed for when timestamps of two machines are compared."""


class Word(IntEnum):
    """A word of the tables, as the code that arrays hold: ``State(code).name`` is what a column says.

    Codes exist in memory only, so a new word may be inserted anywhere; they count from 0, because they index arrays.
    """

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        # IntEnum would format the number.
        return format(str(self), spec)


OWN_GROUPS = "__offset-sync."
"""The prefix of our own groups: they hold read lists and what consumers report on them, and are never synced."""


class State(Word):
    """How good an answer is, or why there is none (column ``state`` of offset_translations)."""

    EXACT = 0
    AT_FRONTIER = 1
    INDEX_BEHIND = 2
    APPROXIMATE = 3  # by another strategy than exact, and earlier than necessary
    REWIND = 4
    # Withheld reasons: nothing is written to the target.
    TOPIC_RECREATED = 5
    LOG_TRUNCATED = 6
    PARTITIONS_DIFFER = 7
    NOT_INDEXED = 8
    TOPIC_MISSING = 9
    TOPIC_UNAUTHORIZED = 10  # we may not describe it, so whether it exists is unknown
    COMMIT_BEYOND_END = 11
    CLUSTER_UNREACHABLE = 12
    STRATEGY_REFUSED = 13  # it could lose records of this topic
    NO_REFERENCE = 14  # the strategy finds nothing to go by, and the topic is not idle
    TRANSLATION_FAILED = 15  # a bug of ours, logged; only this partition is affected
    OWNER_UNKNOWN = 16  # a cluster's commits were not read since the start, and may be newer than this one
    # Only for offsets given to ``translate`` that no group has committed.
    TOPIC_NOT_INCLUDED = 17  # the configuration leaves it out, so it is not indexed
    PARTITION_MISSING = 18  # the topic has fewer partitions
    # For a group and a topic as a whole.
    COMMITTED_AT_BOTH = 19  # the group committed at two clusters within sync.home_silence: neither is its home

    @property
    def is_withheld(self) -> bool:
        """Whether the state is a reason to withhold the answer."""
        return self not in _ANSWERS


_ANSWERS = frozenset({State.EXACT, State.AT_FRONTIER, State.INDEX_BEHIND, State.APPROXIMATE, State.REWIND})


class Outcome(Word):
    """What became of an answer at the target (column ``outcome`` of offset_translations)."""

    COMMITTED = 0
    UNCHANGED = 1
    NOT_FORWARD = 2
    TARGET_ACTIVE = 3
    FAILED = 4
    DRY_RUN = 5
    WITHHELD = 6
    GONE = 7  # nothing is computed or written any more: its home is elsewhere, or it has deleted its commit there


class Status(Word):
    """Whether a partition of a group can be moved now, or what it waits for (column ``status`` of sync_status).

    From worst to best, so a code is also a rank. The tables, the page and the command line show :attr:`word`.
    """

    WITHHELD = 0  # not translated, for the reason given; nothing is written until a person acts
    STALLED = 1  # mirror, index or sync has not moved for too long
    BEHIND = 2  # the target does not hold the translation yet
    TARGET_ACTIVE = 3  # the target's group has members, so nothing is written there
    MIRRORING = 4  # the sync has done its part; records are still on their way
    IN_SYNC = 5  # nothing unread below, nothing read above, and the next record is the same on both sides

    @property
    def word(self) -> str:
        """What the tables call it: ``InSync`` for ``IN_SYNC``."""
        return self.name.title().replace("_", "")

    @classmethod
    def of(cls, word: str) -> Status:
        """Return the status that the tables call *word*; ValueError where it is none of them."""
        for status in cls:
            if status.word == word:
                return status
        raise ValueError(f"{word!r} is no status; use one of {', '.join(each.word for each in cls)}")

    def __str__(self) -> str:
        return self.word


class TopicPartition(NamedTuple):
    """A partition of a topic, on any cluster."""

    topic: str
    partition: int


class EpochEnd(NamedTuple):
    """Records of leader epochs below *below* end at *end*; any beyond were truncated (KIP-320).

    *known* is the leader epoch last seen before, so later epochs begin at *end*; None: unknown.
    """

    below: int
    end: int
    known: int | None = None


class ReportedEnd(NamedTuple):
    """Records up to an epoch end at *end*, possibly earlier where that is not certain."""

    end: int
    is_certain: bool = True


class EpochChange(NamedTuple):
    """From the leader epoch last seen, *known*, to that of the current leader, *now*.

    *ended* are the ends of earlier epochs, in the order in which we noticed them.
    """

    known: int
    now: int
    ended: Sequence[EpochEnd] = ()

    def end(self, reported: int, epoch: int) -> ReportedEnd:
        """Return where the records we know end; the leader has none between *epoch*, which ends at *reported*, and now.

        After unclean elections the leader's records of *epoch* may reach beyond ours; here it reports 150 for epoch 1::

            known until now      epoch 1: 0 ... 99     epoch 2: 100 ... 199
            the leader's log     epoch 1: 0 ... 149                 epoch 3: 150 ...

        So the end is at most where a known epoch above *epoch* began. It is certain where we know that of the first
        one. After a truncation at an unknown offset the starts of earlier epochs are unknown, and the end may be 0.
        Errs to the small side: after unclean elections, and where compaction removed an epoch from a new replica.
        """
        ends: dict[int, int] = {}
        uncertain = reported
        for each in self.ended:
            if each.known is not None and each.end:
                ends[each.known] = each.end
            else:  # truncated at an unknown offset
                ends.clear()
                uncertain = 0
        began = [end for each, end in ends.items() if epoch <= each < self.known]
        is_certain = epoch in (self.known, *ends)
        is_later = any(each < epoch for each in ends)  # than an epoch that began after the truncation
        return ReportedEnd(min([reported if is_certain or is_later else uncertain, *began]), is_certain)


class ClusterPartition(NamedTuple):
    """A partition of a topic on one cluster: one log."""

    cluster: str
    topic: str
    partition: int

    @property
    def topic_partition(self) -> TopicPartition:
        """The same partition, on any cluster."""
        return TopicPartition(self.topic, self.partition)


class GroupPartition(NamedTuple):
    """A partition as committed by one consumer group: the key of a committed offset."""

    group_id: str
    topic: str
    partition: int

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition, of any group."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True)
class OffsetWrite:
    """One value wanted at a target: what to write, and what we believe the target holds now.

    *leader_epoch* is the target leader's epoch under which its log was seen to reach *offset*; consumers that validate
    it (KIP-320) detect a later truncation below. None: unknown, and none is sent; never the source's. *expected_offset*
    is the value last seen at the target (None: there was none, or it must not be replaced). If the target holds another
    one, others have written it since and it is left alone: overwriting it could move a group past records it never
    read. *refresh*: write even the same value again, before it expires. *moves_forward*: replace an unexpected value
    too where the write does not go back; only for commands run by an operator. With *metadata* it is always written:
    the group is one of ours and holds a read list.
    """

    group_id: str
    topic: str
    partition: int
    offset: int
    leader_epoch: int | None
    expected_offset: int | None
    refresh: bool = False
    moves_forward: bool = False
    metadata: str = ""


@dataclass(frozen=True)
class WriteOutcome:
    """What became of one :class:`OffsetWrite`; *previous_offset* is what the target held before (None: nothing).

    *is_in_doubt*: it did not succeed, but a try of it got no response, so it may have been applied.
    """

    group_id: str
    topic: str
    partition: int
    outcome: Outcome
    previous_offset: int | None
    error: str | None
    is_in_doubt: bool = False


class OffsetRange(NamedTuple):
    """Offsets of one log from *start* up to *end*, which is not one of them."""

    start: int
    end: int


class Stop(NamedTuple):
    """From which offset a log cannot be read, and why."""

    offset: int
    why: str

    def at(self, log: str) -> str:
        """Return the text about the log of that name."""
        return f"{log} cannot be read from offset {self.offset} on: {self.why}"


@dataclass(frozen=True)
class RecordContent:
    """One record as its cluster holds it."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
