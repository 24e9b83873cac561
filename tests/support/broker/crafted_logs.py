"""Logs written record by record on real clusters: what the end-to-end tests ask about.

A crafted log is a list with one entry per offset, as ``generators.mirrored_logs`` makes them: a record with its
identity, or None where there is to be none. Which offset a record got is compared with the place it was meant for.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from broker.committed_offsets import Partition, admin_for
from generators.mirrored_logs import World, write_logs
from offset_sync.model.values import TopicPartition
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of, client_options
from oracles.translation import MALFORMED, Case, Log, LogRecord

Clusters = Mapping[str, EmbeddedCluster]
Entries = Sequence["LogRecord | None"]
Headers = list[tuple[str, "bytes | None"]]

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Stamp:
    """How the mirror stamps its records."""

    value_of: Mapping[str, str] = field(default_factory=dict)  # header value by alias, where it is another
    since_ms: int = 0  # when the first record was produced, a ms before the next; copies are the same then. 0: now

    def headers(self, origin: str, offset: int) -> Headers:
        """Return the two headers of a mirrored record."""
        return [("IDC", self.value_of.get(origin, origin).encode()), ("Offset", b"%d" % offset)]

    def decorated(self, headers: Headers, number: int) -> Headers:
        """Return *headers* as they may come as well: in another order, among others, or behind wrong ones."""
        wrong: Headers = [("IDC", b"nowhere"), ("Offset", b"\xff" * 3)]
        return [headers, headers[::-1], [("trace", b"7"), *headers, ("", b"")], [*wrong, *headers]][number % 4]

    def native(self, number: int) -> Headers:
        """Return headers that make no mirrored record: none, others, one alone, or one without a value."""
        one, other = self.headers("dc2", 3)
        return [[], [("trace", b"7")], [one], [other], [one, ("Offset", None)], []][number % 6]

    def malformed(self, number: int, alias: str) -> Headers:
        """Return a pair of headers of which one cannot be read."""
        numbers = [b"", b"-1", b"12a", b" 7", b"9223372036854775808", b"1" * 20, "\u0663".encode()]
        pairs: list[Headers] = [[("IDC", b"dc1"), ("Offset", text)] for text in numbers]
        pairs += [[("IDC", name), self.headers(alias, 1)[1]] for name in (b"", b"\xff\xfe", b"x" * 250)]
        pairs.append(self.headers(alias, 1 << 40))  # of this very cluster, and not yet written
        return pairs[number % len(pairs)]


class _Segment(NamedTuple):
    """Records between two transaction borders; one that is no "plain" one ends in a marker."""

    kind: str  # plain, commit, abort
    entries: list[tuple[int, LogRecord | None]]


def crafted_logs(world: World, seed: int) -> dict[str, list[LogRecord | None]]:
    """Return the logs of a random history that brokers can hold."""
    for number in itertools.count(seed * 1000):
        logs = write_logs(world, random.Random(number))
        # Nothing but a record can make the first marker.
        if all(not each or each[0] is not None or each[1:2] == [None] for each in logs.values()):
            return logs
    raise AssertionError


def native_log(alias: str, count: int, first: int = 0) -> list[LogRecord | None]:
    """Return *count* records of the cluster's own producers."""
    return [LogRecord(offset, alias, offset) for offset in range(first, first + count)]


def copied_log(origin: str, offsets: Iterable[int], first: int = 0) -> list[LogRecord | None]:
    """Return mirrored records of *origin*, in this order."""
    return [LogRecord(first + place, origin, offset) for place, offset in enumerate(offsets)]


def create_topics(
    cluster: EmbeddedCluster, partitions: Mapping[str, int], config: Mapping[str, str] | None = None
) -> None:
    """Create topics and wait until their leaders are there."""
    admin = admin_of(cluster)
    topics = [NewTopic(name, count, 1, config=dict(config or {})) for name, count in partitions.items()]
    for future in admin.create_topics(topics).values():
        future.result(120)
    wait_for_ends(cluster, {(name, number): 0 for name, count in partitions.items() for number in range(count)})


def delete_topic(cluster: EmbeddedCluster, topic: str) -> None:
    """Delete a topic and return once the broker knows it no more."""
    admin = admin_of(cluster)
    admin.delete_topics([topic])[topic].result(120)
    while topic in admin.list_topics(timeout=120).topics:
        time.sleep(0.05)


def wait_for_ends(cluster: EmbeddedCluster, ends: Mapping[Partition, int]) -> None:
    """Return once each partition's log reaches that far."""
    kafka, until = admin_for(cluster), time.monotonic() + 120
    wanted = {TopicPartition(*place): end for place, end in ends.items()}
    while {place for place, found in kafka.ends(wanted).items() if found.log_end >= wanted[place]} < wanted.keys():
        assert time.monotonic() < until, "not there in time"
        time.sleep(0.02)


def write_log(cluster: EmbeddedCluster, logs: Mapping[Partition, Entries], stamp: Stamp | None = None) -> None:
    """Write what is missing of whole *logs*; AssertionError where an entry did not get the offset it says.

    Each place goes through its own segments; the n-th ones of all places share a flush and at most two transactions.
    """
    writer = _Writer(cluster, stamp or Stamp())
    ends = admin_for(cluster).ends([TopicPartition(*place) for place in logs])
    written = {(place.topic, place.partition): found.log_end for place, found in ends.items()}
    segments_of = {place: _segments(entries, written[place]) for place, entries in logs.items()}
    rounds = itertools.zip_longest(*([(place, each) for each in some] for place, some in segments_of.items()))
    for segments in rounds:
        by_kind: dict[str, list[tuple[Partition, _Segment]]] = {"plain": [], "commit": [], "abort": []}
        for place, segment in filter(None, segments):
            by_kind[segment.kind].append((place, segment))
        writer.write_plain(by_kind["plain"])
        writer.write_transaction(by_kind["commit"], commits=True)
        writer.write_transaction(by_kind["abort"], commits=False)
    assert writer.misplaced == [], writer.misplaced[:5]


def _segments(entries: Entries, written: int) -> list[_Segment]:
    """Cut entries where transactions have to begin and end: a marker takes an offset, and so does an aborted record."""
    segments: list[_Segment] = []
    numbered: list[tuple[int, LogRecord | None]] = list(enumerate(entries))[written:]
    for is_record, group in itertools.groupby(numbered, key=lambda each: each[1] is not None):
        stretch = list(group)
        if is_record:
            segments.append(_Segment("plain", stretch))
        elif len(stretch) > 1:
            segments.append(_Segment("abort", stretch[:-1]))
        else:
            records = segments.pop().entries
            size = min(len(records), 1 + len(records) % 3)
            segments += [_Segment("plain", records[:-size])] if records[:-size] else []
            segments.append(_Segment("commit", records[-size:]))
    return segments


class _Writer:
    def __init__(self, cluster: EmbeddedCluster, stamp: Stamp) -> None:
        self._cluster, self._stamp = cluster, stamp
        self._plain = Producer(client_options(cluster.bootstrap_servers, enable_idempotence=True, linger_ms=1))
        self._transactional: Producer | None = None
        self.misplaced: list[str] = []

    def write_plain(self, segments: Sequence[tuple[Partition, _Segment]]) -> None:
        self._produce(self._plain, segments)
        assert self._plain.flush(120) == 0

    def write_transaction(self, segments: Sequence[tuple[Partition, _Segment]], *, commits: bool) -> None:
        if not segments:
            return
        if self._transactional is None:
            options = {"transactional_id": f"crafting-{next(_numbers)}", "linger_ms": 1}
            self._transactional = Producer(client_options(self._cluster.bootstrap_servers, **options))
            self._transactional.init_transactions(120)
        self._transactional.begin_transaction()
        self._produce(self._transactional, segments)
        assert self._transactional.flush(120) == 0  # an abort would drop what is not sent yet
        if commits:
            self._transactional.commit_transaction(120)
        else:
            self._transactional.abort_transaction(120)
        # The producer gets its answer before the markers are in the logs: no record may come between.
        wait_for_ends(self._cluster, {place: segment.entries[-1][0] + 2 for place, segment in segments})

    def _produce(self, producer: Producer, segments: Sequence[tuple[Partition, _Segment]]) -> None:
        for (topic, partition), segment in segments:
            for offset, record in segment.entries:
                headers = self._headers(record, offset + partition) if record is not None else []
                number = record.origin_offset if record and self._stamp.since_ms else offset
                value = b"%s-%d %d" % (topic.encode(), partition, number)
                heard = partial(self._heard, (topic, partition), offset)
                given: dict[str, Any] = {"timestamp": self._stamp.since_ms and self._stamp.since_ms + number}
                producer.produce(topic, value, partition=partition, headers=headers, on_delivery=heard, **given)
                producer.poll(0)

    def _headers(self, record: LogRecord, number: int) -> Headers:
        alias = self._cluster.alias
        if record.origin == MALFORMED:
            return self._stamp.malformed(number, alias)
        if (record.origin, record.origin_offset) == (alias, record.offset):
            return self._stamp.native(number)
        return self._stamp.decorated(self._stamp.headers(record.origin, record.origin_offset), number)

    def _heard(self, place: Partition, wanted: int, error: Any, message: Any) -> None:
        if error is not None or message.offset() != wanted:
            self.misplaced.append(f"{place}: {error or message.offset()} instead of {wanted}")


def question(source: str, target: str, logs: Mapping[str, Entries]) -> Case:
    """Return what the oracle has to know to answer commits of *source* on *target*: everything is indexed."""

    def observed(alias: str) -> Log:
        entries = logs[alias]
        return Log(alias, tuple(each for each in entries if each is not None), 0, len(entries), len(entries))

    return Case(source, observed(source), observed(target), now_ms=1, hole_grace_ms=0)
