"""Doors to a cluster whose topics have other names inside: who asks names streams, Kafka hears and says topics.

With the same names everywhere there is no door: the functions at the end open what is behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from offset_sync.kafka.cluster_admin import DEADLINE_S, ClusterAdmin
from offset_sync.kafka.error_codes import NotAuthorizedError
from offset_sync.kafka.group_offset_answers import Errors
from offset_sync.kafka.leader_epochs import LeaderEpochs
from offset_sync.kafka.partition_answer import Committed, ManyGroups
from offset_sync.kafka.range_reader import PATIENCE_S, Chunk, OffsetRange, RangeReader
from offset_sync.kafka.record_reader import RecordReader
from offset_sync.kafka.tail_reader import TailReader, Tails
from offset_sync.kafka.topic_metadata import LogEnds, Reach, TopicInfo
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import EpochChange, OffsetWrite, RecordContent, ToldEnd, TopicPartition

Found = TypeVar("Found")
_NO_NAME = "UNKNOWN_TOPIC_OR_PART"
"""The error for a stream that a cluster has no topic for."""


class TopicNames(Protocol):
    """What topics are called where, see :class:`offset_sync.config.stream_names.Names`."""

    @property
    def is_same(self) -> bool:
        """Whether every topic has the same name everywhere."""

    def inside(self, cluster: str, topic: str) -> str:
        """Return the stream that *cluster* calls *topic*."""

    def called(self, cluster: str, stream: str) -> str | None:
        """Return what *cluster* calls *stream*; None where it has no name for it."""


@dataclass(frozen=True)
class _Door:
    """Names at the cluster *alias*. A stream that has none there is not asked for: its own might be another one's."""

    alias: str
    names: TopicNames

    def out(self, streams: Iterable[str]) -> dict[str, str]:
        """Return each stream by its name."""
        names = ((self.names.called(self.alias, each), each) for each in streams)
        return {name: stream for name, stream in names if name is not None}

    def outs(self, places: Mapping[TopicPartition, Found]) -> dict[TopicPartition, Found]:
        """Return what is known of partitions of streams, by their names."""
        name_of = {stream: name for name, stream in self.out({place.topic for place in places}).items()}
        return {
            TopicPartition(name_of[stream], number): each
            for (stream, number), each in places.items()
            if stream in name_of
        }

    def ins(self, places: Mapping[TopicPartition, Found]) -> dict[TopicPartition, Found]:
        """Return what is known of partitions, by streams."""
        inside, alias = self.names.inside, self.alias
        return {TopicPartition(inside(alias, topic), number): each for (topic, number), each in places.items()}

    def topics_in(self, topics: Mapping[str, Found]) -> dict[str, Found]:
        """Return what is known of topics, by streams."""
        return {self.names.inside(self.alias, topic): each for topic, each in topics.items()}


class NamedClusterAdmin(ClusterAdmin):
    """A :class:`ClusterAdmin` that is asked about streams, and answers so."""

    def __init__(self, alias: str, options: Mapping[str, str], names: TopicNames, **more: Any) -> None:
        super().__init__(alias, options, **more)
        self._door = _Door(alias, names)

    def take_names(self, names: TopicNames) -> None:
        """Go by *names*, which know more by now."""
        self._door = _Door(self.alias, names)

    def topics(self, deadline: float = DEADLINE_S) -> dict[str, TopicInfo]:
        """Return every topic that is not internal and that we may describe; others do not show in a list."""
        return self._door.topics_in(super().topics(deadline))

    def topic_names(self, deadline: float = DEADLINE_S) -> list[str]:
        """Return the same by the cluster's own names."""
        return list(super().topics(deadline))

    def describe(
        self, topics: Iterable[str], deadline: float = DEADLINE_S
    ) -> dict[str, TopicInfo | NotAuthorizedError]:
        """Return what is known of *topics*, or the error if we may not describe them; unknown ones are left out."""
        return self._door.topics_in(super().describe(self._door.out(topics), deadline))

    def unreadable(self, topics: Iterable[str], deadline: float = DEADLINE_S) -> dict[str, NotAuthorizedError]:
        """Return those of *topics* that we may describe but not read."""
        return self._door.topics_in(super().unreadable(self._door.out(topics), deadline))

    def ends(self, partitions: Iterable[TopicPartition], deadline: float = DEADLINE_S) -> dict[TopicPartition, LogEnds]:
        """Return the log ends; partitions that are not there, or of which nobody can tell now, are left out."""
        return self._door.ins(super().ends(self._door.outs(dict.fromkeys(partitions)), deadline))

    def reaches(self, is_wanted: Callable[[str], bool], deadline: float = DEADLINE_S) -> dict[TopicPartition, Reach]:
        """Return how far each partition of the wanted topics can be read; where nobody can tell now it is left out."""
        inside = self._door.names.inside
        return self._door.ins(super().reaches(lambda topic: is_wanted(inside(self.alias, topic)), deadline))

    def committed_offsets(
        self, groups: Sequence[str], deadline: float = DEADLINE_S
    ) -> dict[str, dict[TopicPartition, Committed] | ClusterError]:
        """Return what each group has committed; see :meth:`ClusterAdmin.committed_offsets`."""
        found = super().committed_offsets(groups, deadline)
        return {g: each if isinstance(each, ClusterError) else self._door.ins(each) for g, each in found.items()}

    def write_offsets(
        self,
        writes: Mapping[str, Sequence[OffsetWrite]],
        deadline: float = DEADLINE_S,
        may_send: Callable[[], bool] = lambda: True,
    ) -> dict[str, Errors | ClusterError]:
        """Commit each group's offsets; see :meth:`ClusterAdmin.write_offsets`."""
        absent: dict[str, Errors] = {}
        named: dict[str, list[OffsetWrite]] = {}
        for group, wanted in writes.items():
            called = {each.topic: self._door.names.called(self.alias, each.topic) for each in wanted}
            known = [(each, name) for each in wanted if (name := called[each.topic]) is not None]
            named[group] = [replace(each, topic=name) for each, name in known]
            nowhere = [each for each in wanted if called[each.topic] is None]
            absent[group] = {TopicPartition(each.topic, each.partition): _NO_NAME for each in nowhere}
        answers = super().write_offsets(named, deadline, may_send)
        return {
            group: found if isinstance(found, ClusterError) else {**absent[group], **self._door.ins(found)}
            for group, found in answers.items()
        }


class NamedRecordReader(RecordReader):
    """A :class:`RecordReader` that is asked about streams, and answers so."""

    def __init__(self, alias: str, options: Mapping[str, str], names: TopicNames) -> None:
        super().__init__(alias, options)
        self._door = _Door(alias, names)

    def first_at(
        self, offsets: Mapping[TopicPartition, int], deadline: float = 10.0
    ) -> dict[TopicPartition, RecordContent] | ClusterError:
        """Return the first record at or above each offset; partitions of which none came in time are left out."""
        found = super().first_at(self._door.outs(offsets), deadline)
        return found if isinstance(found, ClusterError) else self._door.ins(found)


class NamedRangeReader(RangeReader):
    """A :class:`RangeReader` that is asked about streams; records come as Kafka has them, as from Spark's source."""

    def __init__(self, alias: str, options: Mapping[str, str], names: TopicNames) -> None:
        super().__init__(alias, options, PATIENCE_S)
        self._door = _Door(alias, names)

    def read(self, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[Chunk]:
        """Yield every record of the *ranges*, under the cluster's own names; see :meth:`RangeReader.read`."""
        return super().read(self._door.outs(ranges))


class NamedTailReader(TailReader):
    """A :class:`TailReader` that is asked about streams, and answers so."""

    def __init__(self, alias: str, options: Mapping[str, str], names: TopicNames) -> None:
        super().__init__(alias, options)
        self._door = _Door(alias, names)

    def read(
        self, ranges: Mapping[TopicPartition, OffsetRange], deadline: float = 10.0, *, is_committed: bool = True
    ) -> Tails:
        """Return the records of the *ranges* that come in time; see :meth:`TailReader.read`."""
        found = super().read(self._door.outs(ranges), deadline, is_committed=is_committed)
        return Tails(self._door.ins(found.records), frozenset(self._door.ins(dict.fromkeys(found.unread))))

    def offsets_at(self, times: Mapping[TopicPartition, int], deadline: float = 10.0) -> dict[TopicPartition, int]:
        """Return where the first record stands that is not older than a time; see :meth:`TailReader.offsets_at`."""
        return self._door.ins(super().offsets_at(self._door.outs(times), deadline))


class NamedLeaderEpochs(LeaderEpochs):
    """:class:`LeaderEpochs` that are asked about streams, and answer so."""

    def __init__(self, alias: str, options: Mapping[str, str], names: TopicNames) -> None:
        super().__init__(alias, options)
        self._door = _Door(alias, names)

    def ends_in_time(
        self, epochs: Mapping[TopicPartition, EpochChange], deadline: float = 5.0
    ) -> dict[TopicPartition, ToldEnd]:
        """Return where epochs end, of those partitions that answer within *deadline* (seconds)."""
        return self._door.ins(super().ends_in_time(self._door.outs(epochs), deadline))


def open_admin(
    alias: str,
    options: Mapping[str, str],
    names: TopicNames,
    *,
    requests_in_flight: int = 500,
    at_once: ManyGroups | None = None,
) -> ClusterAdmin:
    """Return who asks the cluster *alias* about streams."""
    if names.is_same:
        return ClusterAdmin(alias, options, requests_in_flight=requests_in_flight, at_once=at_once)
    return NamedClusterAdmin(alias, options, names, requests_in_flight=requests_in_flight, at_once=at_once)


def open_epochs(alias: str, options: Mapping[str, str], names: TopicNames) -> LeaderEpochs:
    """Return who asks the leaders of a cluster about streams."""
    return LeaderEpochs(alias, options) if names.is_same else NamedLeaderEpochs(alias, options, names)


def open_reader(alias: str, options: Mapping[str, str], names: TopicNames) -> RecordReader:
    """Return who reads single records of streams."""
    return RecordReader(alias, options) if names.is_same else NamedRecordReader(alias, options, names)


def open_ranges(alias: str, options: Mapping[str, str], names: TopicNames) -> RangeReader:
    """Return who reads stretches of streams."""
    return RangeReader(alias, options) if names.is_same else NamedRangeReader(alias, options, names)


def open_tails(alias: str, options: Mapping[str, str], names: TopicNames) -> TailReader:
    """Return who reads the newest records of streams."""
    return TailReader(alias, options) if names.is_same else NamedTailReader(alias, options, names)
