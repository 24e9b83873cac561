"""Frozen values and the words the tables use; the standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class State(str, Enum):
    """How good an answer is, or why there is none (column ``state`` of offset_translations)."""

    EXACT = "EXACT"
    AT_FRONTIER = "AT_FRONTIER"
    INDEX_BEHIND = "INDEX_BEHIND"
    APPROXIMATE = "APPROXIMATE"  # of another strategy than exact, and earlier than need be
    REWIND = "REWIND"
    # Withheld reasons: nothing is written to the target.
    TOPIC_RECREATED = "TOPIC_RECREATED"
    LOG_TRUNCATED = "LOG_TRUNCATED"
    PARTITIONS_DIFFER = "PARTITIONS_DIFFER"
    NOT_INDEXED = "NOT_INDEXED"
    TOPIC_MISSING = "TOPIC_MISSING"
    TOPIC_UNAUTHORIZED = "TOPIC_UNAUTHORIZED"  # it may not be described, so nobody can tell whether it is there
    COMMIT_BEYOND_END = "COMMIT_BEYOND_END"
    CLUSTER_UNREACHABLE = "CLUSTER_UNREACHABLE"
    STRATEGY_REFUSED = "STRATEGY_REFUSED"  # it could lose records of this topic
    NO_REFERENCE = "NO_REFERENCE"  # the strategy finds nothing to go by, and the topic is not idle

    @property
    def is_withheld(self) -> bool:
        """True where the state is a reason not to answer."""
        return self not in _ANSWERS


_ANSWERS = frozenset({State.EXACT, State.AT_FRONTIER, State.INDEX_BEHIND, State.APPROXIMATE, State.REWIND})


class Outcome(str, Enum):
    """What became of an answer at the target (column ``outcome`` of offset_translations)."""

    COMMITTED = "COMMITTED"
    UNCHANGED = "UNCHANGED"
    NOT_FORWARD = "NOT_FORWARD"
    TARGET_ACTIVE = "TARGET_ACTIVE"
    FAILED = "FAILED"
    DRY_RUN = "DRY_RUN"
    WITHHELD = "WITHHELD"


class Rule(str, Enum):
    """What may be done to the value that stands at the target."""

    SET = "SET"  # ours, or nothing stands there: up or down
    FORWARD = "FORWARD"  # somebody else's, older than the source's commit
    FOLLOW = "FOLLOW"  # somebody else's, but the source went back after it: an operator's reset


@dataclass(frozen=True)
class TopicPartition:
    """A partition of a topic, on any cluster."""

    topic: str
    partition: int


@dataclass(frozen=True)
class OffsetWrite:
    """One value wanted at a target: what to write, and what we believe stands there now.

    *expected_offset* is the value last seen at the target (None: nothing). A different value found there was
    written by somebody since, so it is left alone: writing over it could move a group past records it never read.
    """

    group_id: str
    topic: str
    partition: int
    offset: int
    metadata: str
    rule: Rule
    expected_offset: int | None
    refresh: bool = False


@dataclass(frozen=True)
class WriteOutcome:
    """What became of one :class:`OffsetWrite`; *previous_offset* is what stood there before (None: nothing)."""

    group_id: str
    topic: str
    partition: int
    outcome: Outcome
    previous_offset: int | None
    error: str | None


@dataclass(frozen=True)
class RecordContent:
    """One record as its cluster holds it."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
