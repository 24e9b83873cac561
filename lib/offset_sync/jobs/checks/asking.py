"""Queries the clusters: metadata and rights of each, and some of the newest records of its topics.

Clusters are queried in parallel and every query ends in bounded time, so a silent one does not block others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

from offset_sync.config import Config
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.own_rights import Operations, OwnRights
from offset_sync.kafka.requests import LogEnds
from offset_sync.kafka.tail_reader import Ends, SeenLogs, TailReader, Tails
from offset_sync.model.errors import ClusterError, ConfigError
from offset_sync.model.values import CONSUMER_OFFSETS, OffsetRange, TopicPartition
from offset_sync.state.known_names import learn_names

DEADLINE_S = 10.0
_CLUSTERS_AT_ONCE = 8
_MOST_LOGS = 2_000
"""The most logs of a cluster whose ends are requested, the first partitions of all topics first."""
_LOGS_OF_A_TOPIC = 3
_RECORDS_OF_A_LOG = (5, 50)
_RECORDS_OF_A_CLUSTER = 20_000
_WITHOUT_STAMPS = 200
"""Records of a log to compare if copies are told by an extension."""
CHECKPOINTS = re.compile(r".+[._-]checkpoints[._-]internal")
_OWN = re.compile(
    rf"mm2-offset-syncs[._-].+[._-]internal|mm2-(configs|offsets|status)[._-].+[._-]internal|{CHECKPOINTS.pattern}"
)
_Answer = TypeVar("_Answer")


def side_by_side(ask: Callable[[str], _Answer], aliases: Collection[str]) -> dict[str, _Answer | ClusterError]:
    """Return what *ask* returns for each cluster, or its ClusterError; a silent one does not block others."""

    def asked(alias: str) -> _Answer | ClusterError:
        try:
            return ask(alias)
        except ClusterError as error:
            return error

    with ThreadPoolExecutor(_CLUSTERS_AT_ONCE) as pool:
        return dict(zip(aliases, pool.map(asked, aliases), strict=True))


def answers(found: Mapping[str, _Answer | ClusterError]) -> dict[str, _Answer]:
    """Return what :func:`side_by_side` has *found*, without the errors."""
    return {alias: each for alias, each in found.items() if not isinstance(each, ClusterError)}


@dataclass(frozen=True)
class Cluster:
    """A cluster that answers: *admin* and *reader* serve further requests.

    *topics* has our rights by the cluster's own names, *partitions* has counts by stream; neither has topics that do
    not exist. Where we have no access the value is an error: its name for a group and for the *settings* of a broker
    and of the *commit_log*.
    *clashes* are problems with the names of topics.
    """

    alias: str
    admin: ClusterAdmin
    reader: TailReader
    brokers: int = 1
    cluster_id: str = ""
    own_rights: Operations = frozenset()
    topics: Mapping[str, Operations | ClusterError] = field(default_factory=dict)
    partitions: Mapping[str, int] = field(default_factory=dict)
    groups: Sequence[str] = ()
    group_rights: Mapping[str, Operations | str] = field(default_factory=dict)
    settings: Mapping[str, str] | str = field(default_factory=dict)
    commit_log: Mapping[str, str] | str = field(default_factory=dict)
    newest_commit_ms: int | None = None
    clashes: Sequence[str] = ()

    @property
    def place(self) -> str:
        """The path of the cluster in the configuration."""
        return f"clusters.{self.alias}"

    def may_read(self, topic: str) -> bool:
        """Whether Read is allowed on the topic of this name."""
        return may_read(self.topics.get(topic))


def may_read(rights: Operations | ClusterError | None) -> bool:
    """Whether Read is among *rights*."""
    return isinstance(rights, frozenset) and "READ" in rights


def ask_cluster(config: Config, rights: OwnRights) -> Cluster:
    """Return a cluster's answers, without our rights on groups; raises ClusterError if it does not answer."""
    alias, names = rights.alias, config.names
    try:
        config.spark_options(alias)  # detects a key that Java cannot use
    except ConfigError as error:
        raise ClusterError(alias, str(error).removeprefix(f"clusters.{alias}: ")) from error
    brokers = rights.brokers(DEADLINE_S)
    options = config.admin_options(alias)
    admin = ClusterAdmin(alias, options, names)
    partitions = {stream: each.partitions for stream, each in admin.topics().items()}
    clashes = _clashes(config, admin)
    called = (names.called(alias, each) for each in (*partitions, *config.named_topics()))
    of_commits = [] if alias in config.polled() else [CONSUMER_OFFSETS]
    topics = rights.of_topics([*filter(None, called), *of_commits])
    commit_logs = admin.partition_count(CONSUMER_OFFSETS) if may_read(topics.get(CONSUMER_OFFSETS)) else None
    return Cluster(
        alias,
        admin,
        TailReader(alias, options, names),
        brokers=len(brokers),
        cluster_id=admin.cluster_id(),
        own_rights=rights.of_cluster(),
        topics=topics,
        partitions=partitions,
        groups=rights.groups(),
        settings=rights.settings(brokers[0]),
        commit_log=rights.topic_settings(CONSUMER_OFFSETS) if commit_logs else {},
        newest_commit_ms=rights.newest_ms(CONSUMER_OFFSETS, commit_logs) if commit_logs else None,
        clashes=clashes,
    )


def _clashes(config: Config, admin: ClusterAdmin) -> list[str]:
    try:
        learn_names(config, {admin.alias: admin})
    except ConfigError as error:
        return error.problems
    return []


def own_topics(config: Config, cluster: Cluster) -> dict[str, str]:
    """Return the names of MirrorMaker's own topics at a cluster, by stream."""
    aliases = config.mirror_aliases().values()
    heartbeats = re.compile(rf"(({'|'.join(map(re.escape, aliases))})[._-])?heartbeats")
    named = {stream: config.names.outside(cluster.alias, stream) for stream in cluster.partitions}
    return {s: name for s, name in named.items() if _OWN.fullmatch(name) or heartbeats.fullmatch(name)}


def mirrored_topics(config: Config, cluster: Cluster) -> dict[str, int]:
    """Return the included streams with their partitions, without those of MirrorMaker's own."""
    own = own_topics(config, cluster)
    return {s: count for s, count in cluster.partitions.items() if config.is_topic_included(s) and s not in own}


def look_at_logs(config: Config, clusters: Mapping[str, Cluster]) -> dict[str, SeenLogs]:
    """Return the logs of mirrored topics that we may read at each of *clusters*."""
    topics = {alias: _readable(config, each) for alias, each in clusters.items()}
    ends = side_by_side(lambda alias: clusters[alias].admin.ends(_first_logs(topics[alias]), DEADLINE_S), clusters)
    known = answers(ends)
    ranges = chosen_ranges(config, known)

    def read(alias: str) -> Tails:
        # Most mirrors without headers copy records of aborted transactions too.
        return clusters[alias].reader.read(ranges[alias], DEADLINE_S, is_committed=config.is_stamped)

    tails, seen = side_by_side(read, known), dict[str, SeenLogs]()
    for alias, cluster in clusters.items():
        found = tails.get(alias, ends[alias])
        seen[alias] = SeenLogs(cluster.admin, cluster.reader, topics[alias])
        if isinstance(found, Tails):
            silent = topics[alias].keys() - {place.topic for place in known[alias]}
            unread = silent | {place.topic for place in found.unread}
            seen[alias] = replace(seen[alias], ends=known[alias], records=found.records, unread=frozenset(unread))
        elif isinstance(found, ClusterError):
            seen[alias] = replace(seen[alias], error=found.message)
    return seen


def _readable(config: Config, cluster: Cluster) -> dict[str, int]:
    outside = config.names.outside
    topics = mirrored_topics(config, cluster)
    return {stream: count for stream, count in topics.items() if cluster.may_read(outside(cluster.alias, stream))}


def _first_logs(partitions: Mapping[str, int]) -> list[TopicPartition]:
    places = (TopicPartition(stream, number) for stream, count in partitions.items() for number in range(count))
    return sorted(places, key=_by_number)[:_MOST_LOGS]


def chosen_ranges(config: Config, ends: Mapping[str, Ends]) -> dict[str, dict[TopicPartition, OffsetRange]]:
    """Return the ranges to read: of a stream the same partitions at all clusters, those with most copies first."""
    copies = Counter(place for found in ends.values() for place, each in found.items() if each.log_end > each.log_start)
    logs: dict[str, list[TopicPartition]] = {}
    for place in sorted(copies, key=lambda place: (-copies[place], place.partition)):
        logs.setdefault(place.topic, []).append(place)
    chosen = {place for of_stream in logs.values() for place in of_stream[:_LOGS_OF_A_TOPIC]}
    least, most = _RECORDS_OF_A_LOG
    count = min(most, max(least, _RECORDS_OF_A_CLUSTER // max(1, len(chosen))))
    count = count if config.is_stamped else _WITHOUT_STAMPS
    return {
        alias: {place: _newest(found[place], count) for place in sorted(chosen & found.keys(), key=_by_number)}
        for alias, found in ends.items()
    }


def _newest(ends: LogEnds, count: int) -> OffsetRange:
    """Return the last *count* offsets of a log."""
    return OffsetRange(max(ends.log_start, ends.log_end - count), ends.log_end)


def _by_number(place: TopicPartition) -> tuple[int, str]:
    return place.partition, place.topic
