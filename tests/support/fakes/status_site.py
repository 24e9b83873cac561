"""Reports among clusters in memory: what the jobs know, what the clusters say, and what is read to compare."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from builders.logs import log
from fakes.reconciler_site import ORDERS, Site, config_of
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.committed_offsets import OWN_TAG
from offset_sync.status.record_comparison import RecordPair
from offset_sync.status.reporter import StatusReporter
from offset_sync.status.stream_lag import StreamLag, Streams
from oracles.status import identity
from oracles.translation import Log, LogRecord

Row = dict[str, Any]
IN_SYNC = ("InSync", None)


@dataclass
class StatusSite(Site):
    """A site with a reporter; *active* are the groups with members at each cluster, *streams* how far the jobs are.

    *meanwhile* happens after the clusters were asked. *changed* are places in a cluster's log whose record is not what
    its identity says: another key or value.
    """

    active: dict[str, set[str] | ClusterError] = field(default_factory=dict)
    lags: dict[str, StreamLag] = field(default_factory=dict)
    index_still_ms: dict[str, int] = field(default_factory=dict)
    changed: set[tuple[str, int]] = field(default_factory=set)
    questions: list[RecordPair] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.records: dict[tuple[str, TopicPartition], Log] = {}
        super().__post_init__()

    def restart(self) -> None:
        """Begin as a new process does."""
        super().restart()
        self.reporter = StatusReporter(
            self.config, self.state, lambda aliases, places: self.fetch(aliases, places),
            lambda alias: self.active.get(alias, set()), self.compare, lambda _: self.meanwhile(),
        )  # fmt: skip

    def put(
        self, where: Log, place: TopicPartition = ORDERS, *, topic_id: str | None = None, partitions: int = 1
    ) -> None:
        """Let a log stand at its cluster; the index holds it up to its frontier."""
        super().put(where, place, topic_id=topic_id, partitions=partitions)
        self.records[where.cluster, place] = where

    def compare(self, questions: Collection[RecordPair]) -> dict[RecordPair, str | None]:
        """Compare identities, as far as the clusters hold the records."""
        self.questions += questions
        return {each: self._difference(each) for each in questions}

    def _difference(self, question: RecordPair) -> str | None:
        here = self._next(question.source, question.place, question.source_offset)
        there = self._next(question.target, question.place, question.target_offset)
        if here is None or there is None:
            return "not read"
        is_changed = (question.source, here.offset) in self.changed
        return None if identity(here) == identity(there) and identity(here) and not is_changed else "another one"

    def _next(self, alias: str, place: TopicPartition, offset: int) -> LogRecord | None:
        where = self.records[alias, place]
        return next((r for r in where.records if r.offset >= max(offset, where.log_start)), None)

    def streams(self) -> Streams:
        """Return how far the jobs have read: to the end, unless told otherwise."""
        read = StreamLag(dict.fromkeys(range(2), 0), 0, 2)
        lags = {alias: self.lags.get(alias, read) for alias, each in self.clusters.items() if not each.is_down}
        return Streams(lags, self.index_still_ms)

    def report(self, now_ms: int | None = None) -> list[Row]:
        """Read all commits and report on them, a row per key and target."""
        self.read_all()
        rows = self.reporter.report(self.clock_ms[0] if now_ms is None else now_ms, self.streams())
        return [dict(zip(rows, values, strict=True)) for values in zip(*rows.values(), strict=True)]

    def row(self, source: str = "X", target: str = "Y", group: str = "g") -> Row:
        """Report, and return one row."""
        (row,) = (
            row for row in self.report()
            if (row["source_cluster"], row["target_cluster"], row["group_id"]) == (source, target, group)
        )  # fmt: skip
        return row

    def said(self, source: str = "X", target: str = "Y", group: str = "g") -> tuple[str, str | None]:
        """Report, and return the status of one row and why."""
        row = self.row(source, target, group)
        return row["status"], row["reason"]


def status_site(here: str, there: str, **sections: object) -> StatusSite:
    """Return a site of X and Y with these logs, written as in :mod:`builders.logs`."""
    site = StatusSite(config_of(["X", "Y"], **sections))
    site.put(log("X", here))
    site.put(log("Y", there))
    return site


def moved(here: str, there: str, committed: int, **sections: object) -> StatusSite:
    """A site of these logs, with a group at X that the sync has brought to Y."""
    site = status_site(here, there, **({"status": {"stalled_after": "2h"}} | sections))
    site.commit("X", "g", committed)
    site.settled()
    return site


def standing_at(site: StatusSite, offset: int, *, is_ours: bool = True) -> StatusSite:
    """The same with another offset at Y, of ours or older than the source's commit."""
    source = site.standing("X", "g")
    assert source is not None
    site.clusters["Y"].commit("g", ORDERS, offset, OWN_TAG if is_ours else "")
    site.commit("X", "g", source)
    return site
