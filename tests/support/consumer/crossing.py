"""A topic whose group has read a part of it elsewhere: its records, the lists that say so, and what is due.

What is due is told by what the producer wrote, not by offsets.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import Producer

from broker.committed_offsets import admin_for, commit, committed
from broker.crafted_logs import create_topics
from broker.installation import until
from consumer.consumer_host import Delivered, Reader
from consumer.read_list_texts import list_text, ranges_of
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options

READ, USED, SEEN = "__offset-sync.read.", "__offset-sync.used.", "__offset-sync.seen."
_numbers = itertools.count(1)
_PARTITIONS = 3


@dataclass(frozen=True)
class Log:
    """The committed records of one partition, by offset, and how far it reaches."""

    records: Mapping[int, str]
    start: int
    read: frozenset[int]
    end: int

    def due(self, start: int | None = None, *, skips: bool = True) -> list[str]:
        """Return what a group that starts at *start*, by default the list's, has to get."""
        first = self.start if start is None else start
        return [
            value for offset, value in self.records.items() if offset >= first and not (skips and offset in self.read)
        ]


@dataclass(frozen=True)
class Crossing:
    """A topic with a log for each partition."""

    cluster: EmbeddedCluster
    topic: str
    logs: Mapping[int, Log]

    def give(self, group: str, *, epoch: int = 1000, deflates: bool = False, cluster_id: str | None = None) -> None:
        """Commit the lists of *group*, then where it starts: at the lists' start."""
        named = cluster_id or self.cluster_id

        def text(log: Log) -> str:
            return list_text(log.start, epoch, ranges_of(log.read), deflates=deflates, cluster_id=named)

        lists = {(self.topic, number): (log.start, text(log)) for number, log in self.logs.items()}
        commit(self.cluster, {READ + group: lists})
        own = {(self.topic, number): log.start for number, log in self.logs.items()}
        commit(self.cluster, {group: own})

    @property
    def cluster_id(self) -> str:
        """Return the id of the cluster."""
        return admin_for(self.cluster).cluster_id()

    def due(self, start: int | None = None, *, skips: bool = True) -> Counter[str]:
        """Return what is due, of all partitions."""
        return Counter(value for log in self.logs.values() for value in log.due(start, skips=skips))

    def with_later_records(self, count: int) -> Crossing:
        """Write more into each partition and return the topic with them, all of them on the lists."""
        written = {number: dict(log.records) for number, log in self.logs.items()}
        _write(self.cluster, self.topic, written, None, count)
        logs = {
            number: Log(
                written[number], log.start, log.read | {*written[number]} - {*log.records}, max(written[number]) + 1
            )
            for number, log in self.logs.items()
        }
        return Crossing(self.cluster, self.topic, logs)

    @property
    def read(self) -> int:
        """Return how many records are on the lists."""
        return sum(len(log.read) for log in self.logs.values())

    def wait_until_read(self, *readers: Reader) -> None:
        """Return once the positions of *readers* have reached the end of every partition."""

        def is_read(number: int) -> bool:
            failures = [reader.failure for reader in readers if reader.failure]
            assert not failures, failures
            return any(reader.positions.get(number) == self.logs[number].end for reader in readers)

        until(lambda: all(map(is_read, self.logs)), 180)

    def is_committed(self, group: str) -> bool:
        """Return whether *group* has committed the end of every partition."""
        found = {place[1]: each.offset for place, each in committed(self.cluster, [group])[group].items()}
        return found == {number: log.end for number, log in self.logs.items()}


def values(*readers: Reader) -> Counter[str]:
    """Return what was delivered, and how often."""
    return Counter(record.value for record in delivered(*readers))


def delivered(*readers: Reader) -> list[Delivered]:
    """Return all that was delivered, reader by reader."""
    return [record for reader in readers for record in reader.records]


_STRETCHES = ((None, 0.2), (True, 0.2), (None, 0.2), (False, 0.1), (True, 0.4))
"""What comes at once: outside of a transaction (None), or in one that is committed or not; and its share."""


def write_crossing(cluster: EmbeddedCluster, topic: str, *, records: int = 300) -> Crossing:
    """Write a topic with transactions among its records, of which one ends in an abort; a third is below the start.

    Of the first partition the tail is on the list, of the last one it is not, the second one has no list of any range.
    """
    create_topics(cluster, {topic: _PARTITIONS})
    written: dict[int, dict[int, str]] = {number: {} for number in range(_PARTITIONS)}
    for is_committed, share in _STRETCHES:
        _write(cluster, topic, written, is_committed, round(records * share))
    # The marker of the last transaction follows; the broker writes it after it has acknowledged the commit.
    logs = {number: _log(number, of_partition, max(of_partition) + 2) for number, of_partition in written.items()}
    return Crossing(cluster, topic, logs)


def _write(
    cluster: EmbeddedCluster, topic: str, written: dict[int, dict[int, str]], is_committed: bool | None, count: int
) -> None:
    options = {} if is_committed is None else {"transactional_id": f"crossing-{next(_numbers)}"}
    producer = Producer(client_options(cluster.bootstrap_servers, linger_ms=5, **options))
    if is_committed is not None:
        producer.init_transactions(120)
        producer.begin_transaction()
    heard: list[tuple[int, int, str]] = []
    for partition, number in itertools.product(written, range(count)):
        value = (
            f"{topic}-{partition}-{len(written[partition]) + number}{'' if is_committed is not False else ' aborted'}"
        )

        def hear(error: object, message: object, value: str = value) -> None:
            assert error is None, error
            heard.append((message.partition(), message.offset(), value))  # type: ignore[attr-defined]

        producer.produce(topic, value.encode(), partition=partition, on_delivery=hear)
    assert producer.flush(120) == 0
    if is_committed:
        producer.commit_transaction(120)
    elif is_committed is False:
        producer.abort_transaction(120)
    if is_committed is not False:
        for partition, offset, value in heard:
            written[partition][offset] = value


def _log(number: int, written: dict[int, str], end: int) -> Log:
    offsets = sorted(written)
    above = offsets[len(offsets) // 3 :]
    read = {offset for place, offset in enumerate(above) if place % 13 in (2, 3, 4, 9)} if number != 1 else set()
    read |= {*above[-30:]} if number == 0 else set()
    return Log(written, above[0], frozenset(read - ({*above[-5:]} if number else set())), end)
