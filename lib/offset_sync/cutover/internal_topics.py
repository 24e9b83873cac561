"""The internal topics of Kafka Streams applications: what a move of their groups would leave behind.

An application's group is its ``application.id``, and so is the prefix of its topics' names::

    orders ──▶ APP-…-repartition ──▶ store ──▶ APP-…-changelog
    the group commits both             committed by no group, read to restore the store

An application cannot rename them. So a repartition topic moves like any other if it is included and has the same name
at the target; the records of one that does not move have to be processed before, or they are lost. A store is right at
the target if its changelog ends there with the same record. Errs to not moving.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from offset_sync.config import Config
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import Committed, LogEnds, Reach, TopicInfo
from offset_sync.kafka.tail_reader import Pair, TailReader, TailRecord, Tails
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetRange, TopicPartition

# As Kafka's own StreamsResetter knows them.
_CHANGELOG = "-changelog"
_REPARTITION = re.compile(
    r".+(-repartition|-subscription-(registration|response)-topic"
    r"|-KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic)"
)
_NEAR = 1_000
"""Offsets behind a commit that are read: without a record they are transaction markers, and nothing is left."""
_TAIL = 100
_DOCS = "docs/operations.md, Kafka Streams"


@dataclass(frozen=True)
class InternalTopics:
    """Those of one application, as lines.

    *unprocessed*: records that a move would lose. *not_restorable*: stores that would not be restored as they are.
    *notes*: what is in order, and stores that begin empty.
    """

    unprocessed: list[str] = field(default_factory=list)
    not_restorable: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Requests(Protocol):
    """Requests to one cluster, by its own names; see :class:`offset_sync.kafka.cluster_admin.ClusterAdmin`."""

    alias: str

    def topics(self) -> Mapping[str, TopicInfo]: ...
    def ends(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, LogEnds]: ...
    def reaches(self, is_wanted: Callable[[str], bool]) -> Mapping[TopicPartition, Reach]: ...
    def committed_offsets(
        self, groups: list[str]
    ) -> Mapping[str, Mapping[TopicPartition, Committed] | ClusterError]: ...


class Reader(Protocol):
    """Reads ranges of logs, see :class:`offset_sync.kafka.tail_reader.TailReader`."""

    def read(self, ranges: Mapping[TopicPartition, OffsetRange]) -> Tails: ...


@dataclass(frozen=True)
class Cluster:
    """One side of a move."""

    requests: Requests
    reader: Reader

    @property
    def alias(self) -> str:
        """Its alias."""
        return self.requests.alias

    def read(self, ranges: Mapping[TopicPartition, OffsetRange]) -> Tails:
        """Return the committed records of *ranges*; all logs are unread if no record came in time."""
        try:
            return self.reader.read(ranges) if ranges else Tails()
        except ClusterError:
            return Tails(unread=frozenset(ranges))

    def newest(self, places: Collection[TopicPartition]) -> dict[TopicPartition, TailRecord | None]:
        """Return the last record of each log, None where it is unknown; empty logs are left out."""
        ends = self.requests.ends(places)
        ranges = {
            each: OffsetRange(max(end.log_start, end.log_end - _TAIL), end.log_end)
            for each, end in ends.items()
            if end.log_end > end.log_start
        }
        tails = self.read(ranges)
        found = dict.fromkeys((each for each in places if each not in ends), None)
        for each in ranges:
            records = tails.records.get(each)
            found[each] = records[-1] if records and each not in tails.unread else None
        return found

    def unprocessed(self, topic: str, partitions: int, group_id: str) -> int | None:
        """Return how many offsets of *topic* a group has not processed; None: unknown.

        Errs to too many: those without a record count too, unless no record follows the group's commit.
        """
        places = [TopicPartition(topic, number) for number in range(partitions)]
        committed = self.requests.committed_offsets([group_id])[group_id]
        starts, reaches = self.requests.ends(places), self.requests.reaches(topic.__eq__)
        if isinstance(committed, ClusterError) or any(each not in starts or each not in reaches for each in places):
            return None
        left, near = dict[TopicPartition, int](), dict[TopicPartition, OffsetRange]()
        for each in places:
            own, reach = committed.get(each), reaches[each]
            first = max(starts[each].log_start, own.offset if own is not None else 0)
            if reach.high > first:
                left[each] = reach.high - first
                if left[each] <= _NEAR and reach.stable == reach.high:
                    near[each] = OffsetRange(first, reach.high)
        tails = self.read(near)
        is_empty = [each for each in near if each not in tails.unread and not tails.records.get(each)]
        return sum(count for each, count in left.items() if each not in is_empty)


@dataclass(frozen=True)
class StreamsApplications:
    """Looks at the applications of groups that move from *source* to *target*; *moves* tells which topics do."""

    source: Cluster
    target: Cluster
    moves: Callable[[str], bool]

    def look(
        self, groups: Collection[str], committed: Collection[tuple[str, str]], *, asks_source: bool = True
    ) -> dict[str, InternalTopics]:
        """Return the internal topics of those of *groups* that have some.

        *committed* are all groups that have offsets at the source, each with a topic of these. Raises ClusterError if a
        cluster does not answer.
        """
        there = self.target.requests.topics()
        here = self.source.requests.topics() if asks_source else {}
        owners, found = _Owners(committed, groups), dict[str, InternalTopics]()
        for topic in sorted({topic for _, topic in committed}.union(here if asks_source else there)):
            is_store = topic.endswith(_CHANGELOG)
            if not is_store and (self.moves(topic) or not _REPARTITION.fullmatch(topic)):
                continue
            for owner in owners.of_store(topic) if is_store else owners.of_repartition_topic(topic):
                if owner in groups:
                    one = found.setdefault(owner, InternalTopics())
                    self._look_at(owner, topic, here.get(topic), there.get(topic), one, asks_source=asks_source)
        return found

    def _look_at(
        self,
        group_id: str,
        topic: str,
        here: TopicInfo | None,
        there: TopicInfo | None,
        one: InternalTopics,
        *,
        asks_source: bool,
    ) -> None:
        is_store, source = topic.endswith(_CHANGELOG), self.source.alias
        if here is not None and is_store:
            self._look_at_store(topic, here.partitions, there, one)
        elif here is not None:
            self._look_at_repartition_topic(group_id, topic, here.partitions, there, one)
        elif asks_source and not is_store:  # it has offsets there, so it is there, and hidden from us
            text = f"{topic} does not move: what is not processed would be lost, and it cannot be described at {source}"
            one.unprocessed.append(f"{text}; grant Read on it")
        elif is_store:
            one.notes.append(f"{topic} may be ahead of the offsets at {self.target.alias}, or behind ({_DOCS})")
        else:
            one.notes.append(f"{topic} does not move: what was not processed at {source} is lost")

    def _look_at_repartition_topic(
        self, group_id: str, topic: str, partitions: int, there: TopicInfo | None, one: InternalTopics
    ) -> None:
        left = self.source.unprocessed(topic, partitions, group_id)
        if left == 0:
            one.notes.append(f"{topic} does not move: it is processed to its end")
        else:
            remedy = f"let the application process them at {self.source.alias}, or mirror and include the topic"
            one.unprocessed.append(f"{topic} does not move: {_counted(left)} not processed would be lost; {remedy}")
        if there is not None and (left := self.target.unprocessed(topic, there.partitions, group_id)) != 0:
            one.notes.append(f"{topic}: {_counted(left)} at {self.target.alias} will be processed there")

    def _look_at_store(self, topic: str, partitions: int, there: TopicInfo | None, one: InternalTopics) -> None:
        alias, places = self.target.alias, [TopicPartition(topic, number) for number in range(partitions)]
        if there is None:
            one.notes.append(f"{topic} is not at {alias}: its store begins empty there ({_DOCS})")
            return
        newest, copies = self.source.newest(places), self.target.newest(places)
        if newest.keys() == copies.keys() and all(_is_same(each, copies[place]) for place, each in newest.items()):
            one.notes.append(f"{topic} is mirrored: delete state.dir before the start at {alias} ({_DOCS})")
            return
        text = f"{topic} at {alias} does not end with the newest record of {self.source.alias}"
        one.not_restorable.append(
            f"{text}; wait for the mirror, or delete it at {alias} and rebuild its store ({_DOCS})"
        )


def open_applications(config: Config, source: str, target: str) -> StreamsApplications:
    """Return what looks at applications that move from *source* to *target*; no cluster is asked yet."""

    def moves(topic: str) -> bool:
        stream = config.names.inside(source, topic)
        return config.is_topic_included(stream) and config.names.topic(target, stream) == topic

    return StreamsApplications(_cluster(config, source), _cluster(config, target), moves)


def _cluster(config: Config, alias: str) -> Cluster:
    options = config.admin_options(alias)
    return Cluster(ClusterAdmin(alias, options), TailReader(alias, options))


class _Owners:
    """Tells which applications a topic may belong to: ids, with a hyphen, that are prefixes of its name.

    *committed* are groups with a topic that they have committed. Errs to too many.
    """

    def __init__(self, committed: Iterable[tuple[str, str]], groups: Collection[str]) -> None:
        self._known, self._of_topic = {*groups}, dict[str, set[str]]()
        for group_id, topic in committed:
            self._known.add(group_id)
            if topic.startswith(f"{group_id}-") and _REPARTITION.fullmatch(topic):
                self._of_topic.setdefault(topic, set()).add(group_id)
        self._applications = {group_id for owners in self._of_topic.values() for group_id in owners}

    def of_repartition_topic(self, topic: str) -> Collection[str]:
        """Return the groups that have committed it; if none has, all that may be its owner."""
        return self._of_topic.get(topic) or self._prefixes(topic)

    def of_store(self, topic: str) -> Collection[str]:
        """Return the longest id, of the applications with a repartition topic if there is one of these."""
        prefixes = self._prefixes(topic)
        return [each for each in prefixes if each in self._applications][:1] or prefixes[:1]

    def _prefixes(self, topic: str) -> list[str]:
        """Return the ids that may be the owner's, the longest first."""
        ends = [number for number, sign in enumerate(topic) if sign == "-" and topic[:number] in self._known]
        return [topic[:end] for end in reversed(ends)]


def _counted(count: int | None) -> str:
    if count is None:
        return "an unknown number of records (grant Read on it, Describe on the group)"
    return f"{count:,} record{'' if count == 1 else 's'}"


def _is_same(here: TailRecord | None, there: TailRecord | None) -> bool:
    """Whether the last records of a changelog at both clusters are known to be the same."""
    if here is None or there is None:
        return False
    pair = Pair(there, here)
    return pair.is_same and (pair.keeps_time or here.is_appended or there.is_appended)
