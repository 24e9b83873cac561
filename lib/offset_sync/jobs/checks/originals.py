"""The records of which others bear the stamp: asked for at the cluster that the stamp names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from offset_sync.config import Config
from offset_sync.jobs.checks.newest import side_by_side
from offset_sync.jobs.checks.stamps import StampedTopic
from offset_sync.kafka.range_reader import OffsetRange
from offset_sync.kafka.tail_reader import AskedLogs, SeenLogs, TailRecord
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition

_ROUNDS = 2


class Copy(NamedTuple):
    """A record with the stamp of *offset* at the cluster *origin*, where *place* is the same log."""

    place: TopicPartition
    record: TailRecord
    origin: str
    offset: int


class Pair(NamedTuple):
    """A copy and the record that its stamp names."""

    copy: Copy
    original: TailRecord


def with_originals(
    config: Config,
    clusters: Mapping[str, AskedLogs],
    seen: Mapping[str, SeenLogs],
    topics: Mapping[str, Mapping[str, StampedTopic]],
) -> dict[str, list[Pair]]:
    """Return some copies of each log at each cluster with their originals, as far as these are there and come in time.

    *seen* are looked through before a cluster is asked.
    """

    def of_cluster(alias: str) -> list[Pair]:
        others = {each: logs for each, logs in seen.items() if each != alias}
        rounds = _rounds(config, others, topics[alias])
        return list(chain.from_iterable(_found(clusters, seen, copies) for copies in rounds))

    found = side_by_side(of_cluster, topics)
    return {alias: [] if isinstance(each, ClusterError) else each for alias, each in found.items()}


def _rounds(config: Config, seen: Mapping[str, SeenLogs], mine: Mapping[str, StampedTopic]) -> Iterator[list[Copy]]:
    """Yield the newest copies of each log, then the oldest ones that were read; a log has one origin in each round."""
    known = {name: alias for name, alias in config.origins().items() if alias in seen and not seen[alias].error}
    logs = [log for topic in mine.values() for log in topic.logs]
    for row in (-1, 0)[:_ROUNDS]:
        copies = []
        for log in logs:
            stamped = [
                Copy(log.place, record, known[stamp.origin], stamp.offset)
                for record, stamp in zip(log.records, log.stamps, strict=True)
                if stamp.origin in known
            ]
            if stamped and (row or len(stamped) > 1):
                copies.append(stamped[row])
        yield copies


def _found(clusters: Mapping[str, AskedLogs], seen: Mapping[str, SeenLogs], copies: list[Copy]) -> Iterator[Pair]:
    missing: dict[str, list[Copy]] = {}
    for copy in copies:
        records = seen[copy.origin].records.get(copy.place, ())
        original = next((each for each in records if each.content.offset == copy.offset), None)
        if original is not None:
            yield Pair(copy, original)
        elif _is_there(seen[copy.origin], copy):
            missing.setdefault(copy.origin, []).append(copy)
    for origin, wanted in missing.items():
        ranges = {copy.place: OffsetRange(copy.offset, copy.offset + 1) for copy in wanted}
        try:
            read = clusters[origin].tails(ranges).records
        except ClusterError:
            continue  # it did answer before: what it has said counts
        yield from (Pair(copy, each) for copy in wanted for each in read.get(copy.place, ())[:1])


def _is_there(seen: SeenLogs, copy: Copy) -> bool:
    ends = seen.ends.get(copy.place)
    return ends is not None and ends.log_start <= copy.offset < ends.log_end
