"""Applies the rules of ``check`` to a sample. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from math import inf

from offset_sync.check import rules
from offset_sync.check.rules import NOTHING_WRONG, OK, Case, Rule
from offset_sync.check.sample import CHECK, CHECKPOINTS, OWN_GROUPS, ClusterSample, Sample, mirrored_topics, own_topics
from offset_sync.check.stamps import Stamped, has_stamps
from offset_sync.config import Config
from offset_sync.config.duration import to_ms
from offset_sync.kafka.own_rights import Operations
from offset_sync.model.errors import ClusterError
from offset_sync.model.finding import Finding, about, some
from offset_sync.model.text import to_duration
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.translate.read_list import MOST_CHARACTERS

RETENTION, METADATA = "offsets.retention.minutes", "offset.metadata.max.bytes"
UNCLEAN = "unclean.leader.election.enable"
_NO_COORDINATOR = {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}
"""A cluster without any commit yet has no coordinators: that is no error of rights."""
_PRESETS = "docs/mirrors-presets.md"
_LEAVE = f"leave its copies and their groups to it: {_PRESETS}"
_MIRRORS = {
    "MirrorMaker": (
        CHECKPOINTS,
        "set sync.group.offsets.enabled=false: docs/mirrors.md, Moving over from MirrorMaker's group sync",
    ),
    "MSK Replicator": (r"__amazon_msk_replicator_.+", f"set synchroniseConsumerGroupOffsets=false: {_PRESETS}"),
    "Lenses K2K": (r"__k2k_.+", f"do not run k2k-offset-mapping: {_PRESETS}"),
    "Cluster Linking": (r"_confluent-link-metadata", f"if there is a link to here, {_LEAVE}"),
    "cluster mirroring (KIP-1279)": (r"__mirror_state", _LEAVE),
}
"""By mirror: its own topics, and the remedy. Confluent's brokers have theirs without a link."""


def judge(sample: Sample) -> Iterator[Finding]:
    """Yield the findings about the clusters that have answered."""
    config = sample.config
    headers = f"{config.mirror.origin_header} and {config.mirror.offset_header}"
    for alias, cluster in sample.clusters.items():
        cases = chain(
            [rules.CONNECTION(said=f"{cluster.brokers} at {config.clusters[alias].kafka['bootstrap.servers']}")],
            _rights(config, cluster),
            _settings(config, cluster),
            _topics(sample, cluster),
            _records(sample, alias),
            _mirrors(sample, cluster),
        )
        place = f"clusters.{alias}"
        found = [
            about(place, rule.check, rule.level, rule.text.format(headers=headers, **fields), topics)
            for rule, topics, fields in cases
        ]
        if not config.is_stamped:
            found += config.of_extension("checks").judge(config, sample.seen, alias)
        told = {each.check for each in found}
        if len(sample.clusters) < len(config.clusters):
            told.add("partitions")  # a silent cluster may have others
        yield from found
        yield from (Finding(OK, place, each, text) for each, text in NOTHING_WRONG.items() if each not in told)


def _rights(config: Config, cluster: ClusterSample) -> Iterator[Case]:
    """Yield which rights are refused."""
    topics = {name: each for name, each in cluster.topics.items() if name != CONSUMER_OFFSETS}
    commits = {name: each for name, each in cluster.topics.items() if name == CONSUMER_OFFSETS}
    groups = {name: each for name, each in cluster.group_rights.items() if each not in _NO_COORDINATOR}
    of_groups = "Read" if any(target == cluster.alias for _, target in config.pairs()) else "Describe"
    yield from _refused("topics", "Read", topics, ", or exclude it")
    yield from _refused("commits", "Read", commits, f", or set clusters.{cluster.alias}.commits: admin")
    if cluster.alias in config.polled():
        yield rules.POLLED(said=to_duration(to_ms(config.sync.poll_interval)))
    elif not commits:
        yield rules.NO_COMMITS()
    for check, name in OWN_GROUPS.items():
        if name in groups:
            prefix, right = name.removesuffix(CHECK), of_groups if check == "read lists" else "Describe"
            yield from _refused(check, right, {f"groups with the prefix {prefix}": groups.pop(name)}, "")
    yield from _refused("groups", of_groups, groups, ", or exclude it")


def _refused(
    check: str, right: str, rights: Mapping[str, Operations | ClusterError | str], or_else: str
) -> Iterator[Case]:
    for error in (each for each in rights.values() if isinstance(each, ClusterError)):
        yield rules.NO_ANSWER._replace(check=check)(said=error.message)
    told = {name: each for name, each in rights.items() if not isinstance(each, ClusterError)}
    if refused := {name: each for name, each in told.items() if isinstance(each, str) or right.upper() not in each}:
        errors = some({each for each in refused.values() if isinstance(each, str)})
        names = some(refused) + (errors and f": {errors}")
        yield rules.REFUSED._replace(check=check)(names=names, right=right, or_else=or_else)


def _settings(config: Config, cluster: ClusterSample) -> Iterator[Case]:
    answers = cluster.settings, cluster.commit_log
    if hidden := [each for each in answers if isinstance(each, str)]:
        yield rules.HIDDEN(said=hidden[0])
    settings, commit_log = ({} if isinstance(each, str) else each for each in answers)
    if "delete" in (policy := commit_log.get("cleanup.policy", "")):
        yield rules.POLICY(said=policy)
    if (minutes := _number(settings.get(RETENTION, ""))) <= to_ms(config.sync.refresh_interval) / 60_000:
        yield rules.EXPIRED(said=f"{RETENTION}={minutes}")
    if settings.get(UNCLEAN) == "true":
        yield rules.UNCLEAN(said=f"{UNCLEAN}=true")
    if config.sync.read_lists.groups and (room := _number(settings.get(METADATA, ""))) < MOST_CHARACTERS:
        yield rules.SMALL(said=f"{METADATA}={room}")


def _number(value: str) -> float:
    return int(value) if value.isdecimal() else inf  # -1 is no limit; another vendor's value is no reason to fail


def _topics(sample: Sample, cluster: ClusterSample) -> Iterator[Case]:
    """Yield topics that do not exist at the cluster, and those with another number of partitions than elsewhere."""
    config, names, alias = sample.config, sample.config.names, cluster.alias
    elsewhere = {at: mirrored_topics(config, each) for at, each in sample.clusters.items() if at != alias}
    named = config.named_topics() if names.is_same else ()  # else it may be at another cluster, and its copy here
    wanted = {names.outside(alias, each) for each in {*named}.union(*elsewhere.values())}
    here = mirrored_topics(config, cluster)
    if absent := wanted - cluster.topics.keys():
        yield rules.ABSENT(absent)
    elif not here:
        yield rules.NO_TOPIC()
    differing: dict[str, set[str]] = {}
    for stream, count in here.items():
        others = {other: there[stream] for other, there in elsewhere.items() if there.get(stream, count) != count}
        if others:
            said = ", ".join(f"{number} at {other}" for other, number in sorted({alias: count, **others}.items()))
            differing.setdefault(said, set()).add(names.outside(alias, stream))
    yield from (rules.DIFFERENT(topics, said=said) for said, topics in differing.items())


def _records(sample: Sample, alias: str) -> Iterator[Case]:
    """Yield what the newest records show, a case for each rule."""
    seen, stamped = sample.seen[alias], sample.stamped.get(alias, ())
    if seen.error:
        yield rules.NO_RECORDS(said=seen.error)
        return
    by_rule: dict[Rule, list[Stamped]] = {}
    for each in stamped:
        by_rule.setdefault(each.rule, []).append(each)
    by_rule.pop(rules.NATIVE, None)
    for rule, found in sorted(by_rule.items(), key=lambda item: (item[0].level.value, item[0].text)):
        topics = {each.topic for each in found}
        count = f"{len(found)} of {sum(each.topic in topics for each in stamped)}"
        yield rule(topics, count=count, first=found[0].where, said=some({each.said for each in found}))
    wanted = {stream for stream in seen.partitions if has_stamps(sample.config, alias, stream)}
    if missing := wanted - {each.place.topic for each in stamped}:
        yield rules.NONE_READ({sample.config.names.outside(alias, each) for each in missing})


def _mirrors(sample: Sample, cluster: ClusterSample) -> Iterator[Case]:
    """Yield which mirrors have left topics at a cluster."""
    config, outside = sample.config, sample.config.names.outside
    own = own_topics(config, cluster)
    if included := [name for stream, name in own.items() if config.is_topic_included(stream)]:
        yield rules.OWN_INCLUDED(included)
    names = {outside(cluster.alias, stream) for stream in cluster.partitions}
    for mirror, (pattern, remedy) in _MIRRORS.items():
        if found := {name for name in names if re.fullmatch(pattern, name)}:
            yield rules.OTHER_MIRROR(found, said=mirror, remedy=remedy)
