"""Coordinators compared with a log that was read: against all that was done there, whatever the log has lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from fakes.tables import MemoryTables
from generators.hypothesis_strategies import law
from offset_sync.ingest.checkpoint import OffsetRanges
from offset_sync.ingest.commit_batch import DECODED_SCHEMA, UNREAD, Looked, to_batch
from offset_sync.ingest.commit_ingester import rows_of
from offset_sync.ingest.polled_commits import CoordinatorCheck, PollIngester
from offset_sync.jobs.watches import CoordinatorWatch
from offset_sync.kafka.requests import Committed, LogEnds, TopicInfo, TransientError
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, CONSUMER_OFFSETS, GroupPartition, TopicPartition
from offset_sync.state.cluster_clock import to_datetime
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.replay import restore_commits
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS

CONFIG = config_of(["X", "Y"])
KEYS = [GroupPartition(group, "orders", 0) for group in ("g", "h")]
LOG = TopicPartition(CONSUMER_OFFSETS, 0)
COMPARED = ("actual_offset", "actual_is_own", "genuine_offset", "is_deleted", "log_partition", "log_offset")


class Site:
    """A cluster with one coordinator and its log, and a job that reads it; *held* is what the coordinator answers."""

    def __init__(self) -> None:
        self.alias, self.now_ms, self.begins = "X", 1_000_000, 0
        self.log: list[tuple[GroupPartition, int | None] | None] = []
        self.held: dict[GroupPartition, int] = {}
        self.is_ours: dict[GroupPartition, bool] = {}
        self.meanwhile: Iterator[Callable[[], None]] = iter(())
        self.is_described, self.is_readable, self.refused = True, True, set[str]()
        self.tables: Any = MemoryTables()
        self.start()

    def start(self) -> None:
        """Begin as a new process does."""
        self.state, self.read = SyncState(CONFIG, MemoryIndex(), lambda: self.now_ms), getattr(self, "read", 0)
        self.lives = CommitLogIncarnations(self.tables)
        self.lives.topics.note("X", {CONSUMER_OFFSETS: TopicInfo("id", 1)})
        restore_commits(self.tables, self.state, self.lives)
        this: Any = self
        self.check = CoordinatorCheck(this, self.state, CONFIG.is_group_included, self)
        polls = PollIngester("X", self.tables, this, self.check, self.state, self.lives)
        self.watch = CoordinatorWatch(self.state, {"X": polls}, lambda: None)

    def compare(self) -> list[str]:
        """Compare as at a start, or a day later."""
        self.now_ms += 5_000
        self.watch._due["X"] = 0.0
        return self.watch.compare()

    # What happens at the cluster.

    def commit(self, key: GroupPartition, offset: int | None, *, is_ours: bool = False, is_logged: bool = True) -> None:
        self.log.append((key, offset) if is_logged else None)  # None: of another group
        self.is_ours[key] = is_ours
        self.held.pop(key, None)
        if offset is not None:
            self.held[key] = offset

    def write(self, key: GroupPartition, offset: int) -> None:
        """Write as we do, and have the answer."""
        mine, row = self.state.offsets.clusters["X"], self.state.offsets.ids([key])
        mine.own_writes.begin(row, np.array([offset]))
        self.commit(key, offset, is_ours=True)
        mine.acknowledge(row, np.array([offset]), self.now_ms)

    def lose(self, end: int) -> None:
        """Have retention delete the log up to *end*."""
        self.begins = max(self.begins, min(end, len(self.log)))
        self.log[: self.begins] = [None] * self.begins

    # What the job asks.

    def query_id(self) -> str:
        return "query"

    def groups(self, deadline: float) -> Collection[str]:
        return {key.group_id for key in self.held}

    groups_of_all_types = groups

    def committed_offsets(self, groups: Sequence[str], deadline: float) -> Mapping[str, Any]:
        self.go_on()
        found: dict[str, Any] = {group: {} for group in groups}
        for key, offset in self.held.items():
            if key.group_id in found:
                found[key.group_id][key.topic_partition] = Committed(offset, "")
        self.go_on()
        return found | {group: TransientError("X", f"{group}: loading") for group in self.refused & found.keys()}

    def partition_count(self, _topic: str, _deadline: float) -> int:
        self.go_on()
        return 1

    def ends(self, _partitions: object, _deadline: float) -> dict[TopicPartition, LogEnds]:
        return {LOG: LogEnds(self.begins, len(self.log))}

    def go_on(self) -> None:
        """Let the next thing happen that happens meanwhile."""
        next(self.meanwhile, lambda: None)()

    def describe(self, topics: Collection[str]) -> Mapping[str, object]:
        return {each: TopicInfo("id", 1) if self.is_described else ClusterError("X", "no right") for each in topics}

    def read_to(self) -> Mapping[int, int]:
        return {0: self.read}

    def commits_of(self, groups: Collection[str], ranges: OffsetRanges) -> pa.Table:
        self.go_on()
        if not self.is_readable:
            return self.rows([{"kind": UNREAD, "log_partition": each.partition} for each in ranges])
        found = [each for start, end in ranges.values() for each in self.commits(start, end)]
        return self.rows([each for each in found if each["group_id"] in groups])

    def commits(self, start: int, end: int) -> list[dict[str, Any]]:
        at = to_datetime(self.now_ms)
        same = {"kind": "commit", "log_partition": 0, "timestamp": at}
        return [
            same
            | record[0]._asdict()
            | {"is_tombstone": record[1] is None, "committed_offset": record[1], "log_offset": offset}
            for offset, record in enumerate(self.log[start:end], start)
            if record is not None
        ]

    def rows(self, rows: list[dict[str, Any]]) -> pa.Table:
        return pa.Table.from_pylist(rows, DECODED_SCHEMA)

    def read_on(self, records: int = 1_000) -> None:
        """Read some records of the log, as a micro-batch does."""
        self.now_ms += 1_000
        end = min(self.read + records, len(self.log))
        looked = Looked(to_datetime(self.now_ms))
        batch = to_batch(self.rows(self.commits(self.read, end)), 0, looked)
        batch = batch.with_made(batch.timestamp_ms)
        recorded = self.state.record("X", batch.keys, batch.commit_records)
        for table, rows in rows_of("X", batch.with_own(recorded.is_own)).items():
            self.tables.append(table, rows, None)
        self.read = end

    # What is known.

    def known(self, name: str, key: GroupPartition, state: SyncState | None = None) -> int:
        state = state or self.state
        (row,) = state.offsets.ids([key]).tolist()
        return int(state.offsets.clusters["X"].columns[name][row])

    def asked_for(self) -> list[tuple[int | None, bool]]:
        rows = self.tables.all_rows(OFFSET_COMMITS).to_pylist()
        return [(row["committed_offset"], row["is_own"]) for row in rows if row["captured_by"] == "admin"]

    def has_unread_writes(self) -> bool:
        return bool(self.state.offsets.clusters["X"].own_writes._pending)


KEY = KEYS[0]
events = st.one_of(
    st.tuples(st.sampled_from(["group", "ours", "delete", "other", "forget", "compare"]), st.sampled_from(KEYS)),
    st.tuples(st.sampled_from(["lose", "read", "compact"]), st.integers(1, 4)),
    st.tuples(st.just("restart"), st.just(0)),
)


def apply(site: Site, event: tuple[str, Any], number: int) -> None:
    kind, value = event
    if kind in ("group", "other"):
        site.commit(value, 1_000 - 7 * number if number % 3 else number, is_logged=kind == "group")
    elif kind == "ours":
        site.write(value, 5_000 + number)
    elif kind == "delete" and value in site.held:
        site.commit(value, None)
    elif kind == "forget":
        site.held.pop(value, None)  # no tombstone
    elif kind == "lose":
        # What we have written is read before retention deletes it: the job runs.
        site.lose(min(site.begins + value, site.read if site.has_unread_writes() else len(site.log)))
    elif kind == "compact":  # all but the last record of each key; tombstones too
        last = {each[0]: offset for offset, each in enumerate(site.log) if each is not None}
        for offset, each in enumerate(site.log[: max(site.read - 1, 0)]):
            if each is not None and (last[each[0]] != offset or each[1] is None):
                site.log[offset] = None
    elif kind == "read":
        site.read_on(value)
    elif kind == "restart" and not site.has_unread_writes():
        site.start()


@law(200)
@given(st.lists(events, max_size=16), st.lists(events, max_size=6))
def test_after_a_comparison_what_is_known_is_what_the_coordinator_holds_and_so_it_is_after_a_restart(
    history: Sequence[tuple[str, Any]], meanwhile: Sequence[tuple[str, Any]]
) -> None:
    site = Site()
    # Of what only coordinators have nothing is new in the seconds in which they are asked.
    rest = iter([each for each in meanwhile if each[0] not in ("compare", "restart", "other", "forget")])

    def happen() -> Iterator[Callable[[], None]]:
        for number, each in enumerate(rest, 100):
            yield lambda each=each, number=number: apply(site, each, number)  # type: ignore[misc]

    site.meanwhile = happen()
    for number, event in enumerate(history):
        if event[0] == "compare":
            site.read_on()
            site.compare()
        else:
            apply(site, event, number)
    for _ in range(2):  # what happened meanwhile is read by now
        site.read_on()
        site.meanwhile = iter(())
        site.compare()
    for key in KEYS:
        last = next((offset for each, offset in reversed([*filter(None, site.log)]) if each == key), ABSENT)
        known = site.known("actual_offset", key)
        if key in site.held:
            assert known == site.held[key], (site.log, site.asked_for())
            assert bool(site.known("actual_is_own", key)) == site.is_ours[key]
        else:  # the coordinator has lost it: its record is there
            assert known in (ABSENT, last), (site.log, site.asked_for())
    restored = SyncState(CONFIG, MemoryIndex(), lambda: site.now_ms)
    restore_commits(site.tables, restored, CommitLogIncarnations(site.tables))
    for key in KEYS:
        names = COMPARED if not site.has_unread_writes() else ()
        assert [site.known(name, key, restored) for name in names] == [site.known(name, key) for name in names]


def gone(*, is_lost: bool = True) -> Site:
    """Return a site whose coordinator has lost an offset that was read, and maybe its log too."""
    site = Site()
    site.commit(KEY, 60)
    site.read_on()
    site.held.clear()
    site.lose(int(is_lost))
    return site


def test_a_commit_between_the_answer_and_the_end_of_the_log_is_the_logs() -> None:
    site = Site()
    site.commit(KEY, 10)
    site.read_on()
    site.meanwhile = iter([lambda: site.commit(KEY, 20), lambda: site.commit(KEY, 30)])
    assert site.compare() == []
    assert site.asked_for() == []
    site.read_on()
    assert (site.known("genuine_offset", KEY), site.known("rewound_ms", KEY)) == (30, ABSENT)


def test_what_the_log_has_lost_counts_may_be_of_any_age_and_later_records_follow_it() -> None:
    site = Site()
    site.commit(KEY, 60)
    site.lose(1)
    site.read_on()
    site.compare()
    assert (site.asked_for(), site.known("genuine_at_ms", KEY)) == ([(60, False)], ABSENT)
    site.commit(KEY, 50)
    site.read_on()
    assert (site.known("actual_offset", KEY), site.known("log_partition", KEY)) == (50, 0)
    assert site.known("rewound_ms", KEY) != ABSENT


@pytest.mark.parametrize("explained", ["by its record", "by another coordinator", ""])
def test_an_offset_that_is_gone_counts_as_deleted_only_if_the_log_does_not_explain_it(explained: str) -> None:
    site = gone(is_lost=explained != "by its record")
    (row,) = site.state.offsets.ids([KEY]).tolist()
    site.state.offsets.clusters["X"].columns["log_partition"][row] = 3 if "coordinator" in explained else 0
    site.compare()
    assert site.known("is_deleted", KEY) == (not explained)


@pytest.mark.parametrize("unknown", ["is_described", "is_readable", "refused"])
def test_what_is_unknown_is_not_gone_and_is_compared_again_unless_a_right_is_missing(unknown: str) -> None:
    site = gone()
    before = getattr(site, unknown)
    setattr(site, unknown, {"g"} if unknown == "refused" else False)
    site.compare()
    assert (site.known("actual_offset", KEY), site.check.is_whole) == (60, unknown == "is_described")
    setattr(site, unknown, before)
    site.compare()
    assert (site.known("is_deleted", KEY), site.check.is_whole) == (1, True)


def test_a_cluster_that_does_not_answer_is_said_and_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    site = gone()
    with monkeypatch.context() as patch:
        patch.setattr(site, "groups_of_all_types", MagicMock(side_effect=ClusterError("X", "no answer")))
        assert len(site.compare()) == 1
        assert site.watch._due["X"] <= time.monotonic() + 60
    assert site.compare() == []
    assert site.known("is_deleted", KEY)
    assert site.watch._due["X"] > time.monotonic() + 3600
