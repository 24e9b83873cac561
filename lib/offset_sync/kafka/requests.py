"""Rules shared by all requests to a cluster, and the meaning of answers: names, values, time, retries, errors.

It imports no client. Callers use streams, Kafka uses topics: :class:`Door` converts between them.

Names of errors are those of ``rd_kafka_err2name``: a leading underscore marks errors of the client itself.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from offset_sync.model.errors import ClusterError
from offset_sync.model.stream_names import SAME_NAMES, Names
from offset_sync.model.values import CONSUMER_OFFSETS, OffsetWrite, TopicPartition

LONGEST_S = 3600.0
"""librdkafka's longest timeout of an admin request, which all of ours have.

We stop waiting earlier, and leave the answer unread. A timeout inside the client may end the process: SIGABRT for a
group whose coordinator is found later (librdkafka issue 4605), and a double free for ListOffsets (2.16, seen with a
paused broker; ``broker/test_silent_clusters.py``).
"""
_WIRE_STRING_BYTES = 32_767
_INT32_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1
_RECORD_BYTES = 80
_MOST_BYTES = 2**19  # half of Kafka's default of max.message.bytes
_LEAST_BYTES = 2**10  # no cluster has smaller batches, and UNKNOWN has other causes
_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0
_TO_US = "to the principal of this program (docs/operations.md, Minimal ACLs)"
_OWN_GROUPS = "offset-sync"
Found = TypeVar("Found")
Errors: TypeAlias = "dict[TopicPartition, str | None]"
"""Per partition None (done) or a text that begins with the Kafka error name."""


@dataclass(frozen=True)
class Clock:
    """Monotonic seconds and a sleep."""

    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep


SYSTEM_CLOCK = Clock()


def attempts(ends_at: float, clock: Clock = SYSTEM_CLOCK) -> Iterator[float]:
    """Yield the seconds left at each attempt: at least once, then again after each pause until *ends_at*.

    The caller retries only what failed, and leaves the loop when nothing is left. No retry starts at or after
    *ends_at*; pauses grow.
    """
    pause_s = _FIRST_PAUSE_S
    yield ends_at - clock.now()
    while clock.now() + pause_s < ends_at:
        clock.pause(pause_s)
        yield ends_at - clock.now()
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def side_by_side(ask: Callable[[str], Found], aliases: Collection[str]) -> dict[str, Found | ClusterError]:
    """Return what *ask* returns for each cluster, or its ClusterError; a silent one does not block others."""

    def asked(alias: str) -> Found | ClusterError:
        try:
            return ask(alias)
        except ClusterError as error:
            return error

    with ThreadPoolExecutor(max(1, len(aliases))) as pool:
        return dict(zip(aliases, pool.map(asked, aliases), strict=True))


# Values that must not reach the client, because C or the wire format would truncate them or wrap them round. A bad
# value must fail its own row only: a string above 32,767 bytes makes the broker close the connection with hundreds of
# other requests on it, and a NUL would silently name *another* group.


def invalid_group(group_id: str) -> str | None:
    """Return why no request can be made for *group_id*, or None."""
    if not group_id:
        return "the empty group id has no coordinator that a client could look up"
    if "\0" in group_id:
        return "the group id contains a NUL, which would name another group"
    try:
        size = len(group_id.encode())
    except UnicodeEncodeError:  # a lone surrogate
        return "the group id is not valid Unicode"
    if size > _WIRE_STRING_BYTES:
        return f"the group id takes {size} bytes, more than {_WIRE_STRING_BYTES}"
    return None


def invalid_write(write: OffsetWrite) -> str | None:
    """Return why *write* cannot be sent, or None; it begins with a Kafka error name."""
    if not is_topic_name(write.topic):
        return "_INVALID_ARG: invalid topic name"
    if not 0 <= write.partition <= _INT32_MAX:
        return f"_INVALID_ARG: partition {write.partition} is out of range"
    if not 0 <= write.offset <= _INT64_MAX:
        return f"_INVALID_ARG: offset {write.offset} is out of range"
    if write.leader_epoch is not None and not 0 <= write.leader_epoch <= _INT32_MAX:
        return f"_INVALID_ARG: leader epoch {write.leader_epoch} is out of range"
    return None


def partition_of(write: OffsetWrite) -> TopicPartition:
    """Return the partition of *write*."""
    return TopicPartition(write.topic, write.partition)


class CommitParts:
    """Cuts the commit of a group into parts, of which each fits into a batch of ``__consumer_offsets``.

    A coordinator stores a request as one batch or not at all, and refuses one above the topic's ``max.message.bytes``:
    before Kafka 4.0 with INVALID_COMMIT_OFFSET_SIZE, since then with UNKNOWN, as for any other failure. Then parts
    become half as large, for all groups. What was refused is :data:`SPLIT`: the caller has to read the target before
    it retries. Errs to small parts, until the client is replaced.
    """

    def __init__(self) -> None:
        self._most_bytes = _MOST_BYTES

    def of(self, writes: Iterable[OffsetWrite]) -> list[list[OffsetWrite]]:
        """Return the parts of *writes*, which are of one group; a write that is larger by itself has its own part."""
        parts, left = list[list[OffsetWrite]](), 0
        for write in writes:
            size = _stored_bytes(write)
            if size > left:
                parts.append([])
                left = self._most_bytes
            parts[-1].append(write)
            left -= size
        return parts

    def noted(self, part: Sequence[OffsetWrite], errors: Errors) -> Errors:
        """Return *errors* with SPLIT where smaller parts of *part* may be accepted."""
        size = sum(map(_stored_bytes, part))
        if len(part) == 1 or size <= _LEAST_BYTES or _TOO_LARGE.isdisjoint(errors.values()):
            return errors
        self._most_bytes = min(self._most_bytes, size // 2)
        return {each: SPLIT if error in _TOO_LARGE else error for each, error in errors.items()}


def _stored_bytes(write: OffsetWrite) -> int:
    """Return an upper bound of the bytes that *write* takes in a batch: its record has 46 to 70 beside the texts."""
    return _RECORD_BYTES + len(f"{write.group_id}{write.topic}{write.metadata}".encode())


def is_topic_name(topic: str) -> bool:
    """Return whether Kafka would accept *topic* as a name."""
    return _TOPIC_NAME.fullmatch(topic) is not None and topic not in (".", "..")


@dataclass(frozen=True)
class Door:
    """Converts names at the cluster *alias*.

    A stream without a topic there is not requested: a topic of its name might be another stream's.
    """

    alias: str
    names: Names = SAME_NAMES

    def name(self, stream: str) -> str | None:
        """Return the cluster's topic of *stream*; None if it has none."""
        return self.names.called(self.alias, stream)

    def stream(self, topic: str) -> str:
        """Return the stream of the cluster's *topic*."""
        return self.names.inside(self.alias, topic)

    def topics(self, streams: Iterable[str]) -> list[str]:
        """Return the topics of *streams*."""
        return [name for name in map(self.name, streams) if name is not None]

    def streams(self, topics: Mapping[str, Found]) -> dict[str, Found]:
        """Return values by topic as values by stream."""
        return {self.stream(topic): each for topic, each in topics.items()}

    def out(self, places: Mapping[TopicPartition, Found]) -> dict[TopicPartition, Found]:
        """Return values by partition of streams as values by partition of topics."""
        names = {stream: self.name(stream) for stream in {place.topic for place in places}}
        return {
            TopicPartition(name, number): each
            for (stream, number), each in places.items()
            if (name := names[stream]) is not None
        }

    def into(self, places: Mapping[TopicPartition, Found]) -> dict[TopicPartition, Found]:
        """Return values by partition of topics as values by partition of streams."""
        return {TopicPartition(self.stream(topic), number): each for (topic, number), each in places.items()}


@dataclass(frozen=True)
class TopicInfo:
    """*topic_id* in canonical hexadecimal form (36 characters): another id is another topic of the same name.

    *leaders* are the ids of brokers by partition, where one leads now; *operations* those that we may do, if asked for.
    """

    topic_id: str
    partitions: int
    leaders: Mapping[int, int] = field(default_factory=dict, compare=False)
    operations: frozenset[str] = field(default=frozenset(), compare=False)
    is_internal: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class LogEnds:
    """The offsets a partition holds, half-open; *log_end* is the high watermark.

    *leader_epoch* is the present one: another means that another leader was elected; None where unknown.
    """

    log_start: int
    log_end: int
    leader_epoch: int | None = None


@dataclass(frozen=True)
class Reach:
    """How far a log can be read: up to *stable* if only committed records count, up to *high* otherwise.

    *stable* is the last stable offset, where the oldest open transaction begins; it is never above *high*.
    """

    stable: int
    high: int


class PartitionAnswer(NamedTuple):
    """The broker's answer for one partition; *error* and *leader_epoch* are None for none."""

    topic: str
    partition: int
    offset: int
    metadata: str
    error: str | None
    leader_epoch: int | None = None


@dataclass(frozen=True)
class Committed:
    """The committed offset of one partition of a group; consumers and we commit a leader epoch, tools do not."""

    offset: int
    metadata: str
    leader_epoch: int | None = field(default=None, compare=False)


class ManyGroups(Hashable, Protocol):
    """A faster way to read many groups, which may leave out any of them; see ``sync.groups_at_once``."""

    def read(self, groups: Sequence[str], seconds: float) -> Mapping[str, list[PartitionAnswer]]: ...


class TransientError(ClusterError):
    """A retry may succeed a little later."""


class SilentError(TransientError):
    """No answer at all: a group's coordinator is silent, and may be for long."""


class NotAuthorizedError(ClusterError):
    """We may not describe a topic, or not read it.

    If we may not describe it, it is unknown whether it exists, so it must not be taken for absent.
    """

    def __init__(self, cluster: str, topic: str, operation: str = "Describe") -> None:
        or_else = "" if topic.startswith("__") else ", or exclude the topic in the configuration"
        or_else = f", or set clusters.{cluster}.commits: admin" if topic == CONSUMER_OFFSETS else or_else
        super().__init__(cluster, f"topic {topic}: {TOPIC_REFUSED}: {missing_right('topic', operation)}{or_else}")


def missing_right(what: str, operation: str) -> str:
    """Return which right to grant where an *operation* on *what*, a topic or a group, was refused."""
    remedy = "Read, which implies it," if operation == "Describe" else operation
    return f"the operation {operation} is not allowed; grant {remedy} on the {what} {_TO_US}"


def with_remedy(cluster: str, error: str | None) -> str | None:
    """Return the error of one partition of a group; one about rights continues with the missing right.

    A commit without a member is refused with GROUP_ID_NOT_FOUND for share groups only (Kafka 4.1 to 4.4): it would
    create a group that does not exist.
    """
    if error in (GROUP_REFUSED, TOPIC_REFUSED):
        what = "group" if error == GROUP_REFUSED else "topic"
        return f"{error}: clusters.{cluster}: {missing_right(what, 'Read')}"
    if error == "GROUP_ID_NOT_FOUND":
        remedy = "give one of the two groups another id, or list it in groups.exclude"
        return f"{error}: is a share group at {cluster}, whose offsets cannot be committed; {remedy}"
    return UNKNOWN if error == "UNKNOWN" else error


def explained(line: str) -> str:
    """Return a Java client's message, or the missing right if it reports that it was refused."""
    found = re.search(r"Not authorized to access (group|topic)s?: \[?([^\]]+)", line)
    if found is None:
        return line
    what, name = found[1], found[2].strip()
    missing = missing_right(what, "Read")
    if what == "group" and name.startswith(_OWN_GROUPS):
        missing = f"the operation Describe is not allowed; grant Describe on groups {_OWN_GROUPS}* {_TO_US}"
    return f"{what} {name}: {what.upper()}_AUTHORIZATION_FAILED: {missing}"


GROUP_REFUSED, TOPIC_REFUSED = "GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED"
"""The latter says nothing of whether the topic exists."""

THROTTLED = "THROTTLED: a quota of the cluster delays our requests; raise it, or set sync.max_commits_per_second"
"""Ours, of group_offsets: a request was not answered in time."""
THROTTLED_UNSENT = f"{THROTTLED} (not sent)"
"""The same: it was not sent in time, so a write was not applied."""

_TOO_LARGE = frozenset({"INVALID_COMMIT_OFFSET_SIZE", "MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "UNKNOWN"})
SPLIT = "INVALID_COMMIT_OFFSET_SIZE: too large for a batch of __consumer_offsets; retrying in smaller parts"
UNKNOWN = "UNKNOWN: see the broker's log, and compare max.message.bytes of __consumer_offsets"
"""Ours, for UNKNOWN of a single partition, or of few."""

UNREACHABLE = frozenset(
    {"_TIMED_OUT", "_TIMED_OUT_QUEUE", "_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "NETWORK_EXCEPTION"}
)
"""No answer. A write may still have been applied."""

MOVED_COORDINATOR = frozenset({"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"})
"""The broker is not the group's coordinator (now): look the coordinator up again."""

UNSTABLE = "UNSTABLE_OFFSET_COMMIT"
"""An open transaction has a pending commit for the partition."""

RETRIABLE = (
    UNREACHABLE
    | MOVED_COORDINATOR
    | {
        THROTTLED,
        THROTTLED_UNSENT,
        SPLIT,
        "REQUEST_NOT_SENT",  # ours, of group_offsets
        "COORDINATOR_LOAD_IN_PROGRESS",
        "REQUEST_TIMED_OUT",
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_FOR_PARTITION",
        "OFFSET_NOT_AVAILABLE",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "KAFKA_STORAGE_ERROR",
        "THROTTLING_QUOTA_EXCEEDED",
        UNSTABLE,
    }
)
"""A retry may succeed a little later."""

MAYBE_APPLIED = (
    UNREACHABLE
    | MOVED_COORDINATOR
    | {THROTTLED, "REQUEST_TIMED_OUT", "NOT_LEADER_FOR_PARTITION", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"}
    | {"KAFKA_STORAGE_ERROR", UNKNOWN, SPLIT}
)
"""Errors after which a write may still have been applied: the coordinator appends first, and answers afterwards."""

ACTIVE_GROUP = frozenset({"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", "STALE_MEMBER_EPOCH"})
"""The group has members, and the broker accepts offsets only from them (wire-format, section 7)."""

ABSENT_TOPIC = frozenset(
    {"UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "TOPIC_EXCEPTION", "_NOENT"}
)
"""The topic or the partition does not exist (or the name is not a valid one)."""
