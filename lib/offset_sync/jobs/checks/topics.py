"""Checks that the clusters have the same topics and partition counts, and what mirrors' own topics show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from offset_sync.config import Config
from offset_sync.decode.mirror_headers import ADDED_HEADERS
from offset_sync.jobs.checks.asking import CHECKPOINTS, Cluster, mirrored_topics, own_topics
from offset_sync.kafka.tail_reader import SeenLogs
from offset_sync.model.finding import Finding, Level, Lines

_GUIDE = "docs/mirrors.md, Moving over from MirrorMaker's group sync"
_OTHERS_GUIDE = "docs/mirrors-presets.md"
_OTHER_MIRRORS = {
    "MSK Replicator": (r"__amazon_msk_replicator_.+", "set synchroniseConsumerGroupOffsets=false"),
    "Lenses K2K": (r"__k2k_.+", "do not run k2k-offset-mapping"),
    "Cluster Linking": (
        r"_confluent-link-metadata",
        "if there is a link to here, leave its copies and their groups to it",
    ),
    "cluster mirroring (KIP-1279)": (r"__mirror_state", "leave its copies and their groups to it"),
}
"""By mirror: its own topics, and the remedy. Confluent's brokers have theirs without a link."""
_Partitions = Mapping[str, Mapping[str, int]]
"""How many partitions each stream has, by cluster."""


def judge_topics(config: Config, clusters: Mapping[str, Cluster]) -> Iterator[Finding]:
    """Yield the topics that a cluster does not have, and those whose partitions differ between two clusters."""
    partitions = {alias: mirrored_topics(config, each) for alias, each in clusters.items()}
    for alias, cluster in clusters.items():
        lines = Lines(cluster.place, "topics")
        if absent := _absent(config, cluster, partitions):
            yield lines.of(Level.WARN, "does not exist; it is not synced before it is created and mirrored", absent)
        elif not partitions[alias]:
            yield lines.of(Level.WARN, "no included topic is visible; grant Describe, or create them")
    yield from _partitions(config, partitions)


def _absent(config: Config, cluster: Cluster, partitions: _Partitions) -> set[str]:
    """Return the topics that the configuration names in full, or another cluster has, and this one does not."""
    names, alias = config.names, cluster.alias
    others = {each for pair in config.pairs() if alias in pair for each in pair} - {alias}
    elsewhere = {stream for each in others for stream in partitions.get(each, ())}
    known = config.named_topics()
    # With prefixes a topic of that name may exist at another cluster only, and its copy here.
    copied = {names.origin_topic(each) for each in known if names.outside(alias, each) in cluster.topics}
    own = {each for each in known if names.home(each) in (None, alias) and names.origin_topic(each) not in copied}
    return {names.outside(alias, each) for each in elsewhere | own} - cluster.topics.keys()


def _partitions(config: Config, partitions: _Partitions) -> Iterator[Finding]:
    lines = Lines("topics", "partitions")
    same, differing = set[str](), dict[str, set[str]]()
    for stream in sorted({stream for each in partitions.values() for stream in each}):
        pairs = [pair for pair in config.pairs() if all(stream in partitions.get(each, ()) for each in pair)]
        counts = {alias: partitions[alias][stream] for pair in pairs for alias in pair}
        name = config.names.origin_topic(stream) or stream
        if any(counts[source] != counts[target] for source, target in pairs):
            told = ", ".join(f"{number} at {alias}" for alias, number in counts.items())
            differing.setdefault(told, set()).add(name)
        elif counts:
            same.add(name)
    for told, names in differing.items():
        text = f"{told}; the others are withheld as PARTITIONS_DIFFER: add partitions where there are fewer, and"
        yield lines.of(Level.FAIL, f"{text} configure the mirror to keep each record's partition", names)
    if same:
        yield lines.of(Level.OK, "the same number at all clusters", same)


def check_mirror_maker(config: Config, cluster: Cluster) -> Iterator[Finding]:
    """Yield findings from MirrorMaker's own topics at a cluster; nothing if none is visible.

    The group sync needs a topic of checkpoints. Whether it is on only MirrorMaker's settings show.
    """
    lines, own = Lines(cluster.place, "MirrorMaker"), own_topics(config, cluster)
    if included := [name for stream, name in own.items() if config.is_topic_included(stream)]:
        text = "MirrorMaker's own, and included: it is never mirrored; add it to topics.exclude"
        yield lines.of(Level.WARN, text, included)
    if checkpoints := [name for name in own.values() if CHECKPOINTS.fullmatch(name)]:
        text = "whether its group sync is on cannot be seen here; set sync.group.offsets.enabled=false"
        yield lines.of(Level.SKIP, f"{text}: {_GUIDE}", checkpoints)


def recognised_mirrors(config: Config, cluster: Cluster, seen: SeenLogs) -> Iterator[Finding]:
    """Yield which other mirrors have left topics at a cluster, or headers on its newest records.

    Whether these write offsets of groups, too, only their own settings show.
    """
    lines, outside = Lines(cluster.place, "other mirrors"), config.names.outside
    added: dict[str, set[str]] = {}
    for place, records in seen.records.items():
        for name in {name for each in records for name, _ in each.content.headers} & ADDED_HEADERS.keys():
            added.setdefault(ADDED_HEADERS[name], set()).add(outside(cluster.alias, place.topic))
    names = {outside(cluster.alias, stream) for stream in cluster.partitions}
    for mirror, (pattern, remedy) in _OTHER_MIRRORS.items():
        if found := added.get(mirror, set()) | {name for name in names if re.fullmatch(pattern, name)}:
            text = f"{mirror}: whether it writes offsets of groups too cannot be seen here; {remedy}: {_OTHERS_GUIDE}"
            yield lines.of(Level.SKIP, text, found)
