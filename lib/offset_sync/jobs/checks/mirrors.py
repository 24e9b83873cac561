"""What the mirror does, topic by topic, as the newest records at all clusters tell."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from offset_sync.config import Config
from offset_sync.config.name_rules import mirror_aliases
from offset_sync.contents.check import judge_contents
from offset_sync.jobs.checks.mirror_headers import judge_headers
from offset_sync.jobs.checks.mirror_maker import GroupSync, is_own_topic, judge_mirror_maker, read_checkpoints
from offset_sync.jobs.checks.newest import look_at_logs, side_by_side
from offset_sync.jobs.checks.originals import with_originals
from offset_sync.jobs.checks.partitions import judge_partitions, judge_presence
from offset_sync.jobs.checks.promised_copies import at_the_same_offsets, judge_copies
from offset_sync.jobs.checks.stamped_copies import judge_pairs
from offset_sync.jobs.checks.stamps import stamped_topics
from offset_sync.jobs.checks.unstamped_copies import judge_unstamped, new_natives, unstamped_copies
from offset_sync.kafka.tail_reader import AskedLogs, Ends, SeenLogs
from offset_sync.model.errors import ClusterError
from offset_sync.model.finding import Finding
from offset_sync.model.values import TopicPartition


@dataclass(frozen=True)
class AskedCluster:
    """A cluster that answers: all its topics by stream, with the numbers of partitions, and those that we may read.

    *hidden* are topics of checkpoints, by their own names, of which it does not say whether they are there.
    """

    logs: AskedLogs
    partitions: Mapping[str, int]
    readable: Collection[str]
    hidden: Collection[str] = ()


@dataclass(frozen=True)
class MirrorFindings:
    """*clusters* is what was found at each, *between* what is about several."""

    clusters: Mapping[str, list[Finding]] = field(default_factory=dict)
    between: list[Finding] = field(default_factory=list)


def check_mirrors(config: Config, clusters: Mapping[str, AskedCluster]) -> MirrorFindings:
    """Return what the topics of *clusters* show of their mirror. Clusters are asked side by side, in bounded time."""
    own = {alias: _own_topics(config, alias, each) for alias, each in clusters.items()}
    included = {alias: _included(config, each, own[alias]) for alias, each in clusters.items()}
    readable = {
        alias: {stream: count for stream, count in found.items() if stream in clusters[alias].readable}
        for alias, found in included.items()
    }
    asked = {alias: each.logs for alias, each in clusters.items()}
    seen = look_at_logs(config, asked, readable)
    topics = {alias: stamped_topics(config, each) for alias, each in seen.items() if not config.is_by_contents}
    unstamped = unstamped_copies(config, new_natives(topics))
    pairs = with_originals(config, asked, seen, topics)
    answering = [alias for alias, each in seen.items() if not each.error]
    later = _later_ends(config, {alias: asked[alias] for alias in answering}, seen)
    contents = _contents(config, asked, seen)
    syncs = _group_syncs(config, {alias: clusters[alias] for alias in answering}, own)
    found = {
        alias: [
            *judge_presence(config, alias, included),
            *judge_headers(config, mine, topics, unstamped),
            *judge_pairs(config, mine, pairs.get(alias, [])),
            *judge_copies(config, mine, at_the_same_offsets(config, seen, later, alias)),
            *contents.get(alias, ()),
            *judge_mirror_maker(config, alias, own[alias], syncs.get(alias, GroupSync())),
        ]
        for alias, mine in seen.items()
    }
    return MirrorFindings(found, [*judge_partitions(config, included), *judge_unstamped(config, unstamped)])


def _included(config: Config, cluster: AskedCluster, own: Mapping[str, str]) -> dict[str, int]:
    """Return the included topics that somebody else has made than MirrorMaker, for itself."""
    return {s: n for s, n in cluster.partitions.items() if config.is_topic_included(s) and s not in own}


def _own_topics(config: Config, alias: str, cluster: AskedCluster) -> dict[str, str]:
    """Return MirrorMaker's own topics, names by stream."""
    aliases = mirror_aliases({each: dict(known) for each, known in config.clusters.items()}).values()
    named = {stream: config.names.outside(alias, stream) for stream in cluster.partitions}
    return {stream: name for stream, name in named.items() if is_own_topic(name, aliases)}


def _contents(
    config: Config, clusters: Mapping[str, AskedLogs], seen: Mapping[str, SeenLogs]
) -> dict[str, list[Finding]]:
    aliases = [alias for alias, mine in seen.items() if config.is_by_contents and not mine.error]
    found = side_by_side(lambda alias: judge_contents(config, clusters, seen, alias), aliases)
    return {alias: each for alias, each in found.items() if not isinstance(each, ClusterError)}


def _later_ends(config: Config, clusters: Mapping[str, AskedLogs], seen: Mapping[str, SeenLogs]) -> dict[str, Ends]:
    """Return where the originals of copies byte for byte end, asked after the ends of the copies."""
    places: dict[str, set[TopicPartition]] = {}
    for alias, mine in seen.items():
        for place in mine.ends:
            if (origin := config.original_of(place.topic)) not in (None, alias) and origin in clusters:
                places.setdefault(str(origin), set()).add(place)
    found = side_by_side(lambda alias: clusters[alias].ends(places[alias]), places)
    return {alias: each for alias, each in found.items() if not isinstance(each, ClusterError)}


def _group_syncs(
    config: Config, clusters: Mapping[str, AskedCluster], own: Mapping[str, Mapping[str, str]]
) -> dict[str, GroupSync]:
    def ask(alias: str) -> GroupSync:
        cluster = clusters[alias]
        inside = partial(config.names.inside, alias)
        return replace(read_checkpoints(cluster.logs, own[alias], cluster.readable, inside), hidden=cluster.hidden)

    found = side_by_side(ask, clusters)
    return {alias: GroupSync() if isinstance(each, ClusterError) else each for alias, each in found.items()}
