"""Is a group's next record the same on both sides? Both records are read, whatever the index says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from offset_sync.config import Config
from offset_sync.decode.mirror_headers import Identities
from offset_sync.ingest.run_builder import identities_at
from offset_sync.kafka.requests import SYSTEM_CLOCK, Clock
from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Reason
from offset_sync.model.values import RecordContent, TopicPartition
from offset_sync.state.cluster_queries import ClusterQueries

BUDGET_S = 10.0
"""How long a report waits for comparisons, and for at most one more round of reads."""
_TOO_MANY = Reason.NOT_COMPARED()
_SAID = {"timestamp_ms": "timestamp"}


class RecordPair(NamedTuple):
    """The first record at or above *source_offset*, and the first at or above *target_offset*: are they the same?"""

    source: str
    target: str
    topic_partition: TopicPartition
    source_offset: int
    target_offset: int


class RecordComparer:
    """Compares by identity, timestamp, key and value; a pair once found the same is not read again.

    If an extension tells copies, that compares the records.

    Pairs not compared within *budget_s* seconds do not count as the same this time. *renewed* returns the configuration
    with the origins known now.
    """

    def __init__(
        self,
        renewed: Callable[[], Config],
        clusters: ClusterQueries,
        budget_s: float = BUDGET_S,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._renewed, self._clusters, self._budget_s, self._clock = renewed, clusters, budget_s, clock
        self._same: set[RecordPair] = set()

    def compare(self, pairs: Collection[RecordPair]) -> dict[RecordPair, str | None]:
        """Return for each pair None if the records are the same, else their difference."""
        config, until = self._renewed(), self._clock.now() + self._budget_s
        found: dict[RecordPair, str | None] = {pair: None if pair in self._same else _TOO_MANY for pair in pairs}
        left = [pair for pair, difference in found.items() if difference is not None]
        while left:
            some = {pair.topic_partition: pair for pair in reversed(left)}  # a read takes one offset of each partition
            found |= self._read_and_compare(config, some.values())
            left = [pair for pair in left if some[pair.topic_partition] != pair]
            if self._clock.now() >= until:
                break
        self._same = {pair for pair, difference in found.items() if difference is None}
        return found

    def _read_and_compare(self, config: Config, pairs: Collection[RecordPair]) -> dict[RecordPair, str | None]:
        """Compare pairs of distinct partitions."""
        wanted: dict[str, dict[TopicPartition, int]] = {}
        for pair in pairs:
            wanted.setdefault(pair.source, {})[pair.topic_partition] = pair.source_offset
            wanted.setdefault(pair.target, {})[pair.topic_partition] = pair.target_offset
        read = {alias: self._clusters.first_records(alias, offsets) for alias, offsets in wanted.items()}
        return {pair: _difference(config, pair, read) for pair in pairs}


def _difference(
    config: Config, pair: RecordPair, read: Mapping[str, Mapping[TopicPartition, RecordContent] | ClusterError]
) -> str | None:
    records = []
    for alias in (pair.source, pair.target):
        answer = read[alias]
        record = None if isinstance(answer, ClusterError) else answer.get(pair.topic_partition)
        if record is None:
            return Reason.RECORD_UNREAD(alias)
        records.append(record)
    here, there = records
    if not config.is_stamped:
        different: str | None = config.of_extension("checks").difference(config, here, there)
        return different
    where = pair.topic_partition
    identities = _identity(config, pair.source, where, here), _identity(config, pair.target, where, there)
    if None in identities:
        return Reason.HEADERS_UNREAD()
    if identities[0] != identities[1]:
        return Reason.OTHER_RECORD()
    return difference_in(here, there, ("timestamp_ms", "key", "value"))


def _identity(config: Config, alias: str, where: TopicPartition, record: RecordContent) -> tuple[str, int] | None:
    """Return (origin, offset there), None for a record whose headers cannot be read."""
    found = identities_of(config, alias, where, [record])
    if found.is_malformed[0]:
        return None
    if found.is_native[0]:
        return alias, record.offset
    name = found.origins[int(found.origin_code[0])]
    return config.origins().get(name, name), int(found.origin_offset[0])


def identities_of(config: Config, alias: str, where: TopicPartition, records: Sequence[RecordContent]) -> Identities:
    """Return what the headers of *records* in one log of the cluster *alias* say."""
    headers = [dict(each.headers) for each in records]  # the last of a repeated header counts
    columns = {
        column: pa.array([each.get(name) for each in headers], pa.binary())
        for column, name in config.mirror.header_columns().items()
    }
    at_ms = np.array([each.timestamp_ms for each in records], np.int64)
    return identities_at(config, alias).of(columns, where, at_ms)


def difference_in(here: RecordContent, there: RecordContent, fields: Iterable[str]) -> str | None:
    """Return which of *fields* differs first between the next records of both sides; None: none does."""
    differing = (_SAID.get(name, name) for name in fields if getattr(here, name) != getattr(there, name))
    return next((Reason.RECORD_DIFFERS(name) for name in differing), None)
