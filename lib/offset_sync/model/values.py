"""Frozen values and the words of the tables, which every room speaks; the standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

ABSENT = -1
"""What stands in an array or a format for an offset or a time that is not there: all real ones are 0 or more."""
CONSUMER_OFFSETS = "__consumer_offsets"
"""The topic in which a cluster keeps what its groups have committed."""
CLOCKS_APART_MS = 60_000
"""The clocks of two machines may differ by so much, where a time of one is compared with one of the other."""


class Word(IntEnum):
    """A word of the tables, as the code that arrays hold: ``State(code).name`` is what a column says.

    Codes live in memory only, so a new word may stand anywhere; they count from 0, for arrays are looked up by them.
    """

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        # IntEnum would format the number.
        return format(str(self), spec)


OWN_GROUPS = "__offset-sync."
"""What groups of our own begin with: they hold read lists and what consumers say of them, and are never synced."""


class State(Word):
    """How good an answer is, or why there is none (column ``state`` of offset_translations)."""

    EXACT = 0
    AT_FRONTIER = 1
    INDEX_BEHIND = 2
    APPROXIMATE = 3  # of another strategy than exact, and earlier than need be
    REWIND = 4
    # Withheld reasons: nothing is written to the target.
    TOPIC_RECREATED = 5
    LOG_TRUNCATED = 6
    PARTITIONS_DIFFER = 7
    NOT_INDEXED = 8
    TOPIC_MISSING = 9
    TOPIC_UNAUTHORIZED = 10  # it may not be described, so nobody can tell whether it is there
    COMMIT_BEYOND_END = 11
    CLUSTER_UNREACHABLE = 12
    STRATEGY_REFUSED = 13  # it could lose records of this topic
    NO_REFERENCE = 14  # the strategy finds nothing to go by, and the topic is not idle
    TRANSLATION_FAILED = 15  # an error of ours, which is in the log: it costs this partition and no other
    OWNER_UNKNOWN = 16  # a cluster's commits could not be read since the start, and may be newer than this one
    # Of offsets that were given to be translated, which no group has committed.
    TOPIC_NOT_INCLUDED = 17  # the configuration leaves it out, so it is not indexed
    PARTITION_MISSING = 18  # the topic has fewer partitions
    # Of committed offsets again.
    COPY_WRITTEN = 19  # a copy, byte for byte, holds records that its original lacks (strategy identity)
    # Of a mirror that stamps no headers, whose copies are told by their contents.
    AMBIGUOUS = 20  # hardly any record has contents of its own
    MIRROR_ALTERS_RECORDS = 21  # too many copies have the contents of no original
    # Of a group and a topic as a whole.
    COMMITTED_AT_BOTH = 22  # the group committed at two clusters within sync.home_silence: neither is its home

    @property
    def is_withheld(self) -> bool:
        """True where the state is a reason not to answer."""
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


class Status(Word):
    """May a partition of a group be moved now, and if not, what it waits for (column ``status`` of sync_status).

    From worst to best, so a code is also a rank. The tables, the page and the command line say :attr:`word`.
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


class Rule(Word):
    """What may be done to the value that the target holds."""

    SET = 0  # our own value, or none: up or down
    FORWARD = 1  # somebody else's, older than the source's commit
    FOLLOW = 2  # somebody else's, but the source went back after it: an operator's reset


class TopicPartition(NamedTuple):
    """A partition of a topic, on any cluster."""

    topic: str
    partition: int


class EpochEnd(NamedTuple):
    """The log's records of leader epochs below *below* end at *end*: what they had beyond is lost (KIP-320).

    *known* is the epoch under which the log was looked at before, so later ones begin at *end*; None: not known.
    """

    below: int
    end: int
    known: int | None = None


class ToldEnd(NamedTuple):
    """The records of an epoch and those below it end at *end*, or, where it is not certain, perhaps before."""

    end: int
    is_certain: bool = True


class EpochChange(NamedTuple):
    """From the leader epoch under which a log was last looked at to the one of the leader that speaks *now*.

    *ended* says where epochs before had ended, in the order in which it was noticed.
    """

    known: int
    now: int
    ended: Sequence[EpochEnd] = ()

    def end(self, told: int, epoch: int) -> ToldEnd:
        """Return where the records known end, if the leader has nothing between *epoch*, which ends at *told*, and now.

        Its own records of that epoch may reach beyond those known, where elections were unclean, told 150 of epoch 1::

            known until now      epoch 1: 0 ... 99     epoch 2: 100 ... 199
            the leader's log     epoch 1: 0 ... 149                 epoch 3: 150 ...

        So the end is at most where a known epoch above *epoch* began. It is certain where that is known of the first
        one. After a cut nobody knows where epochs before it began: then it may be at 0. Errs to the small side: after
        unclean elections, and where compaction took an epoch from a new replica.
        """
        ends: dict[int, int] = {}
        uncertain = told
        for each in self.ended:
            if each.known is not None and each.end:
                ends[each.known] = each.end
            else:  # it was cut, and nobody can tell where
                ends.clear()
                uncertain = 0
        began = [end for each, end in ends.items() if epoch <= each < self.known]
        is_certain = epoch in (self.known, *ends)
        is_later = any(each < epoch for each in ends)  # than one that began since the cut
        return ToldEnd(min([told if is_certain or is_later else uncertain, *began]), is_certain)


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
    """A partition as one consumer group commits it: what an offset belongs to."""

    group_id: str
    topic: str
    partition: int

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition, whichever group reads it."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True)
class OffsetWrite:
    """One value wanted at a target: what to write, and what we believe the target holds now.

    *leader_epoch* is that of the target partition's leader under which its log was seen to reach *offset*; consumers
    that validate it (KIP-320) notice when the log is truncated below. None: not known, and none is sent; never the
    source's. *expected_offset* is the value last seen at the target (None: there was none). If the target holds another
    one, it was written by others since and is left alone: overwriting it could move a group past records it never read.
    *refresh*: write even the same value again, before it expires. *moves_forward*: replace an unexpected value too
    where the write does not go back; only for a command that acts for a person. With *metadata* it is always written:
    the group is one of ours, which holds a read list.
    """

    group_id: str
    topic: str
    partition: int
    offset: int
    leader_epoch: int | None
    rule: Rule
    expected_offset: int | None
    refresh: bool = False
    moves_forward: bool = False
    metadata: str = ""


@dataclass(frozen=True)
class WriteOutcome:
    """What became of one :class:`OffsetWrite`; *previous_offset* is what the target held before (None: nothing).

    *is_read*: the target was read before. *is_in_doubt*: it failed, and may have been applied: no answer came.
    """

    group_id: str
    topic: str
    partition: int
    outcome: Outcome
    previous_offset: int | None
    error: str | None
    is_read: bool = True
    is_in_doubt: bool = False


class OffsetRange(NamedTuple):
    """Offsets of one log from *start* up to *end*, which is not one of them."""

    start: int
    end: int


@dataclass(frozen=True)
class RecordContent:
    """One record as its cluster holds it."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
