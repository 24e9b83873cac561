"""Logs of clusters in memory, as the command check asks for them; a silent cluster answers nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from offset_sync.check.judge import judge
from offset_sync.check.sample import ClusterSample, with_records
from offset_sync.config import Config, parse_config
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import LogEnds
from offset_sync.kafka.tail_reader import TailReader, TailRecord, Tails
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetRange, RecordContent, TopicPartition

Headers = Mapping[str, bytes]
NOW_MS = 1_795_000_000_000


def record(
    offset: int,
    headers: Headers | None = None,
    *,
    value: bytes | None = None,
    at_ms: int | None = None,
    is_appended: bool = False,
) -> TailRecord:
    """Return a record whose value and time follow from its offset unless they are given."""
    value = b"value %d" % offset if value is None else value
    at_ms = 1_000 + offset if at_ms is None else at_ms
    return TailRecord(RecordContent(offset, at_ms, b"key", value, tuple((headers or {}).items())), is_appended)


def natives(count: int, first: int = 0) -> list[TailRecord]:
    """Return records of a producer."""
    return [record(offset) for offset in range(first, first + count)]


def copied(originals: Sequence[TailRecord], headers: Headers | None = None, first: int = 0) -> list[TailRecord]:
    """Return copies of *originals* in this order, with the same headers on each beside their own."""
    found = []
    for offset, original in enumerate(originals, first):
        content = original.content
        added = (*content.headers, *(headers or {}).items())
        found.append(TailRecord(RecordContent(offset, content.timestamp_ms, content.key, content.value, added)))
    return found


def stamped(originals: Sequence[TailRecord], origin: bytes = b"dc1", first: int = 0) -> list[TailRecord]:
    """Return copies of *originals* that bear IDC and Offset."""
    return [
        copied([each], {"IDC": origin, "Offset": b"%d" % each.content.offset}, offset)[0]
        for offset, each in enumerate(originals, first)
    ]


@dataclass
class MemoryLogs(ClusterAdmin, TailReader):
    """One cluster by streams. It notes the *ranges* that it was asked for.

    *late* are logs that do not come in time.
    """

    alias: str
    logs: Mapping[TopicPartition, Sequence[TailRecord]]
    late: frozenset[TopicPartition] = frozenset()
    is_silent: bool = False
    ranges: list[tuple[TopicPartition, OffsetRange, bool]] = field(default_factory=list)

    def ends(self, partitions: Iterable[TopicPartition], deadline: float = 0.0) -> dict[TopicPartition, LogEnds]:
        self._answer()
        found = {}
        for place in {*partitions} & self.logs.keys():
            offsets = [each.content.offset for each in self.logs[place]]
            found[place] = LogEnds(offsets[0], offsets[-1] + 1) if offsets else LogEnds(0, 0)
        return found

    def read(
        self, ranges: Mapping[TopicPartition, OffsetRange], deadline: float = 0.0, *, is_committed: bool = True
    ) -> Tails:
        self._answer()
        self.ranges += [(place, each, is_committed) for place, each in ranges.items()]
        found = {
            place: [each for each in self.logs[place] if wanted.start <= each.content.offset < wanted.end]
            for place, wanted in ranges.items()
            if place not in self.late
        }
        return Tails(found, self.late & ranges.keys())

    def offsets_at(self, times: Mapping[TopicPartition, int], deadline: float = 0.0) -> dict[TopicPartition, int]:
        self._answer()
        at = {p: [r.content.offset for r in self.logs[p] if r.content.timestamp_ms >= t] for p, t in times.items()}
        return {place: offsets[0] for place, offsets in at.items() if offsets}

    def _answer(self) -> None:
        if self.is_silent:
            raise ClusterError(self.alias, "no answer")


def known_config(aliases: Sequence[str] = ("dc1", "dc2"), **sections: Any) -> Config:
    """Return a configuration of these clusters."""
    clusters = {alias: {"kafka": {"bootstrap.servers": f"{alias}:1"}} for alias in aliases}
    return parse_config({"clusters": clusters, "topics": {"include": [".*"]}, **sections}, {})


def asked(
    config: Config, logs: Mapping[str, Mapping[str, Sequence[TailRecord]]], **more: Mapping[str, Any]
) -> dict[str, ClusterSample]:
    """Return clusters with *logs*: by cluster and by what it calls a log, ``orders`` (partition 0) or ``orders/1``.

    We may read all of them. *more* are other fields of :class:`MemoryLogs`, by cluster.
    """
    clusters = {}
    for alias, named in logs.items():
        streams = {place_of(config, alias, name): records for name, records in named.items()}
        counts: dict[str, int] = {}
        for place in streams:
            counts[place.topic] = max(counts.get(place.topic, 0), place.partition + 1)
        source = MemoryLogs(alias, streams, **{name: each[alias] for name, each in more.items() if alias in each})
        rights = {config.names.outside(alias, each): frozenset({"READ"}) for each in counts}
        clusters[alias] = ClusterSample(alias, source, source, topics=rights, partitions=counts)
    return clusters


def silent_cluster(**answers: Any) -> ClusterSample:
    """Return dc2, which has given these *answers* and is asked for no more."""
    source = MemoryLogs("dc2", {}, is_silent=True)
    return ClusterSample("dc2", source, source, **answers)


def place_of(config: Config, alias: str, name: str) -> TopicPartition:
    """Return the log that *alias* calls so, by stream."""
    topic, _, partition = name.partition("/")
    return TopicPartition(config.names.inside(alias, topic), int(partition or 0))


def told(config: Config, clusters: Mapping[str, ClusterSample]) -> dict[str, list[str]]:
    """Return what is found, ``LEVEL check: text`` by place."""
    found: dict[str, list[str]] = {f"clusters.{alias}": [] for alias in clusters}
    for each in judge(with_records(config, clusters, {})):
        found.setdefault(each.place, []).append(f"{each.level.value} {each.check}: {each.text}")
    return found
