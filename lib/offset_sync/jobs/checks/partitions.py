"""Whether topics are there at all clusters that have to do with each other, with as many partitions. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from offset_sync.config import Config
from offset_sync.model.finding import Finding, Level, Lines

Partitions = Mapping[str, Mapping[str, int]]
"""How many partitions each stream has, by cluster."""


def judge_partitions(config: Config, partitions: Partitions) -> Iterator[Finding]:
    """Yield the streams whose partitions differ between two clusters, and those that all have alike."""
    lines = Lines("topics", "partitions")
    pairs = [pair for pair in config.pairs() if {*pair} <= partitions.keys()]
    streams = sorted({stream for each in partitions.values() for stream in each})
    same, differing = set[str](), dict[str, list[str]]()
    for stream in streams:
        pairs_of_it = [(s, t) for s, t in pairs if stream in partitions[s] and stream in partitions[t]]
        counts = {alias: partitions[alias][stream] for pair in pairs_of_it for alias in pair}
        if any(counts[source] != counts[target] for source, target in pairs_of_it):
            told = ", ".join(f"{number} at {alias}" for alias, number in counts.items())
            differing.setdefault(told, []).append(_name(config, stream))
        elif counts:
            same.add(_name(config, stream))
    for told, names in differing.items():
        text = f"{told}; what only one has is withheld as PARTITIONS_DIFFER: add partitions where there are less, and"
        yield lines.of(Level.FAIL, names, f"{text} have the mirror keep each record's partition")
    if same:
        yield lines.of(Level.OK, same, "as many at all clusters")


def judge_presence(config: Config, alias: str, partitions: Partitions) -> Iterator[Finding]:
    """Yield which streams of others the cluster *alias* has not, but for those that are told with its rights."""
    others = {each for pair in config.pairs() if alias in pair for each in pair} - {alias}
    there = {stream for each in others for stream in partitions.get(each, {})}
    told = {each for each in config.named_topics() if config.names.home(each) in (None, alias)}
    if alias in partitions and (absent := there - partitions[alias].keys() - told):
        names = {config.names.outside(alias, stream) for stream in absent}
        text = "at another cluster and not here; nothing of it is synced before it is created and mirrored"
        yield Lines(f"clusters.{alias}", "topics").of(Level.WARN, names, text)


def _name(config: Config, stream: str) -> str:
    return config.names.origin_topic(stream) or stream
