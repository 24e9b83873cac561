"""One consumer of a group: reads, commits at an interval, and leaves the group with or without a last commit."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, TopicPartition

from offset_sync_demo.kafka.clients import Endpoint, Partition, Received, client_options, is_partition_end, read_batch
from offset_sync_demo.load.rate import Pace

_BATCH = 500
_WAIT_SECONDS = 0.1


@dataclass(frozen=True)
class ReaderOptions:
    """How a group reads: its rebalance protocol, how it commits, how fast, and how far.

    *max_rate* is in records a second for each member. *stop_at* are offsets: records at or above are not read. With
    *reset* "error" a group without a committed offset reads nothing and reports an error.
    """

    protocol: Literal["classic", "consumer"] = "classic"
    commits: Literal["manual", "auto"] = "manual"
    commit_interval: float = 1.0
    max_rate: float | None = None
    stop_at: Mapping[Partition, int] = field(default_factory=dict)
    reset: Literal["earliest", "latest", "error"] = "earliest"
    session_timeout_ms: int = 10_000


@dataclass(frozen=True)
class CommitMade:
    """A commit that the coordinator acknowledged; *at* is seconds since the epoch, by this machine's clock."""

    partition: Partition
    offset: int
    at: float


class Recorder(Protocol):
    """Keeps what a member has read and committed."""

    def keep_records(self, messages: Sequence[Received]) -> None:
        """Keep records."""

    def keep_end(self, partition: Partition, offset: int) -> None:
        """Keep the end of a partition."""

    def keep_commits(self, commits: Sequence[CommitMade]) -> None:
        """Keep commits."""

    def keep_error(self, text: str) -> None:
        """Keep an error."""


class GroupMember:
    """A consumer in a thread; it reports what it has read and committed to *recorder* at once."""

    def __init__(
        self, cluster: Endpoint, group_id: str, topics: Sequence[str], options: ReaderOptions, recorder: Recorder
    ) -> None:
        self._topics, self._options, self._recorder = list(topics), options, recorder
        self._settings = _settings(cluster, group_id, options)
        self._stopping = threading.Event()
        self._is_killed = False
        self._read_to: dict[Partition, int] = {}
        self._committed: dict[Partition, int] = {}
        self._thread = threading.Thread(target=self._run, name=f"read-{cluster.alias}-{group_id}", daemon=True)

    def start(self) -> None:
        """Join the group and read."""
        self._thread.start()

    def ask_to_stop(self, *, kill: bool) -> None:
        """Have the thread end; a killed member commits nothing more."""
        self._is_killed = self._is_killed or kill
        self._stopping.set()

    def join(self, timeout: float) -> None:
        """Return when the thread has ended, or after *timeout* seconds."""
        self._thread.join(timeout)

    @property
    def _is_manual(self) -> bool:
        return self._options.commits == "manual"

    def _run(self) -> None:
        if not self._is_manual:
            self._settings["on_commit"] = self._on_auto_commit
        consumer = Consumer(self._settings)
        consumer.subscribe(self._topics, on_revoke=self._on_revoke, on_lost=self._on_lost)
        try:
            self._read(consumer)
        finally:
            self._leave(consumer)

    def _read(self, consumer: Consumer) -> None:
        pace, rate, commit_due = Pace(), self._options.max_rate, 0.0
        while not self._stopping.is_set():
            most = _BATCH if rate is None else min(_BATCH, pace.due(rate))
            if most > 0:
                self._take(consumer, self._receive(consumer, most))
            else:
                self._stopping.wait(_WAIT_SECONDS)
            if self._is_manual and time.monotonic() >= commit_due:
                self._commit(consumer)
                commit_due = time.monotonic() + self._options.commit_interval

    def _receive(self, consumer: Consumer, most: int) -> Sequence[Received]:
        try:
            return read_batch(consumer, most, _WAIT_SECONDS)
        except KafkaException as error:
            self._report(error.args[0])
            self._stopping.wait(_WAIT_SECONDS)
            return []

    def _take(self, consumer: Consumer, batch: Sequence[Received]) -> None:
        records = []
        for message in batch:
            error = message.error()
            if error is None and self._is_wanted(consumer, message):
                records.append(message)
                self._read_to[message.topic(), message.partition()] = message.offset() + 1
            elif error is not None and is_partition_end(error):
                self._recorder.keep_end((message.topic(), message.partition()), message.offset())
            elif error is not None:
                self._report(error)
        self._recorder.keep_records(records)
        if records and not self._is_manual:
            self._store(consumer, {(each.topic(), each.partition()): each.offset() + 1 for each in records})

    def _is_wanted(self, consumer: Consumer, message: Received) -> bool:
        place = (message.topic(), message.partition())
        stop = self._options.stop_at.get(place)
        if stop is None or message.offset() < stop:
            return True
        consumer.pause([TopicPartition(*place)])
        self._recorder.keep_end(place, stop)
        return False

    def _store(self, consumer: Consumer, offsets: Mapping[Partition, int]) -> None:
        """Limit librdkafka's automatic commit to records that the recorder has kept."""
        try:
            consumer.store_offsets(offsets=[TopicPartition(*place, offset) for place, offset in offsets.items()])
        except KafkaException as error:  # the partition was revoked in between
            self._report(error.args[0])

    def _commit(self, consumer: Consumer) -> None:
        due = {place: offset for place, offset in self._read_to.items() if self._committed.get(place) != offset}
        if not due:
            return
        try:
            answers = consumer.commit(
                offsets=[TopicPartition(*place, offset) for place, offset in due.items()], asynchronous=False
            )
        except KafkaException as error:
            self._report(error.args[0])
        else:
            self._keep_commits(answers or [])

    def _keep_commits(self, answers: Sequence[TopicPartition]) -> None:
        made = [each for each in answers if each.error is None and each.offset >= 0]
        now = time.time()
        self._committed.update({(each.topic, each.partition): each.offset for each in made})
        self._recorder.keep_commits([CommitMade((each.topic, each.partition), each.offset, now) for each in made])
        for each in answers:
            if each.error is not None:
                self._report(each.error)

    def _on_auto_commit(self, error: KafkaError | None, answers: Sequence[TopicPartition]) -> None:
        if error is None:
            self._keep_commits(answers)
        elif error.code() != KafkaError._NO_OFFSET:
            self._report(error)

    def _on_revoke(self, consumer: Consumer, places: Sequence[TopicPartition]) -> None:
        if self._is_manual and not self._is_killed:
            self._commit(consumer)
        self._forget(places)

    def _on_lost(self, _consumer: Consumer, places: Sequence[TopicPartition]) -> None:
        self._forget(places)

    def _forget(self, places: Sequence[TopicPartition]) -> None:
        for each in places:
            self._read_to.pop((each.topic, each.partition), None)
            self._committed.pop((each.topic, each.partition), None)

    def _leave(self, consumer: Consumer) -> None:
        if self._is_killed and not self._is_manual:
            # close() would commit the stored offsets: remove them.
            self._store(consumer, dict.fromkeys(self._read_to, OFFSET_INVALID))
        elif self._is_manual and not self._is_killed:
            self._commit(consumer)
        consumer.close()

    def _report(self, error: KafkaError) -> None:
        self._recorder.keep_error(f"{error.name()}: {error.str()}")


def _settings(cluster: Endpoint, group_id: str, options: ReaderOptions) -> dict[str, Any]:
    settings = client_options(
        cluster.bootstrap_servers,
        group_id=group_id,
        group_protocol=options.protocol,
        enable_auto_commit=options.commits == "auto",
        auto_commit_interval_ms=int(options.commit_interval * 1000),
        enable_auto_offset_store=False,
        enable_partition_eof=True,
        isolation_level="read_committed",
        auto_offset_reset=options.reset,
        fetch_wait_max_ms=100,
        queued_max_messages_kbytes=4096,
        socket_timeout_ms=10_000,
    )
    if options.protocol == "classic":
        # With the KIP-848 protocol the broker sets both.
        classic = {"session.timeout.ms": options.session_timeout_ms, "heartbeat.interval.ms": 1000}
        settings.update(classic)
    return settings
