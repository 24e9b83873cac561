"""Verifies a micro-batch with the clusters, after it was read and before it is stored."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timezone
from functools import partial
from typing import NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from offset_sync.ingest.batch_rows import ReadBatch
from offset_sync.ingest.checkpoint import OffsetRanges, Offsets, are_few
from offset_sync.ingest.incarnation_check import (
    DueLogs,
    IncarnationCheck,
    OvertakenError,
    Said,
    changed,
    plans_of,
    refuse_unknown,
)
from offset_sync.ingest.kept_runs import Cut
from offset_sync.ingest.origin_check import OriginCheck, refute_beyond
from offset_sync.ingest.run_builder import is_of
from offset_sync.kafka.requests import LogEnds
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetRange, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata, MetadataFetcher

_TRIES = 5
_T = TypeVar("_T")


class _Seen(NamedTuple):
    """A log's end, queried just after *asked_at*."""

    log_end: int
    asked_at: datetime


class Completeness:
    """The time up to which the logs of one cluster are completely indexed; holes age only until then.

    The record that fills a hole may be in the log and not read yet. So growth of the index does not count; it must
    reach the end that the log had at a known time. Starts empty after a restart: errs to earlier.
    """

    def __init__(self) -> None:
        self._waits_for: dict[TopicPartition, _Seen] = {}

    def of(
        self, read: ReadBatch, ends: Mapping[TopicPartition, LogEnds], asked_at: datetime
    ) -> dict[TopicPartition, datetime]:
        """Return, by log, the time up to which its records are in *read*; logs where it is unknown are missing.

        *ends* was queried after reading, at *asked_at*. A busy log has grown meanwhile, so we wait until the index has
        reached the end seen before, and only then for the next.
        """
        for place in read.again:  # it may be shorter than it was
            self._waits_for.pop(place, None)
        found: dict[TopicPartition, datetime] = {}
        for place, now in ((place, _Seen(end.log_end, asked_at)) for place, end in ends.items() if place in read.end):
            indexed_to, before = read.end[place], self._waits_for.get(place)
            reached = [seen for seen in (before, now) if seen is not None and seen.log_end <= indexed_to]
            if reached:
                found[place] = reached[-1].asked_at
            if before is None or reached:
                self._waits_for[place] = now
        return found


ReadRanges = Callable[[OffsetRanges], DataFrame]
"""Re-reads the records of some ranges as the query does: from each first offset to below the second."""
CutRecords = Callable[["DataFrame | None", OffsetRanges], Cut]
"""Makes runs of the records of some ranges."""


class Asked(NamedTuple):
    """The clients for checks: *own* for the logs of the cluster that is read, *others* for the origins of copies.

    *others* should have a short deadline. *read_again* re-reads parts of the cluster's logs. *verify* raises
    OtherClusterError where new clients get to another cluster: Spark's may have.
    """

    own: MetadataFetcher
    others: MetadataFetcher
    read_again: ReadRanges
    verify: Callable[[], None] = lambda: None


class LogCheck:
    """Checks what was read of the cluster *alias*."""

    def __init__(
        self,
        alias: str,
        asked: Asked,
        origins: OriginCheck,
        incarnations: IncarnationCheck,
    ) -> None:
        self._alias, self._asked, self._origins, self._incarnations = alias, asked, origins, incarnations
        self._due, self._completeness = DueLogs(alias, incarnations), Completeness()
        self._epochs: dict[TopicPartition, int] = {}  # of the leaders at the last check
        self._nameless: set[TopicPartition] = set()  # logs whose broker reports no leader epoch

    def was_read_again(self, read: ReadBatch) -> None:
        """Record that the re-read logs of *read* are stored."""
        self._incarnations.was_read_again(self._alias, read.again, read.at)

    def some(self, ranges: OffsetRanges) -> DataFrame | None:
        """Return the records of *ranges* only; None where they are few, as Spark would take longer than our reader."""
        filled = {log: each for log, each in ranges.items() if each.end > each.start}
        is_small = are_few(sum(each.end - each.start for each in filled.values()))
        return None if is_small else self._asked.read_again(filled)

    def before_reading(self, start: Offsets, end: Offsets) -> None:
        """Before reading, query the leader epochs of logs that were never checked.

        Otherwise a truncation by the next leader would go unnoticed. Raises ClusterError.
        """
        unseen = changed(start, end) - self._epochs.keys() - self._nameless
        led = _those_known(self._incarnations.leader_epochs(self._alias, unseen))
        if never := unseen - led.keys():
            retry_overtaken(partial(self._meet, never))
            led = _those_known(self._incarnations.leader_epochs(self._alias, unseen))
        self._epochs |= led

    def checked(self, read: ReadBatch, cut: CutRecords) -> ReadBatch:
        """Return what of *read* is verified; a log whose records have changed is re-read.

        Clusters are queried after reading: a copy that was read was at its origin before, in an incarnation that is
        known then. *cut* makes runs of the records of some ranges.
        """
        wanted, before = self._due.of(read.start, read.end), dict(self._epochs)
        here, said, at, asked_at = retry_overtaken(partial(self._ask, read, wanted))
        self._incarnations.note_arrived(self._alias, here.ends, asked_at)
        # Of a new leader: what was read above the end of the epoch before may have been truncated by the election.
        elected = self._incarnations.elected_since(self._alias, before).items()
        begins = {each: read.start.get(each, 0) for each, offset in elected if offset < read.end.get(each, 0)}
        begins |= self._incarnations.to_read_again(self._alias)
        read = self._read_again(read._replace(at=at), begins, here.ends, cut)
        self._epochs |= _those_known({each: of_log.leader_epoch for each, of_log in here.ends.items()})
        complete_until = self._completeness.of(read, here.ends, asked_at)
        alias = self._alias
        origins = self._origins.ends(said, self._incarnations.unsettled(alias, read.end, read.start))
        beyond = [self._origins.exceeded(each.summary, origins) for each in read.kept]
        kept = tuple(each._replace(alias=alias, beyond=ends) for each, ends in zip(read.kept, beyond, strict=True))
        return read._replace(cut=refute_beyond(read.cut, origins, alias), complete_until=complete_until, kept=kept)

    def confirm(self, read: ReadBatch) -> None:
        """Raise ClusterError if *read* may be of an earlier incarnation by now; to be called when it is entered."""
        self._incarnations.confirm(read.at)

    def _meet(self, logs: Collection[TopicPartition]) -> None:
        moment = self._incarnations.moment()
        here = self._asked.own.fetch_each({self._alias: logs})[self._alias]
        if isinstance(here, ClusterError):
            raise here
        known = self._incarnations.leader_epochs(self._alias, logs)
        for each in logs:
            if each.topic in here.refused and each not in known:
                raise here.refused[each.topic]  # its topic id has to be known before it is read
        self._incarnations.topics.note(self._alias, here.topics)
        self._incarnations.note({self._alias: here}, {}, moment)
        self._nameless |= {each for each, ends in here.ends.items() if ends.leader_epoch is None}

    def _ask(
        self, read: ReadBatch, wanted: Collection[TopicPartition]
    ) -> tuple[ClusterMetadata, Said, datetime, datetime]:
        """Return this cluster's answer, the answers of all, the timestamp for rows of *read*, and when we asked."""
        alias, moment, asked_at = self._alias, self._incarnations.moment(), datetime.now(timezone.utc)
        # Re-read records have originals too, but are not read yet when the origins are collected.
        origins = self._origins.origins(read.cut, [each.summary for each in read.kept])
        with ThreadPoolExecutor(2) as beside:  # each answer takes several requests, one after the other
            verified = beside.submit(self._asked.verify)
            others = beside.submit(self._asked.others.fetch_each, origins)
            here = self._asked.own.fetch_each({alias: wanted})[alias]
        verified.result()
        if isinstance(here, ClusterError):
            raise here
        refuse_unknown(alias, here, read.start, read.end)
        said = {alias: here, **others.result()}
        plans = plans_of(alias, wanted, read.start, read.end)
        return here, said, self._incarnations.note(said, plans, moment), asked_at

    def _read_again(
        self,
        read: ReadBatch,
        begins: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, LogEnds],
        cut: CutRecords,
    ) -> ReadBatch:
        """Return *read* with logs re-read from where their records may have changed, and no others of these logs.

        Where the query goes on beyond the log's end, the rest is re-read with a later micro-batch.
        """
        # From the start of this micro-batch, if that is lower: what it read there is re-read too.
        begins = {
            each: min(at, read.start.get(each, 0)) for each, at in begins.items() if each in ends and each in read.end
        }
        if not begins:
            return read
        until = {each: max(first, min(read.end[each], ends[each].log_end)) for each, first in begins.items()}
        firsts = {each: max(first, ends[each].log_start) for each, first in begins.items()}
        ranges = {each: OffsetRange(first, until[each]) for each, first in firsts.items() if first < until[each]}
        rows = [read.cut.filter(pc.invert(is_of(read.cut, begins)))]
        kept = tuple(each._replace(without=each.without | frozenset(begins)) for each in read.kept)
        again = {each: end if end < read.end[each] else None for each, end in until.items()}
        read = read._replace(start=read.start | begins, end=read.end | until, again=again)
        if ranges:
            found = cut(self._asked.read_again(ranges), ranges)
            rows.append(found.rows)
            kept += tuple(each._replace(is_again=True) for each in found.kept)
            read = read.and_stopped(found.stopped)
        return read._replace(cut=pa.concat_tables(rows), kept=kept)


def retry_overtaken(ask: Callable[[], _T]) -> _T:
    """Return what *ask* returns; retries while another query has recorded a change meanwhile."""
    for _ in range(_TRIES - 1):
        with suppress(OvertakenError):
            return ask()
    return ask()


def _those_known(epochs: Mapping[TopicPartition, int | None]) -> dict[TopicPartition, int]:
    return {each: epoch for each, epoch in epochs.items() if epoch is not None}
