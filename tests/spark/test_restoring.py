"""A new driver that has read the tables knows what the old one knew, and goes on as if nothing had happened."""

from __future__ import annotations

import random
import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from offset_sync.model import Outcome
from offset_sync.spark.history import HistoryWriter
from offset_sync.spark.ingesting import CommitIngester
from offset_sync.spark.restoring import restore_answers, restore_commits
from offset_sync.spark.schemas import OFFSET_COMMITS, OFFSET_TRANSLATIONS
from offset_sync.spark.tables import Tables
from offset_sync.testing.memory import CommitRecord
from offset_sync.testing.offset_records import commit_key, commit_value
from offset_sync.testing.settling import ORDERS, Site, config_of
from offset_sync.testing.tables import MemoryFrame, MemoryTables
from offset_sync.testing.written import log
from offset_sync.translate.keys import Keys
from offset_sync.translate.pairstate import IS_HELD, OUTCOMES
from offset_sync.translate.partition import STATES

GROUPS = [f"g{number}" for number in range(60)]
LATE = "late"
MINUTES_MS = 60_000
ID = "00010203-0405-0607-0809-0a0b0c0d0e0f"


class Driver(Site):
    """A site whose commits are decoded from bytes and written down, as the job does it, into tables in memory."""

    def begin(self, written: MemoryTables) -> None:
        """Start reading; *written* takes the history."""
        self.written, self.is_ready, self.batches = written, threading.Event(), 0
        self.settlements = self  # type: ignore[assignment]
        self.restart()
        self.ingesters = {alias: self._ingester(alias) for alias in self.clusters}
        self.history = HistoryWriter(lambda rows: written.append(OFFSET_TRANSLATIONS, rows), self.book.keys, str)

    def append(self, settlement: Any) -> None:
        self.history.record(settlement)

    def _ingester(self, alias: str) -> CommitIngester:
        def settle(keys: Keys, batch_id: int) -> list[str]:
            return self.settler.settle_batch(alias, keys, batch_id)

        checkpoint: Any = self
        tables: Any = self.written
        return CommitIngester(alias, tables, checkpoint, self.book, self.lock, settle, self.is_ready)

    def query_id(self) -> str:
        return "query"

    def record_limit(self, batch_id: int) -> int:
        return 10

    def ingest(self, alias: str, at_most: int) -> None:
        """Read the next micro-batch of *alias*; it takes a while."""
        self.pass_time(1)
        first = self.position[alias]
        records = self.clusters[alias].log[first : first + at_most]
        rows = [{"key": None, "value": None, "partition": 0, "offset": first + n, "timestamp": each.at_ms * 1000}
                | encoded(each) for n, each in enumerate(records)]  # fmt: skip
        schema = pa.schema([("key", pa.binary()), ("value", pa.binary()), ("partition", pa.int32()),
                            ("offset", pa.int64()), ("timestamp", pa.timestamp("us", "UTC"))])  # fmt: skip
        frame: Any = MemoryFrame(pa.Table.from_pylist(rows, schema))
        self.batches += 1
        self.position[alias] = first + len(records)
        self.ingesters[alias](frame, self.batches)


def encoded(record: CommitRecord) -> dict[str, bytes | None]:
    key = commit_key(record.group_id, record.place.topic, record.place.partition)
    tags = [(0, bytes(range(16)))] if record.topic_id else []
    if record.offset is None:
        return {"key": key, "value": None}
    value = commit_value(record.offset, committed_at_ms=record.at_ms, metadata=record.metadata, tags=tags)
    return {"key": key, "value": value}


def driver() -> Driver:
    made = Driver(config_of(["X", "Y", "Z"], sync={"refresh_interval": "2000d"}))
    made.put(log("X", "X0:40 Y0:3"), topic_id=ID)
    made.put(log("Y", "Y0:3 X0:40"), topic_id=ID)
    made.put(log("Z", ". . X0:30"), topic_id=ID)
    made.begin(MemoryTables())
    return made


def live(made: Driver, rng: random.Random, steps: int) -> None:
    """Let consumers commit, rewind, delete and come back, and the driver settle now and then, minutes apart."""
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
            made.settler.settle_all()
        if rng.random() < 0.02:
            made.is_ready.set()


def read_to_the_end(made: Driver) -> None:
    for _ in range(2):
        for alias, cluster in made.clusters.items():
            while made.position[alias] < len(cluster.log):
                made.ingest(alias, 50)


def known(made: Site) -> dict[tuple[str, Any], dict[str, Any]]:
    """Everything that is known of every key at every cluster."""
    found = {}
    for alias, commits in made.book.clusters.items():
        names = ["log_offset", "actual_offset", "actual_at_ms", "actual_is_own", "own_offset", "genuine_offset"]
        names += ["genuine_at_ms", "rewound_at_ms", "is_deleted"]
        for row, key in enumerate(made.book.keys):
            state = {name: commits.columns[name][row].item() for name in names}
            texts = {"metadata": commits.metadata.get(row), "topic_id": commits.topic_id.get(row)}
            found[alias, key] = state | texts | {"pending": commits.ledger._pending.get(row)}
    return found


def answered(made: Site) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """What was last answered, where anything was; that a value stands is the same as that it was written.

    Of the states only a reason to withhold is compared: the history calls an answer REWIND, whatever it was besides.
    """
    found = {}
    for pair in made.settler.pairs():
        columns = made.settler.pair(*pair).columns
        columns.fit(len(made.book.keys))
        for row, key in enumerate(made.book.keys):
            outcome = int(columns["outcome"][row])
            names = ("source_offset", "source_at_ms", "wanted", "duplicates", "duplicates_at_most", "lost")
            state = STATES[columns["state"][row]]
            if outcome >= 0:
                held = "held" if IS_HELD[outcome] else OUTCOMES[outcome].value
                numbers = [int(columns[name][row]) for name in names]
                found[(*pair, key)] = (*numbers, state if state.is_withheld else "answered", held)
    return found


def differences(found: dict[Any, Any], expected: dict[Any, Any]) -> list[str]:
    places = found.keys() | expected.keys()
    wrong = [place for place in places if found.get(place) != expected.get(place)]
    return [f"{place}: {found.get(place)} instead of {expected.get(place)}" for place in wrong]


def restarted(made: Driver, tables: Tables) -> Driver:
    """Write down what the old driver wrote and start a new one from it, with the same clusters around it."""
    for table in (OFFSET_COMMITS, OFFSET_TRANSLATIONS):
        tables.append(table, made.written.read(table).toArrow())
    fresh = driver()
    fresh.clusters, fresh.clock_ms[:] = made.clusters, made.clock_ms
    fresh.position = dict(made.position)
    fresh.is_ready.set()
    restore_commits(tables, fresh.book, fresh.lock)
    restore_answers(tables, fresh.book, fresh.settler, fresh.lock)
    return fresh


def with_dry_runs(made: Driver) -> None:
    """Add what a dry run would have answered last."""
    rows = made.written.read(OFFSET_TRANSLATIONS).toArrow()
    dry = rows.set_column(
        rows.schema.get_field_index("outcome"), "outcome", pa.array([Outcome.DRY_RUN.value] * len(rows))
    )
    later = pa.array([made.clock_ms[0] + 1] * len(rows), pa.timestamp("ms", "UTC"))
    dry = dry.set_column(rows.schema.get_field_index("translated_at"), "translated_at", later)
    wrong = pa.array(np.full(len(rows), 7))
    made.written.append(
        OFFSET_TRANSLATIONS, dry.set_column(rows.schema.get_field_index("target_offset"), "target_offset", wrong)
    )


@pytest.fixture(scope="module")
def lived() -> Driver:
    """A driver after a long life; what it wrote last, for the group *late*, it has not read back."""
    made = driver()
    live(made, random.Random(5), 1500)
    read_to_the_end(made)
    made.pass_time(2 * MINUTES_MS)
    made.commit("X", LATE, 4, metadata="of the client")
    made.ingest("X", 50)
    made.history.close()
    return made


def test_a_new_driver_knows_what_the_old_one_knew_and_goes_on_alike(lived: Driver, tables: Tables) -> None:
    with_dry_runs(lived)
    before = {place: state for place, state in known(lived).items() if place[1][0] != LATE}
    answers_before = answered(lived)
    covered = {(state["is_deleted"], state["actual_is_own"], state["rewound_at_ms"] >= 0) for state in before.values()}
    assert len(covered) >= 5, "a life without deletions, rewinds or own commits proves nothing"
    fresh = restarted(lived, tables)
    assert differences({place: state for place, state in known(fresh).items() if place[1][0] != LATE}, before) == []
    assert differences(answered(fresh), answers_before) == []

    # What comes next is judged alike by both: what we wrote and never read, rewinds, resets to what we wrote.
    rng = random.Random(6)
    for group in GROUPS:
        for alias in "XYZ":
            standing = lived.standing(alias, group)
            offset = rng.choice([0, 44, 20, 20 if standing is None else standing])
            lived.commit(alias, group, offset)
    for alias in "XYZ":
        fresh.position[alias] = lived.position[alias]
        assert {fresh.book.keys[key] for key in fresh.read(alias).tolist()} == {
            lived.book.keys[key] for key in lived.read(alias).tolist()
        }
    assert differences(known(fresh), known(lived)) == []
    for each in (fresh, lived):
        each.asked.clear()
        each.is_dry_run = True
        each.settler.settle_all()
    assert set(fresh.asked) == set(lived.asked)
    assert fresh.asked
