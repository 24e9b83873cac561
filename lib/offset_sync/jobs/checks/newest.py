"""Some of the newest records of every topic at every cluster: what there is to look at. Who asks is an argument."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from offset_sync.config import Config
from offset_sync.kafka.range_reader import OffsetRange
from offset_sync.kafka.tail_reader import AskedLogs, Ends, SeenLogs
from offset_sync.kafka.topic_metadata import LogEnds
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition

_MOST_LOGS = 2_000
"""So many logs of a cluster are asked for their ends, the first partitions of all topics first."""
_LOGS_OF_A_TOPIC = 3
_RECORDS_OF_A_LOG = (5, 50)
_RECORDS_OF_A_CLUSTER = 20_000
_BY_CONTENTS = 200
"""Copies that are told by contents are compared: of each log so many records, and so are originals."""
_CLUSTERS_AT_ONCE = 8
Answer = TypeVar("Answer")
Asked = TypeVar("Asked")


def look_at_logs(
    config: Config, clusters: Mapping[str, AskedLogs], topics: Mapping[str, Mapping[str, int]]
) -> dict[str, SeenLogs]:
    """Return what each of *clusters* has of its *topics*, partitions by stream; clusters are asked side by side."""
    wanted = {alias: _first_of_each(topics[alias]) for alias in clusters}
    ends = side_by_side(lambda alias: clusters[alias].ends(wanted[alias]), clusters)
    known = {alias: each for alias, each in ends.items() if not isinstance(each, ClusterError)}
    ranges = chosen_ranges(config, known)

    def read(alias: str) -> SeenLogs:
        found = ends[alias]
        if isinstance(found, ClusterError):
            raise found
        mine = _by_isolation(config, alias, ranges[alias])
        tails = [clusters[alias].tails(some, is_committed=committed) for committed, some in mine.items() if some]
        records = {place: each for tail in tails for place, each in tail.records.items()}
        unread = {place.topic for tail in tails for place in tail.unread}
        unread |= topics[alias].keys() - {place.topic for place in found}
        return SeenLogs(alias, topics[alias], found, records, frozenset(unread))

    seen = side_by_side(read, clusters)
    return {
        alias: SeenLogs(alias, topics[alias], error=str(each)) if isinstance(each, ClusterError) else each
        for alias, each in seen.items()
    }


def chosen_ranges(config: Config, ends: Mapping[str, Ends]) -> dict[str, dict[TopicPartition, OffsetRange]]:
    """Return what to read of each cluster: of a stream the same partitions everywhere, first those with most copies.

    Of copies byte for byte the same offsets, below the nearest end.
    """
    logs: dict[str, dict[int, list[LogEnds]]] = {}
    for found in ends.values():
        for place, each in found.items():
            if each.log_end > each.log_start:
                logs.setdefault(place.topic, {}).setdefault(place.partition, []).append(each)
    chosen = {
        TopicPartition(stream, number): min(each.log_end for each in of_stream[number])
        for stream, of_stream in logs.items()
        for number in sorted(of_stream, key=lambda number: (-len(of_stream[number]), number))[:_LOGS_OF_A_TOPIC]
    }
    least, most = _RECORDS_OF_A_LOG
    many = min(most, max(least, _RECORDS_OF_A_CLUSTER // max(1, len(chosen))))
    ranges: dict[str, dict[TopicPartition, OffsetRange]] = {alias: {} for alias in ends}
    for alias, found in ends.items():
        for place in sorted(chosen.keys() & found.keys(), key=_by_number):
            is_copied = config.original_of(place.topic) is not None
            end = chosen[place] if is_copied else found[place].log_end
            count = _BY_CONTENTS if config.is_by_contents and not is_copied else many
            start = min(end, max(found[place].log_start, end - count))
            ranges[alias][place] = OffsetRange(start, end)
    return ranges


def side_by_side(ask: Callable[[Asked], Answer], many: Collection[Asked]) -> dict[Asked, Answer | ClusterError]:
    """Return what *ask* answers for each, or its ClusterError; a silent cluster keeps no other waiting."""

    def asked(one: Asked) -> Answer | ClusterError:
        try:
            return ask(one)
        except ClusterError as error:
            return error

    with ThreadPoolExecutor(_CLUSTERS_AT_ONCE) as pool:
        return dict(zip(many, pool.map(asked, many), strict=True))


def _first_of_each(partitions: Mapping[str, int]) -> list[TopicPartition]:
    places = (TopicPartition(stream, number) for stream, count in partitions.items() for number in range(count))
    return sorted(places, key=_by_number)[:_MOST_LOGS]


def _by_isolation(
    config: Config, alias: str, ranges: Mapping[TopicPartition, OffsetRange]
) -> dict[bool, dict[TopicPartition, OffsetRange]]:
    """Return the ranges to read as consumers do, and those with records that are not committed.

    Those are originals that are told by contents: most mirrors copy such records too.
    """
    parts: dict[bool, dict[TopicPartition, OffsetRange]] = {True: {}, False: {}}
    for place, each in ranges.items():
        is_original = config.is_by_contents and config.origin_of(place.topic) == alias
        parts[not is_original][place] = each
    return parts


def _by_number(place: TopicPartition) -> tuple[int, str]:
    return place.partition, place.topic
