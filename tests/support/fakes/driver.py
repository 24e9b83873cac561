"""A driver whose commits are decoded from bytes and written down, and a long life for it."""

from __future__ import annotations

import random
import threading
from datetime import datetime, timezone
from typing import Any

from builders.logs import log
from builders.offset_records import commit_key, commit_value
from fakes.clusters import CommitRecord
from fakes.commit_rows import CommitRowsInMemory
from fakes.ingest import NO_ROWS
from fakes.reconciler_site import ORDERS, Site, config_of
from fakes.tables import MemoryTables
from fakes.unchecked import UncheckedLogs
from offset_sync.ingest.commit_batch import Looked
from offset_sync.ingest.commit_ingester import CommitIngester, Reading
from offset_sync.jobs.metrics.sync import SyncMetrics
from offset_sync.jobs.sync_batch import SyncBatch
from offset_sync.model.values import TopicPartition
from offset_sync.sync.translation_history import TranslationHistory

GROUPS = [f"g{number}" for number in range(60)]
MINUTES_MS = 60_000
ID = "00010203-0405-0607-0809-0a0b0c0d0e0f"


class Query:
    """What the checkpoint of a cluster's query says."""

    def __init__(self, alias: str) -> None:
        self._alias = alias

    def query_id(self) -> str:
        """Return its id."""
        return f"query {self._alias}"

    def record_limit(self, batch_id: int) -> int:
        """Return how many records a batch may have: few."""
        return 10

    def start_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        """Return nothing: which records they are is told to who reads them."""
        return {}

    end_offsets = start_offsets


class LookedAt(UncheckedLogs):
    """Believes everything, at the time that it is by the site's clock: the rows of one history are of one time."""

    def __init__(self, clock_ms: list[int]) -> None:
        self._clock_ms = clock_ms

    def look(self, batch_id: int) -> Looked:
        """Return that nothing has to be read again."""
        return Looked(datetime.fromtimestamp(self._clock_ms[0] / 1000, timezone.utc))


class Driver(Site):
    """A site whose commits are decoded from bytes and written down, as the job does it, into tables in memory."""

    def begin(self, written: MemoryTables) -> None:
        """Start reading; *written* takes the history."""
        self.written, self.is_ready, self.batches = written, threading.Event(), dict.fromkeys(self.clusters, 0)
        self.reconciliations = self  # type: ignore[assignment]
        self.restart()
        self.metrics = SyncMetrics(self.config)
        self.rows = {alias: CommitRowsInMemory() for alias in self.clusters}
        self.sync_batches = {alias: self._sync_batch(alias) for alias in self.clusters}
        self.history = TranslationHistory(written, self.offsets.keys, self.config)

    def append(self, reconciliation: Any) -> None:
        """Take a settlement for the history."""
        self.history.append(reconciliation)

    def _sync_batch(self, alias: str) -> SyncBatch:
        checkpoint: Any = Query(alias)
        tables: Any = self.written
        reading = Reading(logs=LookedAt(self.clock_ms))
        ingester = CommitIngester(alias, tables, checkpoint, self.rows[alias], 1, reading)
        return SyncBatch(ingester, self.state, self.reconciler, self.metrics, self.is_ready)

    def ingest(self, alias: str, at_most: int) -> None:
        """Read the next micro-batch of *alias*; it takes a while."""
        self.pass_time(1)
        first = self.position[alias]
        records = self.clusters[alias].log[first : first + at_most]
        rows = [
            {"key": None, "value": None, "partition": 0, "offset": first + n, "timestamp": each.at_ms * 1000}
            | encoded(each)
            for n, each in enumerate(records)
        ]
        self.rows[alias].put(rows)
        self.batches[alias] += 1
        self.position[alias] = first + len(records)
        self.sync_batches[alias](NO_ROWS, self.batches[alias])


def encoded(record: CommitRecord) -> dict[str, Any]:
    """Return key and value as a broker writes them."""
    key = commit_key(record.group_id, record.place.topic, record.place.partition)
    tags = [(0, bytes(range(16)))] if record.topic_id else []
    if record.offset is None:
        return {"key": key, "value": None}
    value = commit_value(record.offset, committed_at_ms=record.at_ms, metadata=record.metadata, tags=tags)
    return {"key": key, "value": value}


def driver() -> Driver:
    """Return a driver of three clusters that has read nothing."""
    made = Driver(config_of(["X", "Y", "Z"], sync={"refresh_interval": "2000d"}))
    made.put(log("X", "X0:40 Y0:3"), topic_id=ID)
    made.put(log("Y", "Y0:3 X0:40"), topic_id=ID)
    made.put(log("Z", ". . X0:30"), topic_id=ID)
    made.begin(MemoryTables())
    return made


def live(made: Driver, rng: random.Random, steps: int) -> None:
    """Let consumers commit, rewind, delete and come back, and the driver reconcile now and then, minutes apart."""
    for _ in range(steps):
        alias, group = rng.choice("XXYZ"), rng.choice(GROUPS)
        cluster = made.clusters[alias]
        made.pass_time(2 * MINUTES_MS)
        if (action := rng.random()) < 0.6:
            offset, topic_id = rng.choice([-1, *range(45)]), rng.choice([None, ID])
            made.commit(alias, group, offset, metadata=rng.choice(["", "", "m", "ü"]), topic_id=topic_id)
        elif action < 0.65:
            cluster.forget(group, ORDERS)
        elif action < 0.7:
            cluster.refused[group] = "UNKNOWN_MEMBER_ID"
        elif action < 0.95:
            made.ingest(alias, rng.randint(1, 9))
        else:
            made.reconciler.reconcile_all()
        if rng.random() < 0.02:
            made.is_ready.set()


def read_to_the_end(made: Driver) -> None:
    """Let the driver read all, and what it writes on that."""
    for _ in range(2):
        for alias, cluster in made.clusters.items():
            while made.position[alias] < len(cluster.log):
                made.ingest(alias, 50)


def known(made: Site) -> dict[tuple[str, Any], dict[str, Any]]:
    """Everything that is known of every key at every cluster."""
    found = {}
    for alias, commits in made.offsets.clusters.items():
        names = ["log_partition", "log_offset", "actual_offset", "actual_at_ms", "actual_made_ms", "actual_epoch"]
        names += ["actual_is_own", "last_offset", "genuine_offset", "genuine_at_ms", "genuine_made_ms"]
        names += ["genuine_epoch", "rewound_ms", "first_ms", "is_deleted"]
        for row, key in enumerate(made.offsets.keys):
            state = {name: commits.columns[name][row].item() for name in names}
            found[alias, key] = (
                state
                | {"topic_id": commits.topic_id.get(row)}
                | {"pending": [each.offset for each in commits.own_writes._pending.get(row, [])]}
            )
    return found


def differences(found: dict[Any, Any], expected: dict[Any, Any]) -> list[str]:
    """Return a line for every place at which the two are not the same."""
    places = found.keys() | expected.keys()
    wrong = [place for place in places if found.get(place) != expected.get(place)]
    return [f"{place}: {found.get(place)} instead of {expected.get(place)}" for place in wrong]
