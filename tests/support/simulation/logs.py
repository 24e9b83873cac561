"""The true partitions, whose records have the same number everywhere; and records of ``__consumer_offsets``."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from offset_sync.decode.consumer_offsets import coordinator_hashes
from offset_sync.model.values import ABSENT, GroupPartition, TopicPartition

Headers = tuple[bytes, bytes]


class Record(NamedTuple):
    """A record in one log: which it is, and what the mirror's headers say; *is_odd*: they say what cannot be."""

    number: int
    headers: Headers | None = None
    is_odd: bool = False


class Birth(NamedTuple):
    """Where a record was produced: *life* counts the incarnations and cuts of that log."""

    cluster: str
    offset: int
    life: int

    def is_after(self, other: Birth) -> bool:
        """Return whether another record was produced before, at the same cluster."""
        return self.cluster == other.cluster and self.offset > other.offset


@dataclass
class Log:
    """One partition of one cluster; sets of records are bit masks of their numbers.

    ``below[i]`` has the records below offset i. *known_at* has the first offset at which the index has read a record,
    *known* the offsets that it has read. *life* counts how often the log was cut or recreated, *is_frozen* ones take
    nothing more; *cuts* are where it was cut, one for each leader epoch after the first.
    """

    entries: list[Record | None] = field(default_factory=list)
    below: list[int] = field(default_factory=lambda: [0])
    start: int = 0
    life: int = 0
    is_frozen: bool = False
    known_at: dict[int, int] = field(default_factory=dict)
    known: int = 0
    cuts: list[int] = field(default_factory=list)

    @property
    def end(self) -> int:
        return len(self.entries)

    def epoch_of(self, offset: int) -> int:
        """Return the leader epoch under which the record at *offset* was written."""
        return max((number for number, at in enumerate(self.cuts, 1) if at <= offset), default=0)

    def lost_from(self, epoch: int) -> int:
        """Return the offset from which records written up to leader epoch *epoch* are lost, if any are."""
        return min(self.cuts[epoch:], default=self.end)

    def append(self, record: Record | None) -> None:
        """Add a record, or an offset without one."""
        self.entries.append(record)
        self.below.append(self.below[-1] | (0 if record is None else 1 << record.number))

    def cut(self, end: int) -> None:
        """Drop the records at *end* and above, as after an unclean election."""
        del self.entries[end:], self.below[end + 1 :]
        self.start = min(self.start, end)
        self.life += 1
        self.cuts.append(end)

    def begin_again(self) -> None:
        """Forget everything, as a topic does that is deleted and made again."""
        self.cut(0)
        self.start, self.known = 0, 0
        self.known_at.clear()

    def note_indexed(self, first: int, end: int) -> None:
        for offset in range(first, end):
            record = self.entries[offset]
            self.known |= 1 << offset
            if record is not None and not record.is_odd:
                self.known_at.setdefault(record.number, offset)


Of = tuple[str, TopicPartition]
"""A partition of a cluster, or of a group."""


class Position(NamedTuple):
    """A group's partition at one cluster."""

    cluster: str
    group: str
    place: TopicPartition

    @property
    def of_group(self) -> Of:
        """The group's partition at whatever cluster."""
        return self.group, self.place

    @property
    def of_log(self) -> Of:
        """The partition that it is about."""
        return self.cluster, self.place

    @property
    def key(self) -> GroupPartition:
        """The key by which the sync knows it."""
        return GroupPartition(self.group, *self.place)


@dataclass(eq=False)
class SimRecord:
    """A record: a commit, a tombstone where its *offset* is ABSENT, or a read list.

    *at_ms* is the word of the cluster, *true_ms* when it was. *life* is that of the log at the time. Of a commit of the
    group itself *claimed* are the records that it claims to have read. What the sync has made of it: it missed the time
    by *error_ms* (None: it has not read the record yet), may have taken it for ours, has found it by a poll, and has
    written it down.
    """

    where: Position
    offset: int
    at_ms: int
    log_partition: int
    log_offset: int
    true_ms: int
    metadata: str = ""
    topic_id: str | None = None
    leader_epoch: int = ABSENT
    is_ours: bool = False
    writer: object = field(default=None, repr=False)
    life: int = 0
    claimed: int = 0
    error_ms: int | None = None
    is_taken_for_ours: bool = False
    is_polled: bool = False
    is_heard: bool = False


@dataclass
class MadeMove:
    """A move of a group and topic by ``cutover``, and when drivers noticed it while they looked on."""

    stream: tuple[str, str]
    cluster: str
    at_ms: int
    noticed_ms: list[int] = field(default_factory=list)


@cache
def hash_of(group: str) -> int:
    """Return the hash that chooses the coordinator of a group."""
    return int(coordinator_hashes([group])[0])
