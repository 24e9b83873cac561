"""Records of ``__consumer_offsets`` with more than its log says, and moves."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from offset_sync.decode.consumer_offsets import coordinator_hashes
from offset_sync.model.values import ABSENT, GroupPartition, TopicPartition

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
