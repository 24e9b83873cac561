"""Some of the newest records of every topic at every cluster: what there is to look at, in bounded time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from offset_sync.config import Config
from offset_sync.jobs.checks.cluster import DEADLINE_S, Cluster, answers, side_by_side
from offset_sync.jobs.checks.topics import mirrored_topics
from offset_sync.kafka.range_reader import OffsetRange
from offset_sync.kafka.tail_reader import Ends, SeenLogs
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition

_MOST_LOGS = 2_000
"""So many logs of a cluster are asked for their ends, the first partitions of all topics first."""
_LOGS_OF_A_TOPIC = 3
_RECORDS_OF_A_LOG = (5, 50)
_RECORDS_OF_A_CLUSTER = 20_000
_BY_CONTENTS = 200
"""Copies that are told by contents are compared: of each log so many records, and so are originals."""
Ranges = Mapping[TopicPartition, OffsetRange]


def look_at_logs(config: Config, clusters: Mapping[str, Cluster]) -> dict[str, SeenLogs]:
    """Return what each of *clusters* has of the mirrored topics that we may read; they are asked side by side."""
    topics = {alias: _readable(config, each) for alias, each in clusters.items()}
    ends = side_by_side(lambda alias: clusters[alias].admin.ends(_first_logs(topics[alias]), DEADLINE_S), clusters)
    ranges = chosen_ranges(config, answers(ends))

    def read(alias: str) -> SeenLogs:
        cluster, found = clusters[alias], ends[alias]
        if isinstance(found, ClusterError):
            raise found
        # Most mirrors copy records of transactions too that come to nothing.
        tails = cluster.reader.read(ranges[alias], DEADLINE_S, is_committed=not config.is_by_contents)
        unread = {place.topic for place in tails.unread} | topics[alias].keys() - {place.topic for place in found}
        return SeenLogs(cluster.admin, cluster.reader, topics[alias], found, tails.records, frozenset(unread))

    return {
        alias: SeenLogs(clusters[alias].admin, clusters[alias].reader, topics[alias], error=str(each))
        if isinstance(each, ClusterError)
        else each
        for alias, each in side_by_side(read, clusters).items()
    }


def _readable(config: Config, cluster: Cluster) -> dict[str, int]:
    outside = config.names.outside
    topics = mirrored_topics(config, cluster)
    return {stream: count for stream, count in topics.items() if cluster.may_read(outside(cluster.alias, stream))}


def _first_logs(partitions: Mapping[str, int]) -> list[TopicPartition]:
    places = (TopicPartition(stream, number) for stream, count in partitions.items() for number in range(count))
    return sorted(places, key=_by_number)[:_MOST_LOGS]


def chosen_ranges(config: Config, ends: Mapping[str, Ends]) -> dict[str, Ranges]:
    """Return what to read of each cluster: of a stream the same partitions everywhere, first those with most copies."""
    copies = Counter(place for found in ends.values() for place, each in found.items() if each.log_end > each.log_start)
    logs: dict[str, list[TopicPartition]] = {}
    for place in sorted(copies, key=lambda place: (-copies[place], place.partition)):
        logs.setdefault(place.topic, []).append(place)
    chosen = {place for of_stream in logs.values() for place in of_stream[:_LOGS_OF_A_TOPIC]}
    least, most = _RECORDS_OF_A_LOG
    share = _RECORDS_OF_A_CLUSTER // max(1, len(chosen))
    count = _BY_CONTENTS if config.is_by_contents else min(most, max(least, share))
    return {
        alias: {
            place: OffsetRange(max(found[place].log_start, found[place].log_end - count), found[place].log_end)
            for place in sorted(chosen & found.keys(), key=_by_number)
        }
        for alias, found in ends.items()
    }


def _by_number(place: TopicPartition) -> tuple[int, str]:
    return place.partition, place.topic
