"""Can what a micro-batch has read be believed? Asked of the clusters, after reading and before it is written down."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from offset_sync.ingest.batch_rows import ReadBatch, is_of
from offset_sync.ingest.completeness import Completeness
from offset_sync.ingest.due_logs import DueLogs, refuse_unknown
from offset_sync.ingest.incarnation_check import IncarnationCheck, OvertakenError
from offset_sync.ingest.kept_runs import Cut
from offset_sync.ingest.origin_check import OriginCheck
from offset_sync.ingest.second_reader import OffsetRanges
from offset_sync.kafka.range_reader import OffsetRange
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata, Ends

_TRIES = 5


class Logs(Protocol):
    """Who asks the clusters about logs, see :class:`offset_sync.state.cluster_metadata.MetadataFetcher`."""

    def fetch_each(
        self, wanted: Mapping[str, Collection[TopicPartition]]
    ) -> Mapping[str, ClusterMetadata | ClusterError]:
        """Return what each cluster says of its partitions, or why it said nothing."""


class LogReader(Protocol):
    """Who reads parts of the cluster's logs once more, as the query does."""

    def __call__(self, ranges: OffsetRanges) -> DataFrame:
        """Return the records from each partition's first offset to below its second."""


CutRecords = Callable[[DataFrame, OffsetRanges], Cut]
"""Makes runs of the records of some ranges."""


class Asked(NamedTuple):
    """Who is asked: *own* about the logs of the cluster that is read, *others* about those that copies come from.

    *others* should not hold the index up for long. *read_again* reads parts of the cluster's logs.
    """

    own: Logs
    others: Logs
    read_again: LogReader


class LogCheck:
    """Checks what was read of the cluster *alias*."""

    def __init__(self, alias: str, asked: Asked, origins: OriginCheck, incarnations: IncarnationCheck) -> None:
        self._alias, self._asked, self._origins, self._incarnations = alias, asked, origins, incarnations
        self._due, self._completeness = DueLogs(alias, incarnations), Completeness()

    def was_read_again(self, read: ReadBatch) -> None:
        """Take note that what *read* has was written down."""
        self._incarnations.was_read_again(self._alias, read.again)

    def checked(self, read: ReadBatch, cut: CutRecords) -> ReadBatch:
        """Return what of *read* can be believed; of a log that has other records than before, those that it has now.

        Asked after reading: what was there to be read was at its origin before, and in the life that is known then.
        *cut* makes such rows of the records of some ranges.
        """
        wanted = self._due.of(read.start, read.end)
        for tries_left in reversed(range(_TRIES)):
            asked_at = datetime.now(timezone.utc)
            try:
                here, said, at = self._ask(read, wanted)
                break
            except OvertakenError:
                if not tries_left:
                    raise
        self._incarnations.note_arrived(self._alias, here.ends, asked_at)
        places = {each: here.ends[each] for each in self._incarnations.to_read_again(self._alias) if each in here.ends}
        read = self._read_again(read._replace(at=at), places, cut)
        complete_until = self._completeness.of(read, here.ends, asked_at)
        kept = tuple(self._origins.refute_kept(each, said) for each in read.kept)
        return read._replace(cut=self._origins.refute(read.cut, said), complete_until=complete_until, kept=kept)

    def _ask(
        self, read: ReadBatch, wanted: Collection[TopicPartition]
    ) -> tuple[ClusterMetadata, Mapping[str, ClusterMetadata | ClusterError], datetime]:
        """Return what this cluster says of its logs, what all say, and the time for rows of what was *read*."""
        alias, moment = self._alias, self._incarnations.moment()
        origins = self._origins.origins(read.cut, read.kept)
        with ThreadPoolExecutor(1) as beside:  # each answer takes several requests, one after the other
            others = beside.submit(self._asked.others.fetch_each, origins)
            here = self._asked.own.fetch_each({alias: wanted})[alias]
        if isinstance(here, ClusterError):
            raise here
        refuse_unknown(alias, here, read.start, read.end)
        said = {alias: here, **others.result()}
        read_to = {ClusterPartition(alias, *each): read.start.get((each.topic, each.partition), 0) for each in wanted}
        return here, said, self._incarnations.note(said, read_to, moment)

    def _read_again(self, read: ReadBatch, places: Mapping[TopicPartition, Ends], cut: CutRecords) -> ReadBatch:
        """Return *read* with the logs in *places* as they are now, from where they have other records."""
        places = {each: ends for each, ends in places.items() if each in read.end}
        if not places:
            return read
        # From where this micro-batch has begun, if that is lower: what it read there is read again too.
        begins = {
            each: min(offset, read.start.get((each.topic, each.partition), 0))
            for each, offset in self._incarnations.to_read_again(self._alias).items()
        }
        until = {each: max(begins[each], min(read.end[each], ends.log_end)) for each, ends in places.items()}
        first = {each: max(begins[each], ends.log_start) for each, ends in places.items()}
        ranges = {each: OffsetRange(first[each], end) for each, end in until.items() if first[each] < end}
        rows = [read.cut.filter(pc.invert(is_of(read.cut, places)))]
        kept = tuple(each._replace(without=frozenset(places)) for each in read.kept)
        if ranges:
            found = cut(self._asked.read_again(ranges), ranges)
            rows.append(found.rows)
            kept += tuple(each._replace(is_again=True) for each in found.kept)
        start = read.start | {(each.topic, each.partition): begins[each] for each in places}
        end = read.end | {(each.topic, each.partition): offset for each, offset in until.items()}
        again = frozenset(places)
        return read._replace(cut=pa.concat_tables(rows), start=start, end=end, again=again, kept=kept)
