"""What ``check`` and ``init`` ask the clusters, once: metadata, our rights, and the newest records of each topic.

Clusters are asked in parallel and every answer is waited for in bounded time, so a silent one does not block others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import TypeVar

from offset_sync.check.stamps import Stamped, stamped_records
from offset_sync.config import Config
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.own_rights import Operations, OwnRights
from offset_sync.kafka.requests import side_by_side
from offset_sync.kafka.tail_reader import SeenLogs, TailReader
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import CONSUMER_OFFSETS, OffsetRange, TopicPartition
from offset_sync.state.known_names import learn_names
from offset_sync.sync.held_lists import own_group, seen_group

DEADLINE_S = 10.0
_MOST_GROUPS = 100
_LOGS_OF_A_TOPIC = 3
"""Those with the lowest numbers that hold records."""
_RECORDS_OF_A_LOG = 20
_WITHOUT_STAMPS = 200
"""Records of a log to compare if copies are told by an extension."""
CHECKPOINTS = r".+[._-]checkpoints[._-]internal"
_OWN = rf"mm2-(offset-syncs|configs|offsets|status)[._-].+[._-]internal|{CHECKPOINTS}"
CHECK = "-check"
OWN_GROUPS = {"own groups": f"offset-sync{CHECK}", "read lists": own_group(CHECK), "marks": seen_group(CHECK)}
"""A group each with the prefix of those that Spark's reader creates, that hold read lists, and marks of consumers."""
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class ClusterSample:
    """A cluster that answers: *admin* and *reader* serve further requests.

    *topics* has our rights on included ones by the cluster's own names, *partitions* has counts by stream; neither has
    topics that do not exist. Where we have no access the value is an error: its name for a group and for the *settings*
    of a broker and of the *commit_log*.
    """

    alias: str
    admin: ClusterAdmin
    reader: TailReader
    brokers: int = 1
    cluster_id: str = ""
    topics: Mapping[str, Operations | ClusterError] = field(default_factory=dict)
    partitions: Mapping[str, int] = field(default_factory=dict)
    groups: Sequence[str] = ()
    group_rights: Mapping[str, Operations | str] = field(default_factory=dict)
    settings: Mapping[str, str] | str = field(default_factory=dict)
    commit_log: Mapping[str, str] | str = field(default_factory=dict)


@dataclass(frozen=True)
class Sample:
    """What *clusters* answered, and the newest records *seen* there; *silent* has the errors of the others.

    *stamped* are the records whose headers count at a cluster.
    """

    config: Config
    clusters: Mapping[str, ClusterSample]
    silent: Mapping[str, ClusterError]
    seen: Mapping[str, SeenLogs]
    stamped: Mapping[str, Sequence[Stamped]]


def take_sample(config: Config) -> Sample:
    """Return what the clusters of *config* answer and show."""
    rights = {alias: OwnRights(alias, config.admin_options(alias), config.names) for alias in config.clusters}
    asked = side_by_side(lambda alias: _ask(config, rights[alias]), rights)
    clusters = _answers(asked)
    silent = {alias: each for alias, each in asked.items() if isinstance(each, ClusterError)}
    # Each cluster is asked about the groups of all: at a new target synced groups do not exist yet.
    listed = {group for each in clusters.values() for group in each.groups}
    examples = {each.replace(".*", "any-group") for each in config.groups.include}  # without Describe none is listed
    there = [*filter(config.is_group_included, listed)] or [*filter(config.is_group_included, examples)]
    own = [*OWN_GROUPS.values()][: None if config.sync.read_lists.groups else 1]
    groups = [*sorted(there)[:_MOST_GROUPS], *own]
    of_groups = _answers(side_by_side(lambda alias: rights[alias].of_groups(groups), clusters))
    clusters = {alias: replace(each, group_rights=of_groups.get(alias, {})) for alias, each in clusters.items()}
    return with_records(config, clusters, silent)


def with_records(config: Config, clusters: Mapping[str, ClusterSample], silent: Mapping[str, ClusterError]) -> Sample:
    """Return the sample of *clusters*, with the newest records of mirrored topics."""
    seen = _answers(side_by_side(lambda alias: _look_at_logs(config, clusters[alias]), clusters))
    known = with_found_ids(config, clusters)
    return Sample(known, clusters, silent, seen, stamped_records(known, seen))


def found_ids(config: Config, clusters: Mapping[str, ClusterSample]) -> dict[str, str]:
    """Return the cluster ids, those of earlier starts where a cluster does not answer."""
    return {**config.ids, **{alias: each.cluster_id for alias, each in clusters.items()}}


def with_found_ids(config: Config, clusters: Mapping[str, ClusterSample]) -> Config:
    """Return *config* with the ids of its clusters; of two aliases of one cluster only the last has it."""
    of_id = {found: alias for alias, found in found_ids(config, clusters).items()}
    return config.with_ids({alias: found for found, alias in of_id.items()})


def _answers(found: Mapping[str, _Answer | ClusterError]) -> dict[str, _Answer]:
    return {alias: each for alias, each in found.items() if not isinstance(each, ClusterError)}


def may_read(rights: Operations | ClusterError | str | None) -> bool:
    """Whether Read is among *rights*."""
    return isinstance(rights, frozenset) and "READ" in rights


def _ask(config: Config, rights: OwnRights) -> ClusterSample:
    """Return a cluster's answers, without our rights on groups; raises ClusterError if it does not answer.

    Raises ConfigError where two of its topics are one stream, or a key cannot be read.
    """
    alias, names = rights.alias, config.names
    config.spark_options(alias)  # reads its key
    brokers = rights.brokers(DEADLINE_S)
    partitions = {stream: each.partitions for stream, each in rights.topics().items()}
    learn_names(config, {alias: rights})
    streams = {*filter(config.is_topic_included, partitions), *config.named_topics()}
    called = (names.called(alias, each) for each in sorted(streams))
    of_commits = [] if alias in config.polled() else [CONSUMER_OFFSETS]
    topics = rights.of_topics([*filter(None, called), *of_commits])
    return ClusterSample(
        alias,
        rights,
        TailReader(alias, config.admin_options(alias), names),
        brokers=len(brokers),
        cluster_id=rights.cluster_id(),
        topics=topics,
        partitions=partitions,
        groups=[*rights.groups()],
        settings=rights.settings(brokers[0]),
        commit_log=rights.settings(CONSUMER_OFFSETS) if CONSUMER_OFFSETS in topics else {},
    )


def own_topics(config: Config, cluster: ClusterSample) -> dict[str, str]:
    """Return the names of MirrorMaker's own topics at a cluster, by stream."""
    prefixes = "|".join(map(re.escape, config.mirror_aliases().values()))
    own = re.compile(rf"{_OWN}|(({prefixes})[._-])?heartbeats")
    named = {stream: config.names.outside(cluster.alias, stream) for stream in cluster.partitions}
    return {stream: name for stream, name in named.items() if own.fullmatch(name)}


def mirrored_topics(config: Config, cluster: ClusterSample) -> dict[str, int]:
    """Return the included streams with their partitions, without those of MirrorMaker's own."""
    own = own_topics(config, cluster)
    return {s: count for s, count in cluster.partitions.items() if config.is_topic_included(s) and s not in own}


def _look_at_logs(config: Config, cluster: ClusterSample) -> SeenLogs:
    """Return the newest records of mirrored topics that we may read at a cluster."""
    topics = {
        stream: count
        for stream, count in mirrored_topics(config, cluster).items()
        if may_read(cluster.topics.get(config.names.outside(cluster.alias, stream)))
    }
    seen = SeenLogs(cluster.admin, cluster.reader, topics)
    try:
        ends = cluster.admin.ends(
            [TopicPartition(s, n) for s, count in topics.items() for n in range(count)], DEADLINE_S
        )
        filled = sorted(place for place, each in ends.items() if each.log_start < each.log_end)
        firsts = (islice(places, _LOGS_OF_A_TOPIC) for _, places in groupby(filled, attrgetter("topic")))
        count = _RECORDS_OF_A_LOG if config.is_stamped else _WITHOUT_STAMPS
        ranges = {
            each: OffsetRange(max(ends[each].log_start, ends[each].log_end - count), ends[each].log_end)
            for each in sorted(chain.from_iterable(firsts), key=attrgetter("partition"))
        }
        # Most mirrors without headers copy records of aborted transactions too.
        tails = cluster.reader.read(ranges, DEADLINE_S, is_committed=config.is_stamped)
    except ClusterError as error:
        return replace(seen, error=error.message)
    return replace(seen, ends=ends, records=tails.records)
